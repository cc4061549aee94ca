//! A run in progress: what is the same for all of its trials.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use prony_store::Store;

use super::bench::{Task, Testbed};
use super::event::RunEvent;
use super::instructions::counter::Counter;
use super::instructions::counting::TrialRequests;
use super::process::Access;
use super::request::RunRequest;

/// What is measured, where the results go, and who gets to know of it.
pub(super) struct Session<'a> {
    pub(super) request: &'a RunRequest<'a>,
    /// How Prony comes to the servers that it can measure, by id.
    pub(super) access: BTreeMap<String, Access>,
    pub(super) store: &'a Store,
    /// What counts instructions; `None` until a trial needs it.
    pub(super) counter: OnceLock<Result<Counter, String>>,
    /// The requests of each measure that counts instructions, by its index.
    pub(super) counted_requests: Vec<OnceLock<TrialRequests>>,
    observe: &'a dyn Fn(RunEvent<'_>),
}

impl<'a> Session<'a> {
    pub(super) fn new(
        request: &'a RunRequest<'a>,
        store: &'a Store,
        observe: &'a dyn Fn(RunEvent<'_>),
    ) -> Self {
        Self {
            request,
            access: BTreeMap::new(),
            store,
            counter: OnceLock::new(),
            counted_requests: vec![OnceLock::new(); request.measures.len()],
            observe,
        }
    }

    pub(super) fn testbed(&self) -> &Testbed {
        &self.request.testbed
    }

    /// Reports an event to the observer.
    pub(super) fn report(&self, event: RunEvent<'_>) {
        (self.observe)(event);
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.testbed().is_interrupted()
    }

    /// Whether no more load can be generated: the user stopped it, or an agent was lost.
    pub(super) fn has_ended(&self) -> bool {
        self.is_interrupted() || self.request.generator.lost().is_some()
    }

    pub(super) fn task(&self, workload: &str) -> Option<&Task> {
        let mut tasks = self.request.tasks.iter();
        tasks.find(|task| task.workload.id == workload)
    }
}
