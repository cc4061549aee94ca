//! `prony ab REV1 [REV2] --server X`: two revisions of a server, built and measured side by side.

mod checkout;
mod extent;
mod git;
mod measures;
mod revision;
mod session;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;
use prony_compare::{Comparison, Side};
use prony_model::{CEILING, RunEnd};
use prony_server::{Catalogue, Server};
use prony_stats::LEAST_ROUNDS;
use prony_suite::Precision;
use prony_suite::run::Finished;

use self::checkout::Shelf;
use self::extent::Extent;
use self::git::Repository;
use self::revision::{Wanted, is_folder};
use self::session::{Measured, Session};
use super::compare::judging::{Files, Judging};
use crate::arguments;
use crate::exit::{INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;

const EXAMPLES: &str = "\
Examples:
  prony ab main --server go-nethttp                 main, and the working tree as it is
  prony ab HEAD~1 HEAD --server go-nethttp          the last commit
  prony ab v1.2 v1.3 --server ../my-server --workloads hello,page
  prony ab HEAD HEAD --server bun                   the same twice: how noisy is this machine?
  prony ab main --server bun --markdown pr.md --budget 10m

Both revisions are checked out below .prony/ab, built, verified, and measured interleaved with the
ceiling in one run, which is recorded and reported like any other. They are then compared as by
`prony compare`. Submodules are not checked out.

Exit status: 0 if nothing is worse, 1 if something is (or REV2 cannot be built or sent wrong responses), 2 if the
two cannot be compared, 3 with --strict where nothing is worse as far as can be told, and something
cannot be told, 130 where you stopped it (what was measured is kept).";

// What the help says.
const _: () = assert!(LEAST_ROUNDS == 12);

/// Which revisions of what, and how they are measured.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The old revision: a commit, a branch, a tag
    rev1: String,
    /// The new revision; `.` is the working tree as it is, with what is not committed
    #[arg(default_value = ".")]
    rev2: String,
    /// The server: an id, or a folder with a server.toml in any git repository
    #[arg(long, value_name = "ID|FOLDER", value_parser = arguments::name)]
    server: String,
    /// These workloads, separated by commas [default: the first three over HTTP that both serve]
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Load with this many connections, each of which waits for a full response before it sends again
    #[arg(long, default_value = "64", value_parser = arguments::connections)]
    connections: usize,
    /// Measure each trial for this long
    #[arg(long, default_value = "1s", value_parser = arguments::measured_duration)]
    duration: Duration,
    /// Send requests for this long before each trial is measured, and do not wait until the server is warm
    /// (--warmup-limit still does). With 0s, measuring starts at the first request and --warmup-limit is ignored
    /// [default: 500ms, after the server has stopped getting faster]
    #[arg(long, value_parser = arguments::duration)]
    warmup: Option<Duration>,
    /// Warm both servers up until they no longer get faster, for this long at most [default: 20s]
    #[arg(long, value_parser = arguments::duration, value_name = "DURATION")]
    warmup_limit: Option<Duration>,
    /// How precisely the changes of the rates are to be known: rounds are added until they are, 12 at the least
    #[arg(long, default_value = "2%", value_name = "PERCENT")]
    precision: Precision,
    /// How long the trials may take altogether: then rounds are added no more, and it is told what is not as precise
    #[arg(long, default_value = "5m", value_parser = arguments::some_duration)]
    budget: Duration,
    /// Run this many rounds, however long they take and however precise they are
    #[arg(long, value_parser = arguments::rounds)]
    rounds: Option<NonZeroU32>,
    /// Leave the ceiling out: more rounds in the same time, but nothing tells where the machine is the limit
    #[arg(long)]
    no_ceiling: bool,
    /// Leave the files of the revisions in .prony/ab
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    judging: Judging,
    /// Give a server this long from its start to its first expected response
    #[arg(long, value_parser = arguments::timeout, default_value = "30s")]
    ready_timeout: Duration,
    /// Build both again, even if nothing has changed
    #[arg(long)]
    rebuild: bool,
    /// Shuffle the order with this seed, to repeat an earlier one
    #[arg(long, value_parser = arguments::seed)]
    seed: Option<u64>,
    /// The CPUs of the servers, for instance 0 or 0-3
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// The CPUs of the load
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Checks out, builds, measures and judges.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let interrupt = interrupt::on_signals()?;
    let outcome = compare_revisions(project, arguments, &interrupt);
    match outcome {
        Err(_) if interrupt.load(Relaxed) => Ok(ExitCode::from(INTERRUPTED)),
        // Status 1 says that something is worse, so whatever keeps it from being told is 2.
        outcome => outcome.map_err(usage),
    }
}

fn compare_revisions(
    project: Option<&Path>,
    arguments: &Arguments,
    interrupt: &AtomicBool,
) -> Outcome {
    // What is wrong with the command line is told before anything is checked out.
    let files = arguments.judging.open()?;
    let layout = project::layout(project)?;
    let catalogue = Catalogue::read(&layout)?;
    let server = match is_folder(&arguments.server) {
        true => Server::open(Path::new(&arguments.server))?,
        false => catalogue.get(&arguments.server)?.clone(),
    };
    let repository = Repository::of(&server.folder)?;
    layout.make_state()?;
    let shelf = Shelf::open(&layout.state(), arguments.keep)?;
    let [base, new] = Wanted::two(&repository, &server, [&arguments.rev1, &arguments.rev2])?;
    let base = base.fetch(&repository, &shelf, &layout)?;
    let new = new.fetch(&repository, &shelf, &layout)?;
    if interrupt.load(Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    if base.server.source_hash == new.server.source_hash {
        let id = &server.id;
        errln!("note: the files of {id} are the same at both revisions");
    }
    let session = Session {
        layout: &layout,
        arguments,
        interrupt,
        pair: [&base.server, &new.server],
        ceiling: arguments.ceiling(&catalogue, &server),
    };
    match session.measure()? {
        Measured::Run(finished) => arguments.judge(&finished, [&base.server, &new.server], files),
        Measured::NewIsBroken(comparison) => Ok(arguments.judging.conclude(&comparison, files)?),
        Measured::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}

impl Arguments {
    /// The reference server, as the control, where there is one.
    fn ceiling<'a>(&self, catalogue: &'a Catalogue, server: &Server) -> Option<&'a Server> {
        let mut servers = catalogue.servers.iter();
        let reference = servers.find(|one| one.id == CEILING);
        reference.filter(|one| !self.no_ceiling && one.id != server.id)
    }

    fn extent(&self) -> Extent {
        Extent {
            precision: self.precision,
            budget: self.budget,
            rounds: self.rounds,
        }
    }

    /// Says what came of it. Of a run that was stopped what there is may still tell something.
    fn judge(&self, finished: &Finished, pair: [&Server; 2], files: Files) -> Outcome {
        let [base, new] = pair.map(|server| Side {
            run: &finished.run,
            trials: &finished.trials,
            server: Some(&server.id),
        });
        let interrupted = finished.run.end == RunEnd::Interrupted;
        let comparison = match Comparison::of(base, new, &self.judging.question()) {
            Err(_) if interrupted => return Ok(ExitCode::from(INTERRUPTED)),
            comparison => comparison?,
        };
        let code = self.judging.conclude(&comparison, files)?;
        if interrupted {
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let wide = self.extent().too_wide(&comparison, &finished.run);
        wide.iter().for_each(|line| errln!("note: {line}"));
        Ok(code)
    }
}
