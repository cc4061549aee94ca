//! Why a server does not take part, in a line.

use prony_model::ServerStatus;

/// The line for a server that is skipped or has failed; `None` where it is ready.
pub fn line(id: &str, status: &ServerStatus) -> Option<String> {
    match status {
        ServerStatus::Ready => None,
        ServerStatus::Skipped { missing, install } => Some(format!(
            "SKIPPED  {id}: {missing} is missing; install it: {install}"
        )),
        ServerStatus::BuildFailed { output: reason } | ServerStatus::StartFailed { reason } => {
            Some(format!("FAILED   {id}: {reason}"))
        }
    }
}
