//! `prony run [SUITE]`: the main job.

use std::error::Error;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use prony_record::{RunEnd, Store, SubjectStatus, TrialResult, VerifyVerdict};
use prony_report::Comparison;
use prony_subject::{Catalogue, FreePorts, Layout, Subject};
use prony_suite::run::{Finished, RunRequest, Task, run as run_suite};
use prony_suite::{Measure, Suite, SuiteError, Workloads};

use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, usage};
use crate::interrupt;
use crate::project;
use crate::view::{report_files, run_progress::RunProgress};

const EXAMPLES: &str = "\
Examples:
  prony run                                        the suite `tour`: minutes, a first look
  prony run tour --subjects go-nethttp,bun         only these two
  prony run tour --workloads hello --rounds 12     one workload, more rounds
  prony run --server-cpus 0-3 --load-cpus 4-7      choose the CPUs

Exit status: 0 where every subject that could be built was measured, 1 where one failed (the
table is made all the same), 2 where the command line is wrong, 130 where you stopped it (what
was measured is kept).";

/// What to run, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The suite
    #[arg(default_value = "tour")]
    suite: String,
    /// Only these subjects, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    subjects: Vec<String>,
    /// Only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS")]
    workloads: Vec<String>,
    /// So many rounds instead of the suite's
    #[arg(long)]
    rounds: Option<NonZeroU32>,
    /// Measure each trial for so long instead of the suite's duration
    #[arg(long, value_parser = arguments::duration)]
    duration: Option<Duration>,
    /// Warm each trial up for so long instead of the suite's warm-up
    #[arg(long, value_parser = arguments::duration)]
    warmup: Option<Duration>,
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
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Runs the suite, shows the comparison and writes the reports.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let suite = suite(&layout, arguments)?;
    let catalogue = Catalogue::read(&layout)?;
    let subjects = subjects(&catalogue, &suite, arguments)?;
    let request = request(&layout, &suite, subjects, arguments)?;
    let record_file = arguments
        .store
        .clone()
        .unwrap_or_else(|| project::record_file(&layout));
    let store = Store::open(&record_file)?;
    let interrupt = interrupt::on_signals()?;
    let folder = layout.runs().join(&request.id);
    let mut view = RunProgress::start(&request);
    let finished = run_suite(request, &store, &interrupt, &mut |event| view.show(&event))?;
    view.finish();
    let comparison = Comparison::of(&finished.run, &finished.trials);
    report_files::show(&finished.run, &comparison);
    // The reports last: their trouble must not hide the table.
    let written = report_files::write(&folder, &finished.run, &finished.trials, &comparison);
    if let Some(error) = &finished.unsaved {
        return unsaved(error, written.is_ok(), &folder, &finished, &comparison);
    }
    let files = written?;
    outln!(
        "report   {}\n         {}",
        files.html.display(),
        files.markdown.display()
    );
    outln!(
        "record   {} (run {})",
        record_file.display(),
        finished.run.id
    );
    Ok(exit_code(&finished))
}

/// The suite with what the command line changes in it.
fn suite(layout: &Layout, arguments: &Arguments) -> Result<Suite, Box<dyn Error>> {
    let mut suite =
        Suite::read(&layout.suites(), &arguments.suite).map_err(|error| match error {
            SuiteError::Unknown(_) => usage(error),
            SuiteError::File(_) => error.into(),
        })?;
    for measure in &mut suite.measures {
        if let Some(duration) = arguments.duration {
            measure.load.duration = duration;
        }
        if let Some(warmup) = arguments.warmup {
            measure.load.warmup = warmup;
        }
    }
    if arguments.duration.is_some() || arguments.warmup.is_some() || arguments.rounds.is_some() {
        suite.notes.push("Rounds or durations were changed on the command line: the loads shown are those that ran.".into());
    }
    suite.rounds = arguments.rounds.unwrap_or(suite.rounds);
    Ok(suite)
}

fn subjects<'a>(
    catalogue: &'a Catalogue,
    suite: &Suite,
    arguments: &Arguments,
) -> Result<Vec<&'a Subject>, Box<dyn Error>> {
    if arguments.subjects.is_empty() {
        let in_suite = |error| format!("the suite `{}`: {error}", suite.id);
        Ok(catalogue.select(&suite.subjects).map_err(in_suite)?)
    } else {
        catalogue
            .select(&arguments.subjects)
            .map_err(project::not_selected)
    }
}

fn request<'a>(
    layout: &Layout,
    suite: &'a Suite,
    subjects: Vec<&'a Subject>,
    arguments: &Arguments,
) -> Result<RunRequest<'a>, Box<dyn Error>> {
    let cpus = project::cpus(
        arguments.server_cpus.as_deref(),
        arguments.load_cpus.as_deref(),
    )?;
    let load_cpus = NonZeroUsize::new(cpus.load.len()).unwrap_or(NonZeroUsize::MIN);
    let workloads = project::workloads(layout, &subjects)?;
    let chosen = &arguments.workloads;
    let (tasks, measures) = measures(layout, suite, &workloads, chosen, load_cpus)?;
    let id = run_id(&suite.id);
    Ok(RunRequest {
        bench: project::bench(
            layout,
            cpus,
            layout.runs().join(&id).join("logs"),
            arguments.ready_timeout,
        )?,
        suite,
        subjects,
        tasks,
        measures,
        rounds: suite.rounds.get(),
        seed: arguments
            .seed
            .unwrap_or_else(|| fastrand::u64(..1_000_000_000)),
        id,
        command: std::env::args().collect(),
        prony_version: env!("CARGO_PKG_VERSION").into(),
        ports: Box::new(FreePorts),
    })
}

/// The suite's workloads, of which the command line may choose some.
fn measures(
    layout: &Layout,
    suite: &Suite,
    workloads: &Workloads,
    chosen: &[String],
    load_cpus: NonZeroUsize,
) -> Result<(Vec<Task>, Vec<Measure>), Box<dyn Error>> {
    workloads
        .select(chosen.iter().map(String::as_str))
        .map_err(usage)?;
    let mut measures = suite.measures_on(load_cpus);
    measures.retain(|measure| chosen.is_empty() || chosen.contains(&measure.workload));
    if measures.is_empty() {
        return Err(usage(format!(
            "the suite `{}` has none of these workloads; it has: {}",
            suite.id,
            suite.workloads().join(", ")
        )));
    }
    let mut tasks: Vec<Task> = Vec::new();
    for workload in workloads.select(measures.iter().map(|measure| measure.workload.as_str()))? {
        if tasks.iter().all(|task| task.workload.id != workload.id) {
            tasks.push(Task::new(workload, layout)?);
        }
    }
    Ok((tasks, measures))
}

/// `20261121-203000-tour`; the process id keeps two runs of one second apart.
fn run_id(suite: &str) -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let digits: String = now.chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(8.min(digits.len()));
    format!("{day}-{time}-{suite}-{}", std::process::id())
}

/// The record could not be kept: what was measured is in the report's folder, or lost if even
/// that cannot be written.
fn unsaved(
    error: &prony_record::StoreError,
    written: bool,
    folder: &Path,
    finished: &Finished,
    comparison: &Comparison,
) -> Outcome {
    if written {
        errln!("note: all that was measured is in {}", folder.display());
    } else {
        let fallback = std::env::temp_dir().join(&finished.run.id);
        match report_files::write(&fallback, &finished.run, &finished.trials, comparison) {
            Ok(_) => errln!("note: all that was measured is in {}", fallback.display()),
            Err(error) => errln!("note: the reports could not be written either: {error}"),
        }
    }
    Err(error.to_string().into())
}

fn exit_code(finished: &Finished) -> ExitCode {
    let subject_failed = finished.run.subjects.iter().any(|subject| {
        matches!(
            subject.status,
            SubjectStatus::BuildFailed { .. } | SubjectStatus::StartFailed { .. }
        ) || subject
            .verified
            .iter()
            .any(|result| result.verdict != VerifyVerdict::Right)
    });
    let measured = |result: &TrialResult| matches!(result, TrialResult::Measured(_));
    let trial_failed = finished
        .trials
        .iter()
        .any(|record| !measured(&record.result));
    match finished.run.end {
        RunEnd::Interrupted => ExitCode::from(INTERRUPTED),
        _ if subject_failed || trial_failed || finished.trials.is_empty() => {
            ExitCode::from(FAILURE)
        }
        _ => ExitCode::SUCCESS,
    }
}
