//! `--objective`: what is required of the load, or of the server at the rate that `--find-capacity` looks for.

use std::error::Error;

use clap::Args;
use prony_model::objective::{Objective, Objectives};

use crate::exit::usage;

/// What a search for a capacity requires if nothing is given.
const OF_A_SEARCH: &str = "p99<100ms,errors<0.1%";

#[derive(Args)]
#[command(next_help_heading = "Objectives")]
pub(super) struct ObjectiveArguments {
    /// Require this of the load, and exit with status 5 if it is missed: a percentile such as p99,
    /// mean or max below a time, errors below a share [default share: 0.1%], or rate above a rate,
    /// separated by commas; repeatable. --find-capacity looks for a rate that meets it [default there:
    /// p99<100ms,errors<0.1%]
    #[arg(long, value_name = "OBJECTIVES", alias = "slo")]
    objective: Vec<String>,
}

impl ObjectiveArguments {
    /// The objectives of all flags together. Only a search for a capacity requires something if there are none.
    pub(super) fn read(&self, is_search: bool) -> Result<Option<Objectives>, Box<dyn Error>> {
        if self.objective.is_empty() {
            let of_a_search = is_search.then(|| OF_A_SEARCH.parse());
            return Ok(of_a_search.transpose()?);
        }
        let texts = self.objective.iter().map(String::as_str);
        let read = Objectives::of_texts(texts);
        let read = read.map_err(|error| usage(format!("--objective: {error}")))?;
        let is_rate = |one: &&Objective| matches!(one, Objective::Rate { .. });
        match read.all().iter().find(is_rate) {
            Some(rate) if is_search => Err(usage(format!(
                "--objective: a search finds the rate itself; remove `{rate}`"
            ))),
            _ => Ok(Some(read)),
        }
    }
}
