//! `--objective`: what is required of the load.

use std::error::Error;

use clap::Args;
use prony_objective::Objectives;

use crate::exit::usage;

/// What is required of the load.
#[derive(Args)]
#[command(next_help_heading = "Objectives")]
pub struct ObjectiveArguments {
    /// Require this of the load, and exit with status 5 if it is missed: a percentile such as p99,
    /// mean or max below a time, errors below a share [default share: 0.1%], or rate above a rate,
    /// separated by commas; repeatable
    #[arg(long, value_name = "OBJECTIVES")]
    objective: Vec<String>,
}

impl ObjectiveArguments {
    /// The objectives of all flags together; `None` if there is none.
    pub fn read(&self) -> Result<Option<Objectives>, Box<dyn Error>> {
        if self.objective.is_empty() {
            return Ok(None);
        }
        let texts = self.objective.iter().map(String::as_str);
        let read = Objectives::of_texts(texts);
        let read = read.map_err(|error| usage(format!("--objective: {error}")))?;
        Ok(Some(read))
    }
}
