//! The two sides of a comparison.

use prony_record::{CEILING, Run, SubjectRecord, SubjectStatus, TrialRecord, VerifyVerdict};
use serde::Serialize;

/// A run, or a subject of it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its trials.
    pub trials: &'a [TrialRecord],
    /// The subject; `None` for each that both runs have.
    pub subject: Option<&'a str>,
}

/// A side as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The run's id.
    pub run: String,
    /// The subject, where one was named.
    pub subject: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
}

impl<'a> Side<'a> {
    /// The subject of that id.
    pub(crate) fn record(&self, id: &str) -> Option<&'a SubjectRecord> {
        self.run.subjects.iter().find(|subject| subject.id == id)
    }

    /// The reference server, where it took part.
    pub(crate) fn reference(&self) -> Option<&'a SubjectRecord> {
        self.record(CEILING)
    }

    /// As it is told.
    pub fn named(&self) -> Named {
        Named {
            run: self.run.id.clone(),
            subject: self.subject.map(str::to_owned),
            started_at: self.run.started_at.clone(),
        }
    }
}

pub(crate) fn is_reference(subject: &SubjectRecord) -> bool {
    subject.id == CEILING
}

/// Why a subject cannot serve a workload: its own fault, in a few words; `None` where it has none.
pub(crate) fn fault(subject: &SubjectRecord, workload: &str) -> Option<String> {
    let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
    match &subject.status {
        SubjectStatus::BuildFailed { output } => {
            return Some(format!("its build failed: {}", first_line(output)));
        }
        SubjectStatus::StartFailed { reason } => {
            return Some(format!("it could not be started: {}", first_line(reason)));
        }
        SubjectStatus::Ready | SubjectStatus::Skipped { .. } => {}
    }
    let mut verified = subject.verified.iter();
    let result = verified.find(|result| result.workload == workload)?;
    match &result.verdict {
        VerifyVerdict::Right => None,
        VerifyVerdict::Wrong { expected, came } => Some(format!(
            "its answer is wrong: expected {}; came {}",
            first_line(expected),
            first_line(came)
        )),
    }
}
