//! How the kernel schedules the threads of a process tree.

use std::collections::HashMap;
use std::fs;

use procfs_core::FromRead;
use procfs_core::process::Schedstat;
use prony_model::Scheduling;

use super::process::{threads_of, value_of_line};

/// The figures of some threads, each since its start.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadFigures {
    by_thread: HashMap<i32, Figures>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Figures {
    ran_ns: u64,
    waited_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

/// The threads that still run must have used at least this share of their processes' CPU time.
const LEAST_SHARE_SEEN: f64 = 0.9;

impl ThreadFigures {
    /// The figures of all threads of the processes; `None` if the kernel reports none.
    pub(super) fn of(pids: &[i32]) -> Option<ThreadFigures> {
        let threads = pids
            .iter()
            .flat_map(|&pid| threads_of(pid).into_iter().map(move |tid| (pid, tid)));
        // A thread that is just ending has none.
        let by_thread: HashMap<i32, Figures> = threads
            .filter_map(|(pid, tid)| Some((tid, Figures::read(pid, tid)?)))
            .collect();
        (!by_thread.is_empty()).then_some(ThreadFigures { by_thread })
    }

    /// The differences since `earlier`; new threads count from 0. `None` if these threads ran for much less than the
    /// `cpu_s` seconds of their processes: the rest ran in threads that have ended, whose waits are unknown.
    pub(super) fn since(&self, earlier: &ThreadFigures, cpu_s: f64) -> Option<Scheduling> {
        let mut sum = Figures::default();
        for (thread, now) in &self.by_thread {
            let then = earlier.by_thread.get(thread).copied();
            let since = now.since(then.unwrap_or_default());
            sum.ran_ns += since.ran_ns;
            sum.waited_ns += since.waited_ns;
            sum.voluntary += since.voluntary;
            sum.involuntary += since.involuntary;
        }
        let ran_s = sum.ran_ns as f64 / 1e9;
        (ran_s >= LEAST_SHARE_SEEN * cpu_s).then_some(Scheduling {
            run_queue_wait_s: sum.waited_ns as f64 / 1e9,
            voluntary_switches: sum.voluntary,
            involuntary_switches: sum.involuntary,
        })
    }
}

impl Figures {
    fn read(pid: i32, tid: i32) -> Option<Figures> {
        let file = |name| format!("/proc/{pid}/task/{tid}/{name}");
        let schedstat = Schedstat::from_file(file("schedstat")).ok()?;
        let status = fs::read_to_string(file("status")).ok()?;
        let count = |name| value_of_line(&status, name)?.parse().ok();
        Some(Figures {
            ran_ns: schedstat.sum_exec_runtime,
            waited_ns: schedstat.run_delay,
            voluntary: count("voluntary_ctxt_switches:")?,
            involuntary: count("nonvoluntary_ctxt_switches:")?,
        })
    }

    /// The figures since `earlier`. If one is less than before, it is a new thread with the same id.
    fn since(self, earlier: Figures) -> Figures {
        let since = || {
            Some(Figures {
                ran_ns: self.ran_ns.checked_sub(earlier.ran_ns)?,
                waited_ns: self.waited_ns.checked_sub(earlier.waited_ns)?,
                voluntary: self.voluntary.checked_sub(earlier.voluntary)?,
                involuntary: self.involuntary.checked_sub(earlier.involuntary)?,
            })
        };
        since().unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(threads: &[(i32, [u64; 3])]) -> ThreadFigures {
        let by_thread = threads
            .iter()
            .map(|&(tid, [waited_ns, voluntary, involuntary])| {
                let figures = Figures {
                    ran_ns: 10 * waited_ns,
                    waited_ns,
                    voluntary,
                    involuntary,
                };
                (tid, figures)
            });
        ThreadFigures {
            by_thread: by_thread.collect(),
        }
    }

    #[test]
    fn threads_count_from_the_start_or_from_their_own() {
        let before = figures(&[(1, [5_000, 5, 5]), (2, [9, 9, 9]), (3, [700, 70, 7])]);
        let after = figures(&[(1, [1_005_000, 8, 6]), (3, [100, 20, 1]), (4, [50, 4, 0])]);
        let scheduling = after.since(&before, 0.01).unwrap();
        assert_eq!(scheduling.run_queue_wait_s, 0.001_000_15);
        assert_eq!(scheduling.voluntary_switches, 3 + 20 + 4);
        assert_eq!(scheduling.involuntary_switches, 1 + 1);
        // The remaining threads ran for 10 ms.
        assert_eq!(after.since(&before, 0.02), None, "others did most of it");
    }

    #[test]
    fn the_threads_of_this_process_have_figures_if_the_kernel_reports_them() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let tells = fs::exists("/proc/self/schedstat").unwrap();
        assert_eq!(ThreadFigures::of(&[pid]).is_some(), tells);
    }
}
