//! What is unavailable, why, and what makes it available.

use std::env;
use std::io;

use prony_kernel::perf::OpenError;
use prony_kernel::tracefs::TracefsError;
use prony_model::Unavailable;

const SYSTEM_CALLS: &str = "system calls by name";
const WAKE_UPS: &str = "wake-ups";

/// Why the kernel's records cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Denied {
    #[error("{}", why_no_tracepoints(.0))]
    Tracepoints(#[from] TracefsError),
    #[error(transparent)]
    Events(#[from] OpenError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn why_no_tracepoints(error: &TracefsError) -> String {
    match error {
        TracefsError::NotMounted | TracefsError::Forbidden(_) => {
            format!("the kernel lets only root trace system calls ({error})")
        }
        TracefsError::Unsupported => error.to_string(),
    }
}

impl Denied {
    /// The command that grants the right, if a right is missing.
    fn remedy(&self) -> Option<String> {
        let capabilities = match self {
            // `perf_event_paranoid` does not help: the files of tracefs stay root's.
            Denied::Tracepoints(TracefsError::NotMounted) => {
                "cap_perfmon,cap_dac_read_search,cap_sys_admin"
            }
            Denied::Tracepoints(TracefsError::Forbidden(_))
            | Denied::Events(OpenError::Forbidden { .. }) => "cap_perfmon,cap_dac_read_search",
            _ => return None,
        };
        let program = env::current_exe().ok()?;
        let program = shlex::try_quote(program.to_str()?).ok()?.into_owned();
        Some(format!("sudo setcap {capabilities}+ep {program}"))
    }
}

/// System calls cannot be traced at all.
pub(crate) fn system_calls(denied: &Denied) -> Unavailable {
    unavailable(SYSTEM_CALLS, denied.to_string(), denied.remedy())
}

/// Wake-ups cannot be traced.
pub(crate) fn wake_ups(denied: &Denied) -> Unavailable {
    unavailable(WAKE_UPS, denied.to_string(), denied.remedy())
}

/// Some records were lost.
pub(crate) fn lost_calls(lost: u64) -> Option<Unavailable> {
    (lost > 0).then(|| lower_bound(SYSTEM_CALLS, lost))
}

/// Some records were lost.
pub(crate) fn lost_wake_ups(lost: u64) -> Option<Unavailable> {
    (lost > 0).then(|| lower_bound(WAKE_UPS, lost))
}

/// Some records could not be read.
pub(crate) fn unread(error: &io::Error) -> Unavailable {
    let why = format!("some of the kernel's records could not be read: {error}");
    unavailable(SYSTEM_CALLS, why, None)
}

/// The thread that reads records panicked.
pub(crate) fn failed() -> Unavailable {
    unavailable(SYSTEM_CALLS, "tracing failed".to_owned(), None)
}

fn lower_bound(what: &str, lost: u64) -> Unavailable {
    let why = format!(
        "the figures are lower bounds: the kernel wrote faster than Prony read, and {lost} records were lost"
    );
    unavailable(what, why, None)
}

fn unavailable(what: &str, why: String, remedy: Option<String>) -> Unavailable {
    Unavailable {
        what: what.to_owned(),
        why,
        remedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_depends_on_what_lacks() {
        let mounted = system_calls(&TracefsError::Forbidden("/sys/kernel/tracing").into());
        let why = "the kernel lets only root trace system calls (/sys/kernel/tracing is readable by root alone)";
        assert_eq!(mounted.why, why);
        let remedy = mounted.remedy.unwrap();
        assert!(remedy.starts_with("sudo setcap cap_perfmon,cap_dac_read_search+ep /"));
        let not_mounted = system_calls(&TracefsError::NotMounted.into());
        assert!(not_mounted.remedy.unwrap().contains("cap_sys_admin"));
        assert_eq!(system_calls(&TracefsError::Unsupported.into()).remedy, None);
        let ended = system_calls(&OpenError::NoThreads.into());
        assert_eq!(ended.why, "the processes have ended");
        assert_eq!(ended.remedy, None);
    }

    #[test]
    fn lost_records_make_lower_bounds() {
        assert_eq!(lost_calls(0), None);
        let lost = lost_calls(12).unwrap();
        assert_eq!(lost.what, "system calls by name");
        assert!(lost.why.ends_with("and 12 records were lost"));
    }
}
