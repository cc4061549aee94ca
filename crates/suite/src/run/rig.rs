//! What makes the trials of a run: servers that are started, and loads that are put on them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_driver::Tool;
use prony_load::Progress;
use prony_record::{Store, StoreError, TrialRecord};
use prony_subject::{Built, PortSource};

use super::rounds::{Attempt, Rig};
use super::{Bench, Event, Task, TrialSetup};

/// The subjects, the loads, and the store that keeps what came of them.
pub struct Servers<'a> {
    pub bench: &'a Bench,
    pub built: &'a BTreeMap<String, Built>,
    pub tasks: &'a [Task],
    pub driver: Option<&'a Tool>,
    pub ports: &'a mut dyn PortSource,
    pub run: &'a str,
    pub store: &'a Store,
    /// What was kept.
    pub trials: &'a mut Vec<TrialRecord>,
    pub begun: Instant,
    pub interrupt: &'a AtomicBool,
    pub observe: &'a mut dyn FnMut(Event<'_>),
}

impl Rig for Servers<'_> {
    fn make(&mut self, attempt: &Attempt) -> Option<TrialRecord> {
        if self.interrupt.load(Relaxed) {
            return None;
        }
        let trial = &attempt.trial;
        let is_its = |task: &&Task| task.workload.id == trial.workload;
        let load = attempt.load();
        let setup = TrialSetup {
            bench: self.bench,
            // Only what was built and verified is planned.
            built: &self.built[&trial.subject],
            task: self.tasks.iter().find(is_its)?,
            trial,
            load: &load,
            driver: self.driver,
        };
        let observe = &mut self.observe;
        let loading = &mut |progress: &Progress| observe(Event::Loading { attempt, progress });
        setup.run(self.ports, self.interrupt, loading)
    }

    fn keep(&mut self, record: TrialRecord) -> Result<(), StoreError> {
        self.trials.push(record);
        match self.trials.last() {
            Some(record) => self.store.add_trial(self.run, record),
            None => Ok(()),
        }
    }

    fn clock(&self) -> Duration {
        self.begun.elapsed()
    }

    fn tell(&mut self, event: Event<'_>) {
        (self.observe)(event);
    }
}
