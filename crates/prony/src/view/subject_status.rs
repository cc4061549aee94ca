//! Why a subject does not take part, in a line.

use prony_record::SubjectStatus;

/// The line for a subject that is skipped or has failed; `None` where it is ready.
pub fn line(id: &str, status: &SubjectStatus) -> Option<String> {
    match status {
        SubjectStatus::Ready => None,
        SubjectStatus::Skipped { missing, install } => Some(format!(
            "SKIPPED  {id}: {missing} is missing; install it: {install}"
        )),
        SubjectStatus::BuildFailed { output: reason } | SubjectStatus::StartFailed { reason } => {
            Some(format!("FAILED   {id}: {reason}"))
        }
    }
}
