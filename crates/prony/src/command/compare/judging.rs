//! How a comparison is judged and told: what `prony compare` and `prony ab` have in common.

use std::error::Error;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use prony_compare::{Comparison, Metric, Question, Thresholds, markdown, terminal};
use serde::Serialize;

use crate::output;
use crate::result_file::{self, ResultFile};

/// What the `schema` field of a comparison says.
const SCHEMA: &str = "prony-comparison/2";

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
    markdown: Option<PathBuf>,
    /// Write the comparison as JSON (schema/comparison.schema.json); `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Where the comparison is written, besides what is shown.
pub struct Files {
    markdown: Option<ResultFile>,
    json: Option<ResultFile>,
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
    pub fn question(&self) -> Question {
        Question {
            metrics: self.metrics.clone(),
            thresholds: self.threshold.clone().unwrap_or_default(),
        }
    }

    /// Tries the files that the comparison is written to.
    ///
    /// # Errors
    /// If one cannot be written, or both are the same.
    pub fn open(&self) -> Result<Files, Box<dyn Error>> {
        let [markdown, json] = result_file::open([
            ("--markdown", self.markdown.as_deref()),
            ("--json", self.json.as_deref()),
        ])?;
        Ok(Files { markdown, json })
    }

    /// Shows and writes the comparison, and gives the exit code for it.
    pub fn conclude(
        &self,
        comparison: &Comparison,
        files: Files,
    ) -> Result<ExitCode, Box<dyn Error>> {
        let colour = |stream: bool| stream && console::colors_enabled();
        let both = [&files.markdown, &files.json];
        if both.into_iter().flatten().any(ResultFile::is_stdout) {
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
        if let Some(file) = files.markdown {
            file.write(&markdown(comparison))?;
        }
        if let Some(file) = files.json {
            let document = Document {
                schema: SCHEMA,
                comparison,
            };
            file.write_json(&document)?;
        }
        // A verdict that nobody could read is none.
        output::check()?;
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
