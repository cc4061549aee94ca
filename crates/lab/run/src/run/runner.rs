//! Runs the trials of a run: starts servers, loads them, and stores the results.

use std::time::{Duration, Instant};

use prony_model::{ProcessStart, TrialRecord};
use prony_store::StoreError;

use super::event::RunEvent;
use super::instrument::NoInstrument;
use super::rounds::TrialRunner;
use super::server_pool::{Key, Running, ServerPool};
use super::session::Session;
use super::trial::Trial;
use crate::plan::{TrialAttempt, Warming};

/// Starts servers, loads them, and stores the results.
pub(super) struct Runner<'a> {
    session: &'a Session<'a>,
    /// The trials stored so far.
    trials: &'a mut Vec<TrialRecord>,
    /// The processes that are kept running.
    pool: ServerPool,
    begun: Instant,
}

impl<'a> Runner<'a> {
    /// Begins on a machine with this much memory; `trials` gets the results.
    pub(super) fn new(
        session: &'a Session<'a>,
        machine_memory_bytes: u64,
        trials: &'a mut Vec<TrialRecord>,
    ) -> Self {
        Self {
            session,
            trials,
            pool: ServerPool::new(machine_memory_bytes),
            begun: Instant::now(),
        }
    }

    /// Stops the servers that were kept running. After an interrupt the user does not want to wait, so they are killed.
    pub(super) fn finish(mut self) {
        if !self.session.is_interrupted() {
            self.pool.retain(|_| false);
        }
    }

    /// The process kept for an attempt, if there is one, and whether the attempt's process is new, kept or restarted.
    fn take_kept(&mut self, attempt: &TrialAttempt, key: &Key) -> (Option<Running>, ProcessStart) {
        if attempt.warming != Warming::Keep {
            return (None, ProcessStart::New);
        }
        match self.pool.take(key) {
            Ok(Some(running)) => return (Some(running), ProcessStart::Kept),
            Ok(None) => {}
            Err(exit) => self.session.report(RunEvent::KeptEnded {
                attempt,
                exit: &exit,
            }),
        }
        (None, self.pool.process_start(key))
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
            self.pool.put(key, running);
        } else {
            running.stop();
        }
    }
}

impl TrialRunner for Runner<'_> {
    fn measure(&mut self, attempt: &TrialAttempt) -> Option<TrialRecord> {
        let session = self.session;
        if session.has_ended() {
            return None;
        }
        let key = (attempt.trial.server.clone(), attempt.measure);
        let (kept, process) = self.take_kept(attempt, &key);
        let trial = Trial::of(self.session, attempt, process)?;
        let (record, running) = trial.run(kept, &mut NoInstrument)?;
        if let Some(running) = running {
            self.keep_or_stop(attempt, key, &record, running);
        }
        Some(record)
    }

    fn store(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        let run = &self.session.request.id;
        let stored = self.session.store.add_trial(run, &record);
        self.trials.push(record);
        stored
    }

    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn report(&mut self, event: RunEvent<'_>) {
        if let RunEvent::Round(trials) = &event {
            // Kept servers that no trial of the round uses are no longer needed.
            self.pool.retain(|(server, measure)| {
                let mut trials = trials.iter();
                trials.any(|one| one.measure == *measure && one.trial.server == *server)
            });
        }
        self.session.report(event);
    }
}
