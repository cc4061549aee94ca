//! Why nothing can be sampled.

use std::fs;
use std::io;

/// Why a [`Sampler`](super::Sampler) cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{}", forbidden(*.paranoid))]
    Forbidden {
        /// `kernel.perf_event_paranoid`; `None` if the kernel has no such setting.
        paranoid: Option<i32>,
    },
    #[error("{threads} threads are too many to sample: each needs open files for every CPU")]
    TooManyThreads { threads: usize },
    #[error("the processes have ended")]
    NoThreads,
    #[error("new threads keep appearing, so some would be missed")]
    ThreadsKeepAppearing,
    #[error("the kernel does not have this event")]
    NoSuchEvent,
    #[error("perf_event_open: {0}")]
    Io(#[from] io::Error),
}

impl OpenError {
    /// What the kernel's error means.
    pub(super) fn of(error: io::Error, threads: usize) -> OpenError {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM | libc::ENOSYS) => OpenError::Forbidden {
                paranoid: paranoid(),
            },
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                OpenError::TooManyThreads { threads }
            }
            Some(libc::ENOENT | libc::EINVAL | libc::EOPNOTSUPP) => OpenError::NoSuchEvent,
            _ => OpenError::Io(error),
        }
    }
}

fn paranoid() -> Option<i32> {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

fn forbidden(paranoid: Option<i32>) -> String {
    match paranoid {
        None => "the kernel has no perf events".to_owned(),
        // From here on the setting permits it to everyone, so something else forbids it.
        Some(..=-1) => "a container or a security module forbids perf_event_open".to_owned(),
        Some(level) => format!(
            "the kernel does not let this user sample these threads (perf_event_paranoid is {level})"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_have_meanings() {
        let of = |code| OpenError::of(io::Error::from_raw_os_error(code), 7).to_string();
        assert!(of(libc::EMFILE).starts_with("7 threads are too many"));
        assert_eq!(of(libc::EINVAL), "the kernel does not have this event");
        assert!(of(libc::EIO).starts_with("perf_event_open: "));
    }

    #[test]
    fn the_setting_is_named_if_it_is_the_reason() {
        assert!(forbidden(Some(2)).ends_with("(perf_event_paranoid is 2)"));
        assert!(forbidden(Some(-1)).starts_with("a container"));
        assert_eq!(forbidden(None), "the kernel has no perf events");
    }
}
