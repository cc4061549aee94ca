//! Runs the trials of a run: starts servers and loads them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prony_driver::Tool;
use prony_model::{ProcessStart, TrialRecord};
use prony_store::{Store, StoreError};

use super::bench::{Bench, Task};
use super::event::RunEvent;
use super::generator::Generator;
use super::instructions::{CountedRequests, Instructions};
use super::instrument::NoInstrument;
use super::kept::{Kept, Key, Running};
use super::process::Access;
use super::rounds::Rig;
use super::trial::{TrialEvent, TrialSetup};
use crate::plan::{Planned, TrialAttempt, Warming};

/// Starts servers, loads them, and stores the results.
pub struct Servers<'a> {
    pub bench: &'a Bench,
    pub access: &'a BTreeMap<String, Access>,
    pub tasks: &'a [Task],
    pub driver: Option<&'a Tool>,
    pub generator: &'a Generator<'a>,
    pub run: &'a str,
    pub store: &'a Store,
    /// The trials stored so far.
    pub trials: &'a mut Vec<TrialRecord>,
    /// The processes that are kept running.
    pub kept: Kept,
    /// The machine's memory, in bytes.
    pub machine_memory_bytes: u64,
    pub begun: Instant,
    /// What counts instructions, for measures of those.
    pub instructions: Instructions,
    /// The requests of each measure that counts instructions.
    pub counted_requests: BTreeMap<usize, CountedRequests>,
    pub observe: &'a mut dyn FnMut(RunEvent<'_>),
}

impl Servers<'_> {
    /// The process kept for an attempt, if there is one, and whether the attempt's process is new, kept or restarted.
    fn take_kept(&mut self, attempt: &TrialAttempt, key: &Key) -> (Option<Running>, ProcessStart) {
        if attempt.warming != Warming::Keep {
            return (None, ProcessStart::New);
        }
        match self.kept.take(key) {
            (Some(running), _) => return (Some(running), ProcessStart::Kept),
            (None, Some(exit)) => (self.observe)(RunEvent::KeptEnded {
                attempt,
                exit: &exit,
            }),
            (None, None) => {}
        }
        (None, self.kept.process_start(key))
    }

    /// Keeps the server of a trial that is over, or stops it.
    fn keep_or_stop(
        &mut self,
        attempt: &TrialAttempt,
        key: Key,
        record: &TrialRecord,
        running: Running,
    ) {
        let warm_up = record.measurement().and_then(|one| one.warm_up);
        let showed_slow = warm_up.is_some_and(|warm_up| warm_up.is_slow());
        if attempt.warming == Warming::Keep || showed_slow {
            self.kept.put(key, running, self.machine_memory_bytes);
        } else {
            running.stop();
        }
    }
}

impl Rig for Servers<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        if self.bench.is_interrupted() || self.generator.lost().is_some() {
            return None;
        }
        let trial = &attempt.trial;
        let key = (trial.server.clone(), attempt.measure);
        let (kept, process) = self.take_kept(attempt, &key);
        let process = match &self.access[&trial.server] {
            Access::Start(_) => process,
            Access::Outside(_) => ProcessStart::Outside,
        };
        let has_workload = |task: &&Task| task.workload.id == trial.workload;
        let load = attempt.load();
        let counted_requests = self.counted_requests.entry(attempt.measure).or_default();
        let setup = TrialSetup {
            bench: self.bench,
            // Only servers that were verified are planned.
            access: &self.access[&trial.server],
            task: self.tasks.iter().find(has_workload)?,
            attempt,
            load: &load,
            driver: self.driver,
            generator: self.generator,
            wrapper: None,
            process,
            instructions: &self.instructions,
            counted_requests,
        };
        let observe = &mut self.observe;
        let report = &mut |event: TrialEvent<'_>| {
            observe(match event {
                TrialEvent::WarmingUp(so_far) => RunEvent::WarmingUp { attempt, so_far },
                TrialEvent::Loading(progress) => RunEvent::Loading { attempt, progress },
            });
        };
        let (record, running) = setup.run(kept, report, &mut NoInstrument)?;
        if let Some(running) = running {
            self.keep_or_stop(attempt, key, &record, running);
        }
        Some(record)
    }

    fn begin_round(&mut self, trials: &[Planned]) {
        self.kept.retain(|(server, measure)| {
            let mut trials = trials.iter();
            trials.any(|one| one.measure == *measure && one.trial.server == *server)
        });
    }

    fn keep(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        let stored = self.store.add_trial(self.run, &record);
        self.trials.push(record);
        stored
    }

    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn report(&mut self, event: RunEvent<'_>) {
        (self.observe)(event);
    }
}
