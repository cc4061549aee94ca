//! Who is missing from which table, and why. Nobody is missing in silence.

use prony_record::{
    FailureKind, Run, SubjectRecord, SubjectStatus, TrialRecord, TrialResult, VerifyVerdict,
};

use super::{SubjectLabel, Table};

/// A subject that is missing from one table or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// The subject.
    pub subject: SubjectLabel,
    /// Why.
    pub why: Why,
}

/// Why a subject is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its toolchain is not here.
    Skipped {
        /// What is missing.
        missing: String,
        /// The one line that installs it.
        install: String,
    },
    /// Its build failed.
    BuildFailed {
        /// The last lines of the build's output.
        output: String,
    },
    /// It was built but could not be started.
    StartFailed {
        /// What went wrong.
        reason: String,
    },
    /// It failed verification of a workload.
    Wrong {
        /// The workload.
        workload: String,
        /// What was expected.
        expected: String,
        /// What came.
        came: String,
    },
    /// None of its trials of a workload gave figures.
    Failed {
        /// The workload.
        workload: String,
        /// What kind of failure the first one was.
        kind: FailureKind,
        /// What went wrong in it.
        message: String,
        /// How many trials failed.
        trials: usize,
    },
    /// It was ready, and no trial of a workload was made (the run was stopped, or it does not serve it).
    NotTried {
        /// The workload.
        workload: String,
    },
}

impl Why {
    /// The workload it is missing from; `None` for all.
    pub fn workload(&self) -> Option<&str> {
        match self {
            Why::Skipped { .. } | Why::BuildFailed { .. } | Why::StartFailed { .. } => None,
            Why::Wrong { workload, .. }
            | Why::Failed { workload, .. }
            | Why::NotTried { workload } => Some(workload),
        }
    }

    /// The reason in a word or two.
    pub fn label(&self) -> &'static str {
        match self {
            Why::Skipped { .. } => "skipped",
            Why::BuildFailed { .. } => "build failed",
            Why::StartFailed { .. } => "start failed",
            Why::Wrong { .. } => "failed verification",
            Why::Failed { .. } => "failed",
            Why::NotTried { .. } => "not tried",
        }
    }

    /// The reason in full.
    pub fn text(&self) -> String {
        match self {
            Why::Skipped { missing, install } => {
                format!("{missing} is missing; install: {install}")
            }
            Why::BuildFailed { output } => output.clone(),
            Why::StartFailed { reason } => reason.clone(),
            Why::Wrong { expected, came, .. } => format!("expected {expected}; came {came}"),
            Why::Failed {
                kind,
                message,
                trials,
                ..
            } => {
                let often = if *trials > 1 {
                    format!(", {trials} trials")
                } else {
                    String::new()
                };
                format!("{}{often}: {message}", kind.name())
            }
            Why::NotTried { .. } => "no trial was made".to_owned(),
        }
    }
}

pub(super) fn absences(run: &Run, trials: &[TrialRecord], tables: &[Table]) -> Vec<Absence> {
    run.subjects
        .iter()
        .flat_map(|subject| {
            reasons(subject, trials, tables)
                .into_iter()
                .map(move |why| Absence {
                    subject: SubjectLabel::from(subject),
                    why,
                })
        })
        .collect()
}

fn reasons(subject: &SubjectRecord, trials: &[TrialRecord], tables: &[Table]) -> Vec<Why> {
    match &subject.status {
        SubjectStatus::Skipped { missing, install } => vec![Why::Skipped {
            missing: missing.clone(),
            install: install.clone(),
        }],
        SubjectStatus::BuildFailed { output } => vec![Why::BuildFailed {
            output: output.clone(),
        }],
        SubjectStatus::StartFailed { reason } => vec![Why::StartFailed {
            reason: reason.clone(),
        }],
        SubjectStatus::Ready => {
            let mut reasons = wrong(subject);
            for table in tables.iter().filter(|table| !has_row(table, subject)) {
                let known = reasons
                    .iter()
                    .any(|why| why.workload() == Some(&table.workload));
                if !known {
                    reasons.push(why_not(subject, trials, table));
                }
            }
            reasons
        }
    }
}

fn wrong(subject: &SubjectRecord) -> Vec<Why> {
    subject
        .verified
        .iter()
        .filter_map(|verified| match &verified.verdict {
            VerifyVerdict::Right => None,
            VerifyVerdict::Wrong { expected, came } => Some(Why::Wrong {
                workload: verified.workload.clone(),
                expected: expected.clone(),
                came: came.clone(),
            }),
        })
        .collect()
}

fn has_row(table: &Table, subject: &SubjectRecord) -> bool {
    table.rows.iter().any(|row| row.subject.id == subject.id)
}

fn why_not(subject: &SubjectRecord, trials: &[TrialRecord], table: &Table) -> Why {
    let mut failures = trials.iter().filter_map(|record| {
        let trial = &record.trial;
        let here = trial.subject == subject.id
            && trial.workload == table.workload
            && trial.load == table.load;
        match &record.result {
            TrialResult::Failed { kind, message } if here => Some((*kind, message)),
            _ => None,
        }
    });
    let workload = table.workload.clone();
    match failures.next() {
        Some((kind, message)) => Why::Failed {
            workload,
            kind,
            message: message.clone(),
            trials: 1 + failures.count(),
        },
        None => Why::NotTried { workload },
    }
}
