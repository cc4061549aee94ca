//! `prony run [SUITE]`: the main job.

mod all;
mod choice;

use std::error::Error;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use prony_model::{RunEnd, ServerStatus, TrialResult, VerifyVerdict};
use prony_report::RunSummary;
use prony_server::FreePorts;
use prony_store::Store;
use prony_suite::Precision;
use prony_suite::run::{Bench, Finished, RunRequest, run as run_suite};

use self::choice::{Choice, Chosen, Ground};
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;
use crate::server_path::ServerPath;
use crate::view::{plural, report_files, run_progress::RunProgress};

const EXAMPLES: &str = "\
Examples:
  prony run                                        the suite `tour`: minutes, a first look
  prony run zap                                    another suite; `prony list suites` has them all
  prony run zap --quick                            the same load for seconds instead of minutes
  prony run --all --quick                          every suite, one after the other
  prony run tour --only go-nethttp,bun         only these two
  prony run ./my-suite.toml                        a suite of your own, in any folder
  prony run tour --server ../my-server             a server of your own, beside the suite's
  prony run zap --server ../my-server --only ceiling,go-nethttp
                                                   the same beside these two only
  prony run zap --server old=../old/my-server --server new=../my-server
                                                   the same server twice, under two names
  prony run tour --workloads hello --rounds 12     one workload, more rounds
  prony run tour --precision 3% --budget 10m       rounds until every comparison is within ±3 %,
                                                   for 10 minutes of trials at the most
  prony run zap --baseline go-nethttp              compare the others with Go's
  prony run zap --quick --driver wrk               the load made by wrk, to check Prony's own
  prony run --server-cpus 0-3 --load-cpus 4-7      choose the CPUs

Exit status: 0 if every server whose toolchain is there was measured and sent only right
responses; 1 if a build, start, verification or trial failed, or if any response under load was
wrong (the report is written all the same); 2 if the command line is wrong; 130 if you stopped
the run (what was measured is kept). With --all, the greatest of its suites.";

/// What to run, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The suite: its name, or the path of its file
    #[arg(default_value = "tour", value_parser = arguments::name)]
    suite: String,
    /// Every suite, one after the other, each with a report of its own
    #[arg(long, conflicts_with = "suite")]
    all: bool,
    /// The quick run that the suite describes: the same shapes of load, for seconds
    #[arg(long)]
    quick: bool,
    /// Run only these servers (ID or ID@VARIANT), separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    only: Vec<String>,
    /// Add the server in this folder, under the folder's name or NAME (repeatable); FOLDER@VARIANT
    /// adds a variant of it
    #[arg(long = "server", value_name = "[NAME=]FOLDER")]
    outside: Vec<ServerPath>,
    /// Only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Run this many rounds instead of the suite's; with --precision, at most this many
    #[arg(long, value_parser = arguments::rounds)]
    rounds: Option<NonZeroU32>,
    /// Add rounds until the 95 % interval of every comparison with the baseline is so narrow, for
    /// instance 3%: its ends are within 3 % of the ratio
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Precision>,
    /// With --precision: how long the trials may take altogether [default: 30m]. Two rounds are
    /// made whatever it is
    #[arg(long, value_parser = arguments::some_duration, value_name = "DURATION")]
    budget: Option<Duration>,
    /// Compare the others with this server [default: the ceiling, or else the first]
    #[arg(long, value_name = "ID", value_parser = arguments::name)]
    baseline: Option<String>,
    /// Leave out the reference server, which is measured beside the others in every run
    #[arg(long)]
    no_ceiling: bool,
    /// Measure each trial for this long instead of the suite's duration; a load that ends by
    /// requests ends then at the latest
    #[arg(long, value_parser = arguments::measured_duration)]
    duration: Option<Duration>,
    /// Measure so many requests in each trial instead of the suite's; a load that ends by a
    /// duration ends then at the latest
    #[arg(long, value_parser = arguments::some_count)]
    requests: Option<NonZeroU64>,
    /// Send requests for this long before each trial is measured, and do not wait until the server is warm
    /// (--warmup-limit still does). With 0s, measuring starts at the first request and --warmup-limit is ignored
    #[arg(long, value_parser = arguments::duration)]
    warmup: Option<Duration>,
    /// Warm each server up until it no longer gets faster, for this long at most [default: 20s, or what the suite
    /// says]; 0s warms up for the suite's warm-up and no longer
    #[arg(long, value_parser = arguments::duration, value_name = "DURATION")]
    warmup_limit: Option<Duration>,
    /// Give a server this long from its start to its first expected response
    #[arg(long, value_parser = arguments::timeout, default_value = "30s")]
    ready_timeout: Duration,
    /// Build the servers again, even if nothing has changed
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
    /// Generate the load with this tool instead of Prony's own engine: wrk, oha, h2load, ab, hey, k6.
    /// Prony leaves out what it cannot generate
    #[arg(long, value_name = "ID", value_parser = arguments::name)]
    driver: Option<String>,
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Runs the suite, or all, shows the comparison and writes the reports.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let ground = Ground::survey(&layout, arguments)?;
    if arguments.all {
        return all::run(&ground, arguments);
    }
    let chosen = match ground.choose(&arguments.suite, arguments)? {
        Choice::Chosen(chosen) => chosen,
        Choice::Nothing(why) => return Err(usage(why)),
    };
    let session = Session::open(&ground, arguments)?;
    let done = session.measure(&ground, *chosen, arguments)?;
    Ok(ExitCode::from(done.code))
}

/// Where runs are recorded, and what stops them.
struct Session {
    store: Store,
    interrupt: std::sync::Arc<AtomicBool>,
}

/// A run that is over.
struct Done {
    /// Its id.
    run: String,
    /// How long it took.
    took: Duration,
    /// How it ended, in a few words.
    outcome: String,
    /// The exit code for it.
    code: u8,
}

impl Session {
    fn open(ground: &Ground<'_>, arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            store: project::open_record(ground.layout, arguments.store.as_deref())?,
            interrupt: interrupt::on_signals()?,
        })
    }

    /// Runs what was chosen, shows the comparison and writes its reports.
    fn measure(
        &self,
        ground: &Ground<'_>,
        chosen: Chosen<'_>,
        arguments: &Arguments,
    ) -> Result<Done, Box<dyn Error>> {
        let begun = Instant::now();
        chosen.said.iter().for_each(|line| errln!("{line}"));
        let id = run_id(&chosen.suite.id);
        let folder = ground.layout.runs().join(&id);
        let request = RunRequest {
            bench: Bench {
                freshness: project::freshness(arguments.rebuild),
                ..project::bench(
                    ground.layout,
                    ground.cpus.clone(),
                    folder.join("logs"),
                    arguments.ready_timeout,
                )?
            },
            suite: &chosen.suite,
            servers: chosen.servers,
            tasks: chosen.tasks,
            measures: chosen.measures,
            adaptive: chosen.suite.adaptive,
            baseline: arguments.baseline.clone(),
            alike: Vec::new(),
            seed: arguments
                .seed
                .unwrap_or_else(|| fastrand::u64(..1_000_000_000)),
            id,
            command: std::env::args().collect(),
            prony_version: env!("CARGO_PKG_VERSION").into(),
            ports: Box::new(FreePorts),
            driver: ground.driver.clone(),
        };
        let mut view = RunProgress::start(&request);
        let observe = &mut |event: prony_suite::run::RunEvent<'_>| view.show(&event);
        let finished = run_suite(request, &self.store, &self.interrupt, observe)?;
        view.finish();
        project::restore_state(ground.layout);
        let comparison = RunSummary::of(&finished.run, &finished.trials);
        self.report(&folder, &finished, &comparison)?;
        let failures = Failures::of(&finished, &comparison);
        Ok(Done {
            code: exit_code(&finished, &failures),
            outcome: outcome(&finished, &failures),
            took: begun.elapsed(),
            run: finished.run.id,
        })
    }

    fn report(
        &self,
        folder: &Path,
        finished: &Finished,
        comparison: &RunSummary,
    ) -> Result<(), Box<dyn Error>> {
        report_files::show(&finished.run, comparison);
        // The reports last: their trouble must not hide the table.
        let written = report_files::write(folder, &finished.run, &finished.trials, comparison);
        if let Some(error) = &finished.unsaved {
            tell_unsaved(written.is_ok(), folder, finished, comparison);
            return Err(error.to_string().into());
        }
        let files = written?;
        outln!(
            "report   {}\n         {}",
            files.html.display(),
            files.markdown.display()
        );
        outln!(
            "record   {} (run {})",
            self.store.path().display(),
            finished.run.id
        );
        Ok(())
    }
}

/// `20261121-203000-tour`; the process id keeps two runs of one second apart.
pub(super) fn run_id(suite: &str) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(8.min(digits.len()));
    format!("{day}-{time}-{suite}-{}", std::process::id())
}

/// The record could not be kept: what was measured is in the report's folder, or lost if even
/// that cannot be written.
pub(super) fn tell_unsaved(
    written: bool,
    folder: &Path,
    finished: &Finished,
    comparison: &RunSummary,
) {
    if written {
        errln!("note: all that was measured is in {}", folder.display());
        return;
    }
    let fallback = std::env::temp_dir().join(&finished.run.id);
    match report_files::write(&fallback, &finished.run, &finished.trials, comparison) {
        Ok(_) => errln!("note: all that was measured is in {}", fallback.display()),
        Err(error) => errln!("note: the reports could not be written either: {error}"),
    }
}

/// What went wrong in a run.
struct Failures {
    /// Servers that could not be built or started, or failed verification.
    servers: usize,
    /// Trials without figures, every attempt counted.
    trials: usize,
    /// Servers that sent wrong responses under load.
    wrong: usize,
}

impl Failures {
    fn of(finished: &Finished, comparison: &RunSummary) -> Self {
        let servers = finished.run.servers.iter().filter(|server| {
            matches!(
                server.status,
                ServerStatus::BuildFailed { .. } | ServerStatus::StartFailed { .. }
            ) || server
                .verified
                .iter()
                .any(|result| result.verdict != VerifyVerdict::Right)
        });
        let trials = finished
            .trials
            .iter()
            .filter(|record| !matches!(record.result, TrialResult::Measured(_)));
        Self {
            servers: servers.count(),
            trials: trials.count(),
            wrong: comparison.wrong_servers().len(),
        }
    }

    fn none(&self) -> bool {
        self.servers + self.trials + self.wrong == 0
    }
}

fn exit_code(finished: &Finished, failures: &Failures) -> u8 {
    match finished.run.end {
        RunEnd::Interrupted => INTERRUPTED,
        _ if failures.none() && !finished.trials.is_empty() => 0,
        _ => FAILURE,
    }
}

/// `complete, 180 trials, 2 re-run, 1 server failed`.
fn outcome(finished: &Finished, failures: &Failures) -> String {
    let attempts = finished.trials.len();
    let first = finished.trials.iter().filter(|one| one.attempt == 1);
    let trials = first.count();
    let mut parts = vec![finished.run.end.name().to_owned(), plural(trials, "trial")];
    if attempts > trials {
        parts.push(format!("{} re-run", attempts - trials));
    }
    let skipped = finished
        .run
        .servers
        .iter()
        .filter(|server| matches!(server.status, ServerStatus::Skipped { .. }))
        .count();
    for (count, thing, what) in [
        (skipped, "server", "skipped"),
        (failures.servers, "server", "failed"),
        (failures.trials, "trial", "failed"),
        (failures.wrong, "server", "with wrong responses"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", plural(count, thing)));
        }
    }
    parts.join(", ")
}
