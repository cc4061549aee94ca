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
use prony_record::{RunEnd, Store, SubjectStatus, TrialResult, VerifyVerdict};
use prony_report::Comparison;
use prony_subject::FreePorts;
use prony_suite::Precision;
use prony_suite::run::{Finished, RunRequest, run as run_suite};

use self::choice::{Choice, Chosen, Ground};
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;
use crate::view::{plural, report_files, run_progress::RunProgress};

const EXAMPLES: &str = "\
Examples:
  prony run                                        the suite `tour`: minutes, a first look
  prony run zap                                    another suite; `prony list suites` has them all
  prony run zap --quick                            the same load for seconds instead of minutes
  prony run --all --quick                          every suite, one after the other
  prony run tour --subjects go-nethttp,bun         only these two
  prony run tour --subject ../my-server            a server that lives elsewhere, beside the suite's
  prony run zap --subject ../my-server --subjects ceiling,go-nethttp
                                                   the same beside these two only
  prony run tour --workloads hello --rounds 12     one workload, more rounds
  prony run tour --precision 3% --budget 10m       rounds until every comparison is within ±3 %,
                                                   for 10 minutes of trials at the most
  prony run zap --baseline go-nethttp              compare the others with Go's
  prony run zap --quick --driver wrk               the load made by wrk, to check Prony's own
  prony run --server-cpus 0-3 --load-cpus 4-7      choose the CPUs

Exit status: 0 where every subject that could be built was measured, 1 where one failed (the
table is made all the same), 2 where the command line is wrong, 130 where you stopped it (what
was measured is kept). With --all, the greatest of its suites.";

/// What to run, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The suite
    #[arg(default_value = "tour")]
    suite: String,
    /// Every suite, one after the other, each with a report of its own
    #[arg(long, conflicts_with = "suite")]
    all: bool,
    /// The quick run that the suite describes: the same shapes of load, for seconds
    #[arg(long)]
    quick: bool,
    /// Only these subjects, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    subjects: Vec<String>,
    /// Also the subject in this folder, wherever it is; may be given again
    #[arg(long = "subject", value_name = "FOLDER")]
    outside: Vec<PathBuf>,
    /// Only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    workloads: Vec<String>,
    /// So many rounds instead of the suite's; with --precision, so many at the most
    #[arg(long)]
    rounds: Option<NonZeroU32>,
    /// Add rounds until the 95 % interval of every comparison with the baseline is so narrow, for
    /// instance 3%: its ends are within 3 % of the ratio
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Precision>,
    /// With --precision: how long the trials may take altogether [default: 30m]. Two rounds are
    /// made whatever it is
    #[arg(long, value_parser = arguments::some_duration, value_name = "DURATION")]
    budget: Option<Duration>,
    /// The subject that the others are compared with [default: the ceiling, or else the first]
    #[arg(long, value_name = "ID")]
    baseline: Option<String>,
    /// Leave out the reference server, which is measured beside the others in every run
    #[arg(long)]
    no_ceiling: bool,
    /// Measure each trial for so long instead of the suite's duration; a load that ends by
    /// requests ends then at the latest
    #[arg(long, value_parser = arguments::some_duration)]
    duration: Option<Duration>,
    /// Measure so many requests in each trial instead of the suite's; a load that ends by a
    /// duration ends then at the latest
    #[arg(long, value_parser = arguments::some_count)]
    requests: Option<NonZeroU64>,
    /// Send requests for this long before each trial is measured, and do not wait until the server is warm
    /// (--warmup-limit still does)
    #[arg(long, value_parser = arguments::duration)]
    warmup: Option<Duration>,
    /// Warm each server up until it no longer gets faster, for this long at most [default: 20s, or what the suite
    /// says]; 0s warms up for the suite's warm-up and no longer
    #[arg(long, value_parser = arguments::duration, value_name = "DURATION")]
    warmup_limit: Option<Duration>,
    /// How long a server may take from its start to its first right answer
    #[arg(long, value_parser = arguments::duration, default_value = "30s")]
    ready_timeout: Duration,
    /// The seed of the shuffled order, to repeat an order
    #[arg(long)]
    seed: Option<u64>,
    /// The CPUs of the servers, for instance 0 or 0-3
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// The CPUs of the load
    #[arg(long, value_name = "LIST")]
    load_cpus: Option<String>,
    /// Have this tool make the load instead of Prony's own engine: wrk, oha, h2load, ab, hey, k6.
    /// What it cannot make is left out
    #[arg(long, value_name = "ID")]
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
    let keeper = Keeper::open(&ground, arguments)?;
    let done = keeper.measure(&ground, *chosen, arguments)?;
    Ok(ExitCode::from(done.code))
}

/// Where runs are recorded, and what stops them.
struct Keeper {
    record_file: PathBuf,
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

impl Keeper {
    fn open(ground: &Ground<'_>, arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let record_file = match &arguments.store {
            Some(file) => file.clone(),
            None => project::record_file(ground.layout),
        };
        Ok(Self {
            store: Store::open(&record_file)?,
            record_file,
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
            bench: project::bench(
                ground.layout,
                ground.cpus.clone(),
                folder.join("logs"),
                arguments.ready_timeout,
            )?,
            suite: &chosen.suite,
            subjects: chosen.subjects,
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
        let observe = &mut |event: prony_suite::run::Event<'_>| view.show(&event);
        let finished = run_suite(request, &self.store, &self.interrupt, observe)?;
        view.finish();
        self.report(&folder, &finished)?;
        Ok(Done {
            code: exit_code(&finished),
            outcome: outcome(&finished),
            took: begun.elapsed(),
            run: finished.run.id,
        })
    }

    fn report(&self, folder: &Path, finished: &Finished) -> Result<(), Box<dyn Error>> {
        let comparison = Comparison::of(&finished.run, &finished.trials);
        report_files::show(&finished.run, &comparison);
        // The reports last: their trouble must not hide the table.
        let written = report_files::write(folder, &finished.run, &finished.trials, &comparison);
        if let Some(error) = &finished.unsaved {
            tell_unsaved(written.is_ok(), folder, finished, &comparison);
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
            self.record_file.display(),
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
    comparison: &Comparison,
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

/// How many subjects took part and failed, and how many attempts at trials.
fn failures(finished: &Finished) -> (usize, usize) {
    let subjects = finished.run.subjects.iter().filter(|subject| {
        matches!(
            subject.status,
            SubjectStatus::BuildFailed { .. } | SubjectStatus::StartFailed { .. }
        ) || subject
            .verified
            .iter()
            .any(|result| result.verdict != VerifyVerdict::Right)
    });
    let trials = finished
        .trials
        .iter()
        .filter(|record| !matches!(record.result, TrialResult::Measured(_)));
    (subjects.count(), trials.count())
}

fn exit_code(finished: &Finished) -> u8 {
    match (finished.run.end, failures(finished)) {
        (RunEnd::Interrupted, _) => INTERRUPTED,
        (_, (0, 0)) if !finished.trials.is_empty() => 0,
        _ => FAILURE,
    }
}

/// `complete, 180 trials, 2 made again, 1 subject failed`.
fn outcome(finished: &Finished) -> String {
    let attempts = finished.trials.len();
    let first = finished.trials.iter().filter(|one| one.attempt == 1);
    let trials = first.count();
    let mut parts = vec![finished.run.end.name().to_owned(), plural(trials, "trial")];
    if attempts > trials {
        parts.push(format!("{} made again", attempts - trials));
    }
    let skipped = finished
        .run
        .subjects
        .iter()
        .filter(|subject| matches!(subject.status, SubjectStatus::Skipped { .. }))
        .count();
    let (subjects, trials) = failures(finished);
    for (count, thing, what) in [
        (skipped, "subject", "skipped"),
        (subjects, "subject", "failed"),
        (trials, "trial", "failed"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", plural(count, thing)));
        }
    }
    parts.join(", ")
}
