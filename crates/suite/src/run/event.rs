//! What a run tells of itself while it goes on.

use prony_load::Progress;
use prony_record::{SubjectRecord, Trial, TrialRecord};

use crate::plan::Plan;

/// Something that happened in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A toolchain is being made, or a subject built.
    Preparing {
        /// The subject.
        subject: &'a str,
        /// What is being done.
        step: &'a str,
    },
    /// A subject is built, skipped or failed.
    Prepared {
        /// The subject, with its status.
        subject: &'a SubjectRecord,
    },
    /// A subject's answers are being checked.
    Verifying {
        /// The subject.
        subject: &'a str,
    },
    /// A subject's answers are checked.
    Verified {
        /// The subject, with what was found.
        subject: &'a SubjectRecord,
    },
    /// It is known which trials are to be made.
    Planned {
        /// They, in order.
        plan: &'a Plan,
    },
    /// A trial begins.
    Trial {
        /// The trial.
        trial: &'a Trial,
    },
    /// The load of a trial is on its way; told several times a second.
    Loading {
        /// The trial.
        trial: &'a Trial,
        /// How far it has come.
        progress: &'a Progress,
    },
    /// A trial is over.
    Measured {
        /// What came of it.
        record: &'a TrialRecord,
    },
}
