//! A run in progress: what all of its trials share.

use std::collections::BTreeMap;

use prony_model::{LoadSpec, ProcessStart};
use prony_store::Store;

use super::RunRequest;
use super::bench::Task;
use super::instructions::{CountedRequests, Instructions};
use super::process::Access;
use super::trial::TrialSetup;
use crate::plan::TrialAttempt;

/// What is measured, and where the results go.
pub struct Session<'a> {
    pub request: &'a RunRequest<'a>,
    /// How Prony comes to the servers that it can measure, by id.
    pub access: BTreeMap<String, Access>,
    pub store: &'a Store,
    /// What counts instructions, for measures of those.
    pub instructions: Instructions,
}

impl Session<'_> {
    pub fn is_interrupted(&self) -> bool {
        self.request.bench.is_interrupted()
    }

    /// Whether no more load can be generated: the user stopped it, or an agent was lost.
    pub fn has_ended(&self) -> bool {
        self.is_interrupted() || self.request.generator.lost().is_some()
    }

    pub fn task(&self, workload: &str) -> Option<&Task> {
        let mut tasks = self.request.tasks.iter();
        tasks.find(|task| task.workload.id == workload)
    }

    /// A trial under a load of Prony's own engine; `process` says which process it uses of a server that Prony starts.
    /// `None` if there is no such workload.
    pub fn trial<'s>(
        &'s self,
        attempt: &'s TrialAttempt,
        load: &'s LoadSpec,
        process: ProcessStart,
        counted_requests: &'s CountedRequests,
    ) -> Option<TrialSetup<'s>> {
        // Only servers that were verified are planned.
        let access = &self.access[&attempt.trial.server];
        Some(TrialSetup {
            bench: &self.request.bench,
            access,
            task: self.task(&attempt.trial.workload)?,
            attempt,
            load,
            driver: None,
            generator: &self.request.generator,
            wrapper: None,
            process: match access {
                Access::Start(_) => process,
                Access::Outside(_) => ProcessStart::Outside,
            },
            instructions: &self.instructions,
            counted_requests,
        })
    }
}
