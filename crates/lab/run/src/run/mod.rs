//! Runs a suite: prepares its servers, verifies them, and runs its trials one after the other.
//!
//! Each trial is stored as soon as it is over, so that nothing is lost however the run ends.

mod bench;
mod driven;
mod event;
mod explain;
mod flows;
mod generator;
mod instructions;
mod instrument;
mod noisy;
mod prepare;
mod process;
mod rounds;
mod runner;
mod sampling;
mod server_pool;
mod session;
#[cfg(test)]
mod testing;
mod trial;
mod verify;
mod warming;
mod wrong_scheme;

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;

use prony_driver::Tool;
use prony_kernel::{allowed_cpus, pin_current_thread};
use prony_model::{
    Adaptive, Explanation, Published, PublishedRow, Run, RunEnd, ServerRecord, ServerStatus,
    TrialRecord,
};
use prony_server::Server;
use prony_store::{Store, StoreError};

use crate::adaptive::AdaptiveRounds;
use crate::plan::{Measure, Plan};
use crate::suite::Suite;

use instructions::Instructions;
use runner::Runner;
use session::Session;

pub use bench::{Bench, Task, TaskContent, TaskError, now};
pub use driven::{Drive, cannot_drive, note as driver_note, under_load};
pub use event::RunEvent;
pub use explain::{ExplainPlan, ProfilePlan};
pub use generator::{Agents, Generator};
pub use instructions::{Counter, limits_of_counting};
pub use noisy::noise_causes;
pub use prepare::{Prepared, prepare};
pub use process::{Access, AccessError, OutsideProcess, Process, Target, tls_settings};
pub use rounds::{Done, Rule, TrialRunner, most_re_runs, run as run_rounds};
pub use verify::{Verification, is_unavailable, start_ready, verify_server};
pub use wrong_scheme::{WrongScheme, other_scheme};

/// What a run needs.
pub struct RunRequest<'a> {
    /// The run's id.
    pub id: String,
    /// The bench.
    pub bench: Bench,
    /// The suite, for its name, notes and published tables.
    pub suite: &'a Suite,
    /// The servers.
    pub servers: Vec<&'a Server>,
    /// The workloads with their expected responses.
    pub tasks: Vec<Task>,
    /// The workloads with their loads and rounds; with adaptive rounds, the maximum.
    pub measures: Vec<Measure>,
    /// How rounds are added as needed; `None` for a fixed number.
    pub adaptive: Option<AdaptiveRounds>,
    /// The server that the others are compared with; `None` for the ceiling (reference server), or the first one
    /// without it.
    pub baseline: Option<String>,
    /// Servers that are compared with each other: if one of them is kept running because it takes long to warm up, so
    /// are the others, and if one of them cannot be measured, the others are not measured either.
    pub alike: Vec<String>,
    /// The seed of the order.
    pub seed: u64,
    /// The command line.
    pub command: Vec<String>,
    /// The tool that generates the load; `None` for Prony's own engine.
    pub driver: Option<Tool>,
    /// What runs Prony's own engine.
    pub generator: Generator<'a>,
    /// How the servers are explained after the trials; `None` if they are not.
    pub explain: Option<ExplainPlan>,
}

impl<'a> RunRequest<'a> {
    /// A run of a fixed number of rounds in an order drawn from `seed`, with the load from this process.
    pub fn new(
        id: String,
        bench: Bench,
        suite: &'a Suite,
        servers: Vec<&'a Server>,
        tasks: Vec<Task>,
        measures: Vec<Measure>,
        seed: u64,
    ) -> Self {
        Self {
            id,
            bench,
            suite,
            servers,
            tasks,
            measures,
            adaptive: None,
            baseline: None,
            alike: Vec::new(),
            seed,
            command: Vec::new(),
            driver: None,
            generator: Generator::this_process(),
            explain: None,
        }
    }

    /// The number of rounds of its longest measure.
    pub fn rounds(&self) -> u32 {
        let rounds = self.measures.iter().map(|measure| measure.rounds);
        rounds.max().unwrap_or(0)
    }
}

/// A run that has ended, complete or not.
pub struct Finished {
    /// The run.
    pub run: Run,
    /// Its trials.
    pub trials: Vec<TrialRecord>,
    /// What a request costs each server, if that was to be explained.
    pub explanations: Vec<Explanation>,
    /// Why the run could not be stored to its end, if so; the last of `trials` may then be missing from the store.
    pub unsaved: Option<StoreError>,
    /// Why no more load could be generated, if so: an agent was lost.
    pub lost: Option<String>,
}

/// Runs the suite. Every trial is in `store` as soon as it is over. After an interrupt, the current trial is
/// dropped and the run ends.
///
/// # Errors
/// If the run cannot be stored. Later errors of the store are in [`Finished`].
pub fn run(
    request: RunRequest<'_>,
    store: &Store,
    observe: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Finished, StoreError> {
    let mut run = new_run(&request);
    store.begin_run(&run)?;
    let prepared = prepare(&request.bench, &request.servers, observe);
    run.servers = prepared.iter().map(|one| one.record.clone()).collect();
    // From here on this process stays on the load's CPUs, so that it does not disturb the server.
    let pinned = Pinned::to(&request.bench.cpus.load);
    if let Err(error) = &pinned {
        run.notes
            .push(format!("Prony could not be pinned to its CPUs: {error}."));
    }
    let session = Session {
        request: &request,
        access: ready(prepared),
        store,
        instructions: Instructions::default(),
    };
    verify_all(&session, &mut run, observe);
    let mut trials = Vec::new();
    let mut unsaved = store.update_run(&run).err();
    if unsaved.is_none() {
        let measured = measure(&session, &mut run, &mut trials, observe);
        unsaved = measured.and_then(|()| store.update_run(&run)).err();
    }
    let mut explanations = Vec::new();
    if unsaved.is_none() {
        explanations = explain(&session, &run, observe);
        let mut stored = explanations
            .iter()
            .map(|one| store.add_explanation(&run.id, one));
        unsaved = stored.find_map(Result::err);
    }
    let is_lost = request.generator.lost().is_some();
    run.end = match (&unsaved, request.bench.is_interrupted()) {
        (Some(_), _) => RunEnd::Failed,
        (None, true) => RunEnd::Interrupted,
        (None, false) if is_lost => RunEnd::Failed,
        (None, false) => RunEnd::Complete,
    };
    let finished_at = now();
    run.finished_at = Some(finished_at.clone());
    let closed = store.finish_run(&run.id, run.end, &finished_at).err();
    Ok(Finished {
        run,
        trials,
        explanations,
        unsaved: unsaved.or(closed),
        lost: request.generator.lost().map(str::to_owned),
    })
}

/// Pins the current thread to some CPUs; when dropped, restores its earlier CPUs, which the next run needs for its
/// builds.
struct Pinned {
    before: Vec<usize>,
}

impl Pinned {
    fn to(cpus: &[usize]) -> io::Result<Self> {
        let before = allowed_cpus()?;
        pin_current_thread(cpus)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If this fails, the next run builds more slowly, and its record lists the CPUs that it had.
        let _ = pin_current_thread(&self.before);
    }
}

fn new_run(request: &RunRequest<'_>) -> Run {
    Run {
        id: request.id.clone(),
        suite: request.suite.id.clone(),
        title: request.suite.title.clone(),
        notes: notes(request),
        started_at: now(),
        finished_at: None,
        end: RunEnd::Open,
        // All crates have the version of the program.
        prony_version: env!("CARGO_PKG_VERSION").into(),
        command: request.command.clone(),
        seed: request.seed,
        rounds: request.rounds(),
        machine: prony_kernel::detect_machine(),
        cpus: request.generator.cpus(&request.bench),
        fleet: request.generator.recorded(),
        servers: Vec::new(),
        published: published(request),
        baseline: request.baseline.clone(),
        adaptive: request.adaptive.map(|adaptive| Adaptive {
            precision: adaptive.precision.share(),
            budget_s: adaptive.budget.as_secs_f64(),
            ends: Vec::new(),
        }),
    }
}

/// The suite's notes, and those on what generates the load.
fn notes(request: &RunRequest<'_>) -> Vec<String> {
    let driver = request.driver.as_ref().map(driven::note);
    let uncounted = request.generator.fleet().and_then(|_| uncounted(request));
    let own = request.suite.notes.iter().cloned();
    own.chain(driver).chain(uncounted).collect()
}

/// A note on the workloads whose randomly drawn lines only one process could count.
fn uncounted(request: &RunRequest<'_>) -> Option<String> {
    let drawn = request.tasks.iter().filter(|task| task.draws().is_some());
    let ids: Vec<&str> = drawn.map(|task| task.workload.id.as_str()).collect();
    (!ids.is_empty()).then(|| {
        format!(
            "Whether lines are drawn at random was tested before the load, but not under it, because several agents generated \
             it: {}.",
            ids.join(", ")
        )
    })
}

/// The suite's document, without the tables that this run does not measure.
fn published(request: &RunRequest<'_>) -> Option<Published> {
    let of_fleet = request.generator.fleet().map(Agents::all_threads);
    let load_cpus = of_fleet.unwrap_or(request.bench.cpus.load.len());
    let load_cpus = NonZeroUsize::new(load_cpus).unwrap_or(NonZeroUsize::MIN);
    let mut published = request.suite.published_on(load_cpus)?;
    published.tables.retain(|table| {
        let measured = |row: &PublishedRow| {
            let mut measures = request.measures.iter();
            measures.any(|one| one.load.same_load(&table.load) && one.workload == row.workload)
        };
        table.rows.iter().any(measured)
    });
    (!published.tables.is_empty()).then_some(published)
}

/// How Prony comes to the servers that it can measure, by id.
fn ready(prepared: Vec<Prepared>) -> BTreeMap<String, Access> {
    prepared
        .into_iter()
        .filter_map(|one| Some((one.record.id, one.access?)))
        .collect()
}

fn verify_all(session: &Session<'_>, run: &mut Run, observe: &mut dyn FnMut(RunEvent<'_>)) {
    let request = session.request;
    for record in &mut run.servers {
        let server = request.servers.iter().find(|one| one.id == record.id);
        let (Some(server), Some(access)) = (server, session.access.get(&record.id)) else {
            continue;
        };
        if session.is_interrupted() {
            return;
        }
        observe(RunEvent::Verifying { server: &record.id });
        let mut wrong_logs = Vec::new();
        match verify_server(&request.bench, server, access, &request.tasks) {
            Verification::Responded { verified, logs } => {
                record.verified = verified;
                wrong_logs = logs;
            }
            Verification::Ended {
                verified,
                logs,
                reason,
            } => {
                record.verified = verified;
                wrong_logs = logs;
                record.status = access.failed(reason);
            }
            Verification::NotStarted(reason) => {
                record.status = access.failed(reason);
            }
            Verification::Interrupted => return,
        }
        observe(RunEvent::Verified {
            server: record,
            logs: &wrong_logs,
        });
    }
}

fn measure(
    session: &Session<'_>,
    run: &mut Run,
    trials: &mut Vec<TrialRecord>,
    observe: &mut dyn FnMut(RunEvent<'_>),
) -> Result<(), StoreError> {
    let request = session.request;
    let plan = plan(request, run);
    let servers: Vec<String> = run.servers.iter().map(|one| one.id.clone()).collect();
    let rule = rounds::Rule {
        adaptive: request.adaptive,
        baseline: request.baseline.as_deref(),
        servers: &servers,
        alike: &request.alike,
    };
    let mut runner = Runner::new(session, run.machine.memory_bytes, trials, observe);
    let mut done = rounds::Done::default();
    let ended = rounds::run(plan, &rule, &mut runner, &mut done);
    runner.finish();
    run.notes.extend(
        request
            .generator
            .lost()
            .map(|why| format!("INVALID: {why}. No load could be generated after that.")),
    );
    if let Some(adaptive) = &mut run.adaptive {
        adaptive.ends = done.ends;
        run.rounds = done.rounds;
    }
    ended
}

/// Explains the servers that passed verification, if that is wanted.
fn explain(
    session: &Session<'_>,
    run: &Run,
    observe: &mut dyn FnMut(RunEvent<'_>),
) -> Vec<Explanation> {
    match &session.request.explain {
        Some(plan) if can_compare(session.request, run) => {
            explain::explain(plan, &run.servers, session, observe)
        }
        _ => Vec::new(),
    }
}

/// Plans each server with each workload that passed verification, unless nothing could be compared.
fn plan(request: &RunRequest<'_>, run: &Run) -> Plan {
    let ready = run
        .servers
        .iter()
        .filter(|record| record.status == ServerStatus::Ready);
    let servers: Vec<String> = ready.map(|record| record.id.clone()).collect();
    let is_worth_it = can_compare(request, run);
    let takes_part = |server: &str, measure: &Measure| {
        let record = run.server(server);
        is_worth_it && record.is_some_and(|record| record.is_verified(&measure.workload))
    };
    Plan::interleaved(&servers, &request.measures, takes_part, request.seed)
}

/// Whether each of the servers to compare with each other can be measured at all.
fn can_compare(request: &RunRequest<'_>, run: &Run) -> bool {
    let mut records = request.alike.iter().map(|server| run.server(server));
    records.all(|record| record.is_some_and(ServerRecord::is_measurable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_cpus_back() {
        let before = allowed_cpus().unwrap();
        let pinned = Pinned::to(&before[..1]).unwrap();
        assert_eq!(allowed_cpus().unwrap(), before[..1]);
        drop(pinned);
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
