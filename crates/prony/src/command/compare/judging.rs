//! How a comparison is judged and told: what `prony compare` and `prony ab` have in common.

use std::error::Error;
use std::fs;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Args;
use prony_gate::{Comparison, Metric, Question, Thresholds, markdown, terminal};
use serde::Serialize;

/// What the `schema` field of a comparison says.
const SCHEMA: &str = "prony-comparison/1";

/// Something is worse.
const WORSE: u8 = 1;
/// Nothing is worse as far as can be told, and something cannot be told.
const OPEN: u8 = 3;

/// What is compared, from where on it matters, and where the comparison goes.
#[derive(Args)]
pub struct Judging {
    /// What to compare, separated by commas: rate, cpu, instructions, p50, p99, memory
    #[arg(long, value_delimiter = ',', value_name = "METRICS")]
    metrics: Vec<Metric>,
    /// The least change that matters: 2% for all metrics, or rate=2%,cpu=1%,p99=10%
    #[arg(long, value_name = "SHARES")]
    threshold: Option<Thresholds>,
    /// Exit with 3 where something is too noisy to say, or was not compared
    #[arg(long)]
    strict: bool,
    /// Write the comparison as Markdown, for a pull request; `-` is standard output
    #[arg(long, value_name = "FILE")]
    markdown: Option<String>,
    /// Write the comparison as JSON (schema/comparison.schema.json); `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// The comparison as it is written.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl Judging {
    /// What is asked.
    pub fn question(&self) -> Result<Question, Box<dyn Error>> {
        let both = [&self.markdown, &self.json];
        if both.iter().all(|to| to.as_deref() == Some("-")) {
            return Err("only one of --markdown and --json can go to standard output".into());
        }
        Ok(Question {
            metrics: self.metrics.clone(),
            thresholds: self.threshold.clone().unwrap_or_default(),
        })
    }

    /// Shows and writes the comparison, and gives the exit code for it.
    pub fn conclude(&self, comparison: &Comparison) -> Result<ExitCode, Box<dyn Error>> {
        let colour = |stream: bool| stream && console::colors_enabled();
        let to_stdout = [&self.markdown, &self.json];
        if to_stdout.iter().any(|to| to.as_deref() == Some("-")) {
            // Standard output is for the other program.
            err!(
                "{}",
                terminal(comparison, colour(std::io::stderr().is_terminal()))
            );
        } else {
            out!(
                "{}",
                terminal(comparison, colour(std::io::stdout().is_terminal()))
            );
        }
        if let Some(to) = &self.markdown {
            write(to, &markdown(comparison))?;
        }
        if let Some(to) = &self.json {
            let document = Document {
                schema: SCHEMA,
                comparison,
            };
            write(to, &(serde_json::to_string_pretty(&document)? + "\n"))?;
        }
        Ok(ExitCode::from(self.code(comparison)))
    }

    fn code(&self, comparison: &Comparison) -> u8 {
        match (comparison.is_worse(), comparison.is_open()) {
            (true, _) => WORSE,
            (false, true) if self.strict => OPEN,
            (false, true) => {
                errln!(
                    "warning: nothing is worse as far as can be told, but not everything can be told; with --strict \
                     the exit status would be {OPEN}"
                );
                0
            }
            (false, false) => 0,
        }
    }
}

fn write(to: &str, text: &str) -> Result<(), String> {
    if to == "-" {
        out!("{text}");
        return Ok(());
    }
    fs::write(to, text).map_err(|error| format!("cannot write `{to}`: {error}"))
}
