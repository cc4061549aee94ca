//! Runs a suite: prepares its servers, verifies them, and runs its trials one after the other.
//!
//! Each trial is stored as soon as it is over, so that nothing is lost however the run ends.

mod bench;
mod driven;
mod event;
mod explain;
mod generator;
mod instructions;
mod instrument;
mod noisy;
mod prepare;
mod process;
mod request;
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

use std::cell::RefCell;
use std::io;
use std::num::NonZeroUsize;

use prony_kernel::{allowed_cpus, pin_current_thread};
use prony_model::{
    Adaptive, Explanation, Published, PublishedRow, Run, RunEnd, ServerRecord, ServerStatus,
    TrialRecord,
};
use prony_store::{Store, StoreError};

use crate::plan::{Measure, Plan};

use runner::Runner;
use session::Session;

pub use bench::{Task, TaskError, Testbed, now};
pub use driven::{DriverRun, cannot_drive, note as driver_note, under_load};
pub use event::RunEvent;
pub use explain::{ExplainPlan, ProfilePlan};
pub use generator::{Agents, Generator};
pub use instructions::{Counter, limits_of_counting};
pub use prepare::{Prepared, prepare};
pub use process::{Access, OutsideProcess, Process, Target, tls_settings};
pub use request::RunRequest;
pub use rounds::{RoundRules, RoundsRun, TrialRunner, most_re_runs, run as run_rounds};
pub use verify::{Verification, is_unavailable, start_ready, verify_server};
pub use wrong_scheme::{WrongScheme, other_scheme};

/// A run that has ended, complete or not.
pub struct Finished {
    pub run: Run,
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
    request: &RunRequest<'_>,
    store: &Store,
    observe: &mut dyn FnMut(RunEvent<'_>),
) -> Result<Finished, StoreError> {
    let observe = RefCell::new(observe);
    let observe = |event: RunEvent<'_>| (observe.borrow_mut())(event);
    let mut session = Session::new(request, store, &observe);
    let mut run = new_run(request);
    store.begin_run(&run)?;
    let prepared = prepare(&request.testbed, &request.servers, &mut |event| {
        session.report(event);
    });
    run.servers = prepared.iter().map(|one| one.record.clone()).collect();
    let ready = prepared.into_iter();
    session.access = ready
        .filter_map(|one| Some((one.record.id, one.access?)))
        .collect();
    // From here on this process stays on the load's CPUs, so that it does not disturb the server.
    let pinned = Pinned::to(&request.testbed.cpus.load);
    if let Err(error) = &pinned {
        run.notes
            .push(format!("Prony could not be pinned to its CPUs: {error}."));
    }
    session.verify_all(&mut run.servers);
    let mut finished = Finished {
        unsaved: store.update_run(&run).err(),
        run,
        trials: Vec::new(),
        explanations: Vec::new(),
        lost: None,
    };
    if finished.unsaved.is_none() {
        finished.unsaved = session.measure_and_explain(&mut finished).err();
    }
    finished.lost = request.generator.lost().map(str::to_owned);
    let run = &mut finished.run;
    run.end = if finished.unsaved.is_some() {
        RunEnd::Failed
    } else if session.is_interrupted() {
        RunEnd::Interrupted
    } else if finished.lost.is_some() {
        RunEnd::Failed
    } else {
        RunEnd::Complete
    };
    let finished_at = now();
    run.finished_at = Some(finished_at.clone());
    let closed = store.finish_run(&run.id, run.end, &finished_at);
    finished.unsaved = finished.unsaved.or(closed.err());
    Ok(finished)
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
        // All crates have the version of the program.
        prony_version: env!("CARGO_PKG_VERSION").into(),
        command: request.command.clone(),
        seed: request.seed,
        rounds: request.rounds(),
        machine: prony_kernel::detect_machine(),
        cpus: request.generator.cpus(&request.testbed),
        fleet: request.generator.recorded(),
        published: published(request),
        baseline: request.baseline.clone(),
        adaptive: request.suite.adaptive.map(|adaptive| Adaptive {
            precision: adaptive.precision.share(),
            budget_s: adaptive.budget.as_secs_f64(),
            ends: Vec::new(),
        }),
        ..Run::default()
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
    let load_cpus = of_fleet.unwrap_or(request.testbed.cpus.load.len());
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

impl Session<'_> {
    /// Verifies the servers that can be started or already run; ends early after an interrupt.
    fn verify_all(&self, records: &mut [ServerRecord]) {
        let request = self.request;
        for record in records {
            let server = request.servers.iter().find(|one| one.id == record.id);
            let (Some(server), Some(access)) = (server, self.access.get(&record.id)) else {
                continue;
            };
            if self.is_interrupted() {
                return;
            }
            self.report(RunEvent::Verifying(&record.id));
            let Some(verification) = verify_server(self.testbed(), server, access, &request.tasks)
            else {
                return;
            };
            record.verified = verification.verified;
            if let Some(reason) = verification.failed {
                record.status = access.failed(reason);
            }
            self.report(RunEvent::Verified {
                server: record,
                logs: &verification.logs,
            });
        }
    }

    /// Runs the trials, then explains the servers if that is wanted.
    fn measure_and_explain(&self, finished: &mut Finished) -> Result<(), StoreError> {
        self.measure(&mut finished.run, &mut finished.trials)?;
        let run = &finished.run;
        self.store.update_run(run)?;
        if let Some(plan) = &self.request.explain
            && can_compare(self.request, run)
        {
            finished.explanations = explain::explain(plan, &run.servers, self);
        }
        let mut explanations = finished.explanations.iter();
        explanations.try_for_each(|one| self.store.add_explanation(&run.id, one))
    }

    fn measure(&self, run: &mut Run, trials: &mut Vec<TrialRecord>) -> Result<(), StoreError> {
        let request = self.request;
        let plan = plan(request, run);
        let servers: Vec<String> = run.servers.iter().map(|one| one.id.clone()).collect();
        let rule = rounds::RoundRules {
            adaptive: request.suite.adaptive,
            baseline: request.baseline.as_deref(),
            servers: &servers,
            alike: &request.alike,
        };
        let mut runner = Runner::new(self, run.machine.memory_bytes, trials);
        let mut done = rounds::RoundsRun::default();
        let ended = rounds::run(plan, &rule, &mut runner, &mut done);
        runner.finish();
        let lost = request.generator.lost();
        run.notes.extend(
            lost.map(|why| format!("INVALID: {why}. No load could be generated after that.")),
        );
        if let Some(adaptive) = &mut run.adaptive {
            adaptive.ends = done.ends;
            run.rounds = done.rounds;
        }
        ended
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
