//! `prony run [SUITE]`: measures the servers of a suite, or of every suite.

mod choice;
mod objectives;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_model::{RunEnd, ServerStatus, TrialResult, VerifyVerdict};
use prony_present::terminal::listing;
use prony_present::words::plural;
use prony_report::{RunSummary, junit, markdown};
use prony_run::run::{ExplainPlan, Finished, RunRequest};
use prony_store::{Store, export_json};

pub(super) use self::choice::Arguments;
use self::choice::{Choice, RunSetup, SuiteSelection};
use self::objectives::Verdicts;
use crate::arguments;
use crate::exit::{
    self, FAILURE, INTERRUPTED, MISSED, Outcome, Usage, interrupt_on_signals, usage,
};
use crate::fleet::Loads;
use crate::project::{self, Project};
use crate::result_file::{self, ResultFile};
use crate::view::explanation_files::RunExplanation;
use crate::view::{minutes, report_files, run_progress, width};

/// Runs the suite, or all of them, shows the comparison and writes the reports.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let fleet = arguments.fleet(project)?;
    let project = Project::open(project)?;
    let setup = RunSetup::read(&project, arguments, fleet)?;
    if arguments.all {
        return run_all(&setup);
    }
    let named = arguments.suite.as_deref();
    let suite = named.unwrap_or_else(|| project.default_suite());
    let chosen = match setup.choose(suite)? {
        Choice::Selected(chosen) => chosen,
        Choice::Nothing(why) => return Err(usage(why)),
    };
    // Before agents are started, because none could reach the servers.
    setup.host(&chosen.servers)?;
    let files = result_file::open([
        ("--markdown", arguments.results.markdown.as_deref()),
        ("--json", arguments.results.json.json.as_deref()),
        ("--junit", arguments.junit.junit.as_deref()),
    ])?;
    let session = SuiteSession::open(&setup)?;
    let end = session.measure(*chosen, files)?;
    Ok(ExitCode::from(end.code))
}

/// How a suite ended, in a few words, and the exit code for it.
struct SuiteEnd {
    /// Its run and how long that took; `None` if it was not run.
    run: Option<(String, Duration)>,
    outcome: String,
    code: u8,
}

impl SuiteEnd {
    fn without_a_run(outcome: impl Into<String>, code: u8) -> Self {
        Self {
            run: None,
            outcome: outcome.into(),
            code,
        }
    }

    fn failed(error: &(dyn Error + 'static)) -> Self {
        exit::failure(error);
        let text = error.to_string();
        let first_line = text.lines().next().unwrap_or("");
        Self::without_a_run(format!("failed: {first_line}"), FAILURE)
    }
}

/// A suite's id, and what is run of it or why nothing is.
type Intent<'a> = (String, Result<Box<SuiteSelection<'a>>, SuiteEnd>);

/// Runs every suite, each with its report, and shows how each ended. A failure in one does not stop the others.
fn run_all(setup: &RunSetup<'_>) -> Outcome {
    let suites = choose_all(setup)?;
    let session = SuiteSession::open(setup)?;
    let count = suites.len();
    let (mut rows, mut worst) = (Vec::with_capacity(count), 0);
    for (index, (suite, intent)) in suites.into_iter().enumerate() {
        let end = match intent {
            Err(end) => end,
            Ok(_) if session.interrupt.load(Relaxed) => {
                SuiteEnd::without_a_run("not started", INTERRUPTED)
            }
            Ok(chosen) => {
                if !setup.arguments.live.quiet {
                    errln!("suite {} of {count}: {suite}", index + 1);
                }
                let end = session.measure(*chosen, [None, None, None]);
                end.unwrap_or_else(|error| SuiteEnd::failed(error.as_ref()))
            }
        };
        worst = worst.max(end.code);
        rows.push((suite, suite_line(&end)));
    }
    out!("\n{}", listing(&rows, width()));
    Ok(ExitCode::from(worst))
}

/// `complete, 180 trials (12 min 05 s, run 20261121-203000-tour-4711)`.
fn suite_line(end: &SuiteEnd) -> String {
    match &end.run {
        Some((run, took)) => format!("{} ({}, run {run})", end.outcome, minutes(*took)),
        None => end.outcome.clone(),
    }
}

/// What is run of each suite. Prony reads all suites before it runs the first, so that errors show now and not after
/// an hour.
fn choose_all<'a>(setup: &'a RunSetup<'_>) -> Result<Vec<Intent<'a>>, Box<dyn Error>> {
    let mut suites = Vec::new();
    let mut something = false;
    for id in setup.project.default_suites()? {
        let intent = match setup.choose(&id) {
            Ok(Choice::Selected(chosen)) => Ok(chosen),
            Ok(Choice::Nothing(why)) => Err(SuiteEnd::without_a_run(format!("left out: {why}"), 0)),
            Err(error) if error.is::<Usage>() => return Err(error),
            Err(error) => Err(SuiteEnd::failed(error.as_ref())),
        };
        something |= !matches!(&intent, Err(SuiteEnd { code: 0, .. }));
        suites.push((id, intent));
    }
    if something {
        Ok(suites)
    } else {
        Err(usage("these flags leave nothing to run in any suite"))
    }
}

/// Where runs are recorded, and what stops them.
struct SuiteSession<'a> {
    setup: &'a RunSetup<'a>,
    store: Store,
    interrupt: Arc<AtomicBool>,
    loads: Loads,
}

impl<'a> SuiteSession<'a> {
    fn open(setup: &'a RunSetup<'a>) -> Result<Self, Box<dyn Error>> {
        let arguments = setup.arguments;
        let store = arguments.store.open(&setup.project.layout)?;
        let interrupt = interrupt_on_signals()?;
        Ok(Self {
            setup,
            store,
            loads: Loads::start(setup.fleet.as_ref(), arguments.live.mode(), &interrupt)?,
            interrupt,
        })
    }

    /// Runs what was chosen, shows the comparison and writes its reports.
    fn measure(
        &self,
        mut chosen: SuiteSelection<'_>,
        results: [Option<ResultFile>; 3],
    ) -> Result<SuiteEnd, Box<dyn Error>> {
        let begun = Instant::now();
        let setup = self.setup;
        let arguments = setup.arguments;
        chosen.notes.iter().for_each(|line| errln!("{line}"));
        let id = project::run_id(&chosen.suite.id);
        let cpus = setup.cpus.clone();
        for measure in &mut chosen.measures {
            if let Some(agents) = self.loads.agents() {
                measure.load.threads = agents.threads_of(&measure.load);
            }
        }
        let mut testbed =
            arguments
                .build
                .testbed(&setup.project.layout, cpus, &id, &self.interrupt)?;
        testbed.host = setup.host(&chosen.servers)?;
        let (suite, seed) = (&chosen.suite, arguments.trials.seed());
        let (servers, tasks, measures) = (chosen.servers, chosen.tasks, chosen.measures);
        let request = RunRequest {
            baseline: arguments.baseline.clone(),
            command: arguments::command_line(),
            driver: setup.driver.clone(),
            generator: self.loads.generator(),
            explain: arguments.explain.then(|| ExplainPlan::for_servers(1)),
            ..RunRequest::new(id, testbed, suite, servers, tasks, measures, seed)
        };
        let finished = run_progress::run(&request, &self.store, arguments.live.mode())?;
        let comparison = RunSummary::of(&finished.run, &finished.trials);
        let files = report_files::write_finished(&setup.project.layout, &finished, &comparison);
        if let Ok(files) = &files {
            let places = report_files::places(files, &self.store, &finished.run);
            result_file::show(&format!("{places}\n\n"), &results);
        }
        // The result comes last, where a terminal shows it, even if the reports could not be written.
        let is_stdout_taken = result_file::takes_stdout(&results);
        report_files::show(&finished.run, &comparison, is_stdout_taken);
        let explanation = RunExplanation::of(&finished.run, &finished.explanations);
        let explained = explanation.conclude(&setup.project.layout, is_stdout_taken);
        let written = write(results, &finished, &comparison);
        files?;
        explained?;
        written?;
        let verdicts = Verdicts::of(setup.project.file(), &finished)?;
        if is_stdout_taken {
            err!("{}", verdicts.text());
        } else {
            out!("{}", verdicts.text());
        }
        if let Some(why) = &finished.lost {
            errln!("INVALID  {why}");
        }
        let failures = Failures::of(&finished, &comparison);
        let code = failures.exit_code(&finished);
        Ok(SuiteEnd {
            code: if code == 0 && verdicts.is_missed() {
                MISSED
            } else {
                code
            },
            outcome: failures.outcome(&finished),
            run: Some((finished.run.id, begun.elapsed())),
        })
    }
}

/// Writes the report as Markdown, the run as JSON, as `prony export` does, and the verdicts as JUnit XML. An error in one
/// file must not keep the others from being written.
fn write(
    [to_markdown, to_json, to_junit]: [Option<ResultFile>; 3],
    finished: &Finished,
    comparison: &RunSummary,
) -> Result<(), Box<dyn Error>> {
    let (run, trials) = (&finished.run, &finished.trials);
    let markdown = to_markdown.map_or(Ok(()), |file| file.write(&markdown(run, comparison)));
    let json = to_json.map_or(Ok(()), |file| {
        file.write_json(&export_json(run, trials, &finished.explanations))
    });
    let junit = to_junit.map_or(Ok(()), |file| file.write(&junit(run, trials)));
    markdown.and(json).and(junit)
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
                ServerStatus::BuildFailed { .. }
                    | ServerStatus::StartFailed { .. }
                    | ServerStatus::Unreachable { .. }
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

    fn exit_code(&self, finished: &Finished) -> u8 {
        let is_clean = self.servers + self.trials + self.wrong == 0;
        match finished.run.end {
            RunEnd::Interrupted => INTERRUPTED,
            _ if finished.lost.is_some() => FAILURE,
            _ if is_clean && !finished.trials.is_empty() => 0,
            _ => FAILURE,
        }
    }

    /// `complete, 180 trials, 2 re-run, 1 server failed`.
    fn outcome(&self, finished: &Finished) -> String {
        let attempts = finished.trials.len();
        let first = finished.trials.iter().filter(|one| one.attempt == 1);
        let trials = first.count();
        let mut parts = vec![finished.run.end.name().to_owned(), plural(trials, "trial")];
        if attempts > trials {
            parts.push(format!("{} re-run", attempts - trials));
        }
        let servers = finished.run.servers.iter();
        let skipped =
            servers.filter(|server| matches!(server.status, ServerStatus::Skipped { .. }));
        for (count, thing, what) in [
            (skipped.count(), "server", "skipped"),
            (self.servers, "server", "failed"),
            (self.trials, "trial", "failed"),
            (self.wrong, "server", "with wrong responses"),
        ] {
            if count > 0 {
                parts.push(format!("{} {what}", plural(count, thing)));
            }
        }
        parts.join(", ")
    }
}
