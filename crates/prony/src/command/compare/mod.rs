//! `prony compare BASE NEW`: two measurements, and whether the new one is worse.

pub mod judging;
mod recorded;

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Args;
use prony_compare::{Comparison, Side};

use self::judging::Judging;
use self::recorded::{Recorded, Source};
use crate::exit::{Outcome, usage};
use crate::project;

const EXAMPLES: &str = "\
Examples:
  prony compare latest~1 latest                     the run before the newest, and the newest
  prony compare latest:go-nethttp latest:bun        two servers of one run
  prony compare base.json latest --markdown -       a file of `prony export`, for a pull request
  prony compare base.json new.json --threshold rate=3%,p99=15% --strict

A side is RUN or RUN:SERVER. RUN is the id of a run, `latest`, `latest~1` (the one before it) and
so on, or a file that `prony export` wrote. Without servers, each server with each workload under
each load that both runs have is compared.

Two servers of one run are compared round by round. Two runs were not interleaved: they are held
against the ceiling where both have the same, and the usual thresholds are wider. `prony ab` measures
two revisions in one run.

The usual metrics: rate, cpu, instructions and p99 of closed loops; cpu, instructions, p50 and p99
of open ones.
The usual thresholds, in one run and in two: rate 2 % and 5 %, cpu 1 % and 5 %, instructions 1 % and
2 %, p50 5 % and 10 %, p99 10 % and 20 %, memory 5 % and 10 %.

Exit status: 0 if nothing is worse, 1 if something is or NEW sent wrong responses, 2 if the two cannot be compared,
3 with --strict where nothing is worse as far as can be told, and something cannot be told.";

/// What to compare, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The old measurement: RUN or RUN:SERVER
    base: String,
    /// The new measurement
    new: String,
    #[command(flatten)]
    judging: Judging,
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Compares, shows and judges.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    // Status 1 says that something is worse, so whatever keeps it from being told is 2.
    let files = arguments.judging.open().map_err(usage)?;
    let comparison = compare(project, arguments).map_err(usage)?;
    let told = arguments.judging.conclude(&comparison, files);
    told.map_err(usage)
}

fn compare(project: Option<&Path>, arguments: &Arguments) -> Result<Comparison, Box<dyn Error>> {
    let question = arguments.judging.question();
    let (base, new) = (Source::of(&arguments.base), Source::of(&arguments.new));
    let store = || match &arguments.store {
        Some(file) => Ok(file.clone()),
        None => project::layout(project).map(|layout| project::record_file(&layout)),
    };
    let (then, now) = (base.read(&store)?, new.read(&store)?);
    let comparison = Comparison::of(side(&then, &base), side(&now, &new), &question)?;
    Ok(comparison)
}

fn side<'a>(recorded: &'a Recorded, source: &'a Source) -> Side<'a> {
    Side {
        run: &recorded.run,
        trials: &recorded.trials,
        server: source.server.as_deref(),
    }
}
