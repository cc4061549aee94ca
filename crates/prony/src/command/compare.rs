//! `prony compare BASE NEW`: two measurements, and whether the new one is worse.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use prony_present::words::plural;
use prony_report::compare::{
    Comparison, Metric, Question, Side, Thresholds, junit, markdown, terminal,
};
use serde::Serialize;

use super::flags::{JunitFlag, ResultFlags, StoreFlag};
use crate::exit::{Outcome, usage};
use crate::output;
use crate::recorded::{Recorded, RunName};
use crate::result_file::{self, ResultFile, takes_stdout};

const EXAMPLES: &str = "\
Examples:
  prony compare latest~1 latest                the newest two runs
  prony compare latest:go-nethttp latest:bun   two servers of one run
  prony compare base.json latest --markdown -  an exported run, as Markdown
  prony compare base.json latest --junit ab.xml  for a CI system
  prony compare base.json new.json --threshold rate=3%,p99=15% --strict

A side is RUN or RUN:SERVER. RUN is the id of a run, `latest`, `latest~1` (the run \
before it) and so on, or a file written by `prony export`. Without servers, Prony compares \
each server, workload and load that both runs have.

Prony compares two servers of one run round by round. Two runs are not interleaved, so \
Prony compares their ratios to the ceiling (reference server), if it is the same in \
both, and uses wider default thresholds. `prony ab` measures two revisions in one run.

The default metrics are rate, cpu, instructions and p99 of closed loops, and cpu, \
instructions, p50 and p99 of open ones. The default thresholds:

                rate  cpu  instructions  p50   p99   memory
  in one run    2 %   1 %  1 %           5 %   10 %  5 %
  in two runs   5 %   5 %  2 %           10 %  20 %  10 %

A verdict needs at least six rounds that were not noisy in every attempt; with fewer, it is \
inconclusive. If nothing changed, at most 5 of 100 invocations call any metric of any \
workload worse or improved.

Of loads that count instructions, the metric is user-instructions, with the thresholds \
0.2 % in one run and 0.3 % in two.

Exit status:
  0  nothing is worse
  1  something is worse, or NEW sent wrong responses
  2  the command line is wrong, or the two cannot be compared
  3  with --strict: nothing is worse, but a comparison is inconclusive, not
     comparable or missing";

/// The `schema` field of a comparison.
const SCHEMA: &str = "prony-comparison/2";

/// Something is worse.
const WORSE: u8 = 1;
/// Nothing is worse, but a comparison is inconclusive, not comparable or missing.
const INCONCLUSIVE: u8 = 3;

/// What to compare, and how.
#[derive(Args, Clone)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Compare with this old measurement: RUN or RUN:SERVER
    base: String,
    /// Compare this new measurement: RUN or RUN:SERVER
    new: String,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    store: StoreFlag,
}

/// How a comparison is judged and shown, also by `prony ab`.
#[derive(Args, Clone)]
pub(super) struct Judging {
    /// Compare these metrics, separated by commas: rate, cpu, instructions,
    /// user-instructions, p50, p99, memory
    #[arg(long, value_delimiter = ',', value_name = "METRICS")]
    metrics: Vec<Metric>,
    /// Ignore smaller changes: one share for all metrics (2%) or one each (rate=2%,cpu=1%); the
    /// table in `prony compare --help` has the defaults
    #[arg(long, value_name = "SHARES")]
    threshold: Option<Thresholds>,
    /// Exit with status 3 if nothing is worse but a comparison is inconclusive, not comparable or
    /// missing
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    results: ResultFlags,
    #[command(flatten)]
    junit: JunitFlag,
}

/// The files for the comparison as Markdown, as JSON and as JUnit XML.
pub(super) type ComparisonFiles = [Option<ResultFile>; 3];

/// What `prony compare --json` and `prony ab --json` write.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document<'a> {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

impl Judging {
    pub(super) fn question(&self) -> Question {
        Question {
            metrics: self.metrics.clone(),
            thresholds: self.threshold.clone().unwrap_or_default(),
        }
    }

    /// Compares CPU time, unless the user named metrics.
    pub(super) fn compare_cpu_time(&mut self) {
        if self.metrics.is_empty() {
            self.metrics.push(Metric::Cpu);
        }
    }

    /// Tries the files that the comparison is written to.
    pub(super) fn open(&self) -> Result<ComparisonFiles, Box<dyn Error>> {
        let junit = self.junit.junit.as_deref();
        result_file::open([
            ("--markdown", self.results.markdown.as_deref()),
            ("--json", self.results.json.json.as_deref()),
            ("--junit", junit),
        ])
    }

    /// Shows and writes the comparison, and gives the exit code for it.
    pub(super) fn conclude(
        &self,
        comparison: &Comparison,
        files: ComparisonFiles,
    ) -> Result<ExitCode, Box<dyn Error>> {
        let text = |is_terminal: bool| {
            let colour = is_terminal && output::shows_colours(&std::io::stdout());
            terminal(comparison, colour)
        };
        if takes_stdout(&files) {
            err!("{}", text(std::io::stderr().is_terminal()));
        } else {
            out!("{}", text(std::io::stdout().is_terminal()));
        }
        let [to_markdown, to_json, to_junit] = files;
        if let Some(file) = to_markdown {
            file.write(&markdown(comparison))?;
        }
        if let Some(file) = to_json {
            let schema = SCHEMA;
            file.write_json(&Document { schema, comparison })?;
        }
        if let Some(file) = to_junit {
            file.write(&junit(comparison, self.strict))?;
        }
        // A verdict that could not be printed is not a success.
        output::check()?;
        Ok(ExitCode::from(self.code(comparison)))
    }

    fn code(&self, comparison: &Comparison) -> u8 {
        if comparison.is_worse() {
            WORSE
        } else if !comparison.is_open() {
            0
        } else if self.strict {
            INCONCLUSIVE
        } else {
            let (open, total) = (comparison.open(), comparison.total());
            let are = if open == 1 { "is" } else { "are" };
            errln!(
                "warning: nothing is worse, but {open} of {} {are} inconclusive, not comparable or missing \
                 (`--strict` would exit with {INCONCLUSIVE})",
                plural(total, "comparison")
            );
            0
        }
    }
}

/// Compares, shows and judges.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    // Status 1 means that something is worse, so every error has status 2.
    let files = arguments.judging.open().map_err(usage)?;
    let comparison = compare(project, arguments).map_err(usage)?;
    let code = arguments.judging.conclude(&comparison, files);
    code.map_err(usage)
}

fn compare(project: Option<&Path>, arguments: &Arguments) -> Result<Comparison, Box<dyn Error>> {
    let (base, new) = (SideName::of(&arguments.base), SideName::of(&arguments.new));
    let store = || arguments.store.open_read(project);
    let (then, now) = (base.run.read(store)?, new.run.read(store)?);
    let question = arguments.judging.question();
    Ok(Comparison::of(base.side(&then), new.side(&now), &question)?)
}

/// A side as the command line names it.
#[derive(Debug, PartialEq)]
struct SideName {
    run: RunName,
    server: Option<String>,
}

impl SideName {
    /// A text that is the path of a file is that file, even if it contains colons.
    fn of(text: &str) -> Self {
        let (run, server) = match text.rsplit_once(':') {
            Some((run, server)) if !Path::new(text).is_file() && !server.is_empty() => {
                (run, Some(server.to_owned()))
            }
            _ => (text, None),
        };
        let run = RunName::of(run);
        Self { run, server }
    }

    fn side<'a>(&'a self, recorded: &'a Recorded) -> Side<'a> {
        Side {
            run: &recorded.run,
            trials: &recorded.trials,
            server: self.server.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(run: RunName, server: Option<&str>) -> SideName {
        SideName {
            run,
            server: server.map(str::to_owned),
        }
    }

    #[test]
    fn a_side_is_a_run_and_perhaps_its_server() {
        assert_eq!(SideName::of("latest"), side(RunName::Latest(0), None));
        assert_eq!(
            SideName::of("latest~1:x@4f2a1b"),
            side(RunName::Latest(1), Some("x@4f2a1b"))
        );
        assert_eq!(
            SideName::of("2026-tour:bun"),
            side(RunName::Id("2026-tour".into()), Some("bun"))
        );
        assert_eq!(
            SideName::of("no/such.json:bun"),
            side(RunName::File("no/such.json".into()), Some("bun"))
        );
    }

    #[test]
    fn a_file_may_have_a_colon_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a:b");
        std::fs::write(&file, "{}").unwrap();
        let whole = SideName::of(file.to_str().unwrap());
        assert_eq!(whole, side(RunName::File(file), None));
    }
}
