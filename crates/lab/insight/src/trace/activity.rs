//! What the threads of a process tree did, from `/proc`, which every user can read.

use std::collections::BTreeMap;
use std::fs;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use procfs_core::FromRead;
use procfs_core::process::{Schedstat, Stat, Status};
use prony_model::Unavailable;

/// The figures of some processes at one instant, each since the start of its process or thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    processes: BTreeMap<i32, Process>,
}

/// What some processes did from one [`Activity`] to a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Times that a thread gave its CPU up to wait.
    pub voluntary_switches: u64,
    /// Times that the kernel took the CPU from a thread.
    pub involuntary_switches: u64,
    /// Page faults without I/O, also of threads that have ended, and of processes that their parent has waited for.
    pub minor_faults: u64,
    /// Page faults that read from a disk, likewise.
    pub major_faults: u64,
    /// Threads that used CPU time, among those that still exist.
    pub busy_threads: u64,
    /// Growth of the anonymous memory of the processes that still exist, in bytes; negative if it shrank.
    pub anonymous_growth_bytes: i64,
    /// Whether threads that have ended did much of the work, so that the switches and busy threads mean little.
    pub lost_threads: bool,
    /// What is not complete, and why.
    pub unavailable: Vec<Unavailable>,
}

/// None of the processes exists, or this user may not see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none of the server's processes can be seen in /proc")]
pub struct NoProcesses;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Process {
    /// In clock ticks since boot. With the id it names one process for good.
    started: u64,
    minor_faults: u64,
    major_faults: u64,
    /// CPU time of all its threads, also of those that have ended.
    ran_ns: u64,
    anonymous_bytes: u64,
    threads: BTreeMap<i32, Thread>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thread {
    ran_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

/// Threads that have ended may have had this share of the CPU time (1 in this many) before the switches count as
/// incomplete. What threads do between the reads of two files is less.
const SHARE_UNSEEN: u64 = 100;

impl Activity {
    /// The figures now of all processes of a tree.
    ///
    /// # Errors
    /// If none of them exists, or `/proc` hides them from this user.
    pub fn read(pids: &[i32]) -> Result<Activity, NoProcesses> {
        // A process may end while it is read.
        let read = |&pid: &i32| Some((pid, Process::read(pid)?));
        let processes: BTreeMap<_, _> = pids.iter().filter_map(read).collect();
        if processes.is_empty() {
            return Err(NoProcesses);
        }
        Ok(Activity { processes })
    }

    /// What the processes have done since `earlier`. New processes and threads count from their start.
    pub fn since(&self, earlier: &Activity) -> Used {
        let mut used = Used::default();
        let (mut ran_ns, mut seen_ns) = (0, 0);
        for (pid, now) in &self.processes {
            let then = earlier.processes.get(pid);
            // Another process with the same id.
            let then = then.filter(|then| then.started == now.started);
            let then = then.cloned().unwrap_or_default();
            ran_ns += now.ran_ns.saturating_sub(then.ran_ns);
            seen_ns += now.add_threads(&then, &mut used);
            used.anonymous_growth_bytes +=
                now.anonymous_bytes.cast_signed() - then.anonymous_bytes.cast_signed();
        }
        // A process that has ended has left its faults to the parent that waited for it: sums stay whole.
        let faults = |of: fn(&Process) -> u64| {
            let sum = |activity: &Activity| activity.processes.values().map(of).sum::<u64>();
            sum(self).saturating_sub(sum(earlier))
        };
        used.minor_faults = faults(|process| process.minor_faults);
        used.major_faults = faults(|process| process.major_faults);
        let unseen = unseen_switches(ran_ns, seen_ns);
        used.lost_threads = unseen.is_some();
        used.unavailable.extend(unseen);
        used.unavailable
            .extend(ended_processes(self.missing(earlier)));
        used
    }

    /// How many processes of `earlier` have ended.
    fn missing(&self, earlier: &Activity) -> usize {
        let is_same = |pid, then: &Process| {
            let now = self.processes.get(pid);
            now.is_some_and(|now| now.started == then.started)
        };
        let then = earlier.processes.iter();
        then.filter(|(pid, then)| !is_same(pid, then)).count()
    }
}

impl Process {
    fn read(pid: i32) -> Option<Process> {
        let stat = Stat::from_file(format!("/proc/{pid}/stat")).ok()?;
        let status = Status::from_file(format!("/proc/{pid}/status")).ok()?;
        let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
        let threads = threads_of(pid).into_iter();
        let threads = threads.filter_map(|tid| Some((tid, Thread::read(pid, tid)?)));
        let threads = threads.collect();
        // After the threads, which go on running, so that it is at least their sum.
        let ran = clock_gettime(clock).ok()?;
        Some(Process {
            started: stat.starttime,
            minor_faults: stat.minflt + stat.cminflt,
            major_faults: stat.majflt + stat.cmajflt,
            ran_ns: nanoseconds(ran.tv_sec(), ran.tv_nsec()),
            anonymous_bytes: status.rssanon.unwrap_or(0) * 1024,
            threads,
        })
    }

    /// Adds what its threads did since `then`; returns the CPU time that they used, in nanoseconds.
    fn add_threads(&self, then: &Process, used: &mut Used) -> u64 {
        let mut ran_ns = 0;
        for (tid, now) in &self.threads {
            let then = then.threads.get(tid).copied().unwrap_or_default();
            // A new thread with the id of one that has ended.
            let then = if now.is_older(then) {
                Thread::default()
            } else {
                then
            };
            ran_ns += now.ran_ns - then.ran_ns;
            used.busy_threads += u64::from(now.ran_ns > then.ran_ns);
            used.voluntary_switches += now.voluntary - then.voluntary;
            used.involuntary_switches += now.involuntary - then.involuntary;
        }
        ran_ns
    }
}

impl Thread {
    fn read(pid: i32, tid: i32) -> Option<Thread> {
        let folder = format!("/proc/{pid}/task/{tid}");
        let schedule = Schedstat::from_file(format!("{folder}/schedstat")).ok()?;
        let status = Status::from_file(format!("{folder}/status")).ok()?;
        Some(Thread {
            ran_ns: schedule.sum_exec_runtime,
            voluntary: status.voluntary_ctxt_switches?,
            involuntary: status.nonvoluntary_ctxt_switches?,
        })
    }

    /// It has less of something than `other`, so it is no later state of it.
    fn is_older(self, other: Thread) -> bool {
        self.ran_ns < other.ran_ns
            || self.voluntary < other.voluntary
            || self.involuntary < other.involuntary
    }
}

fn threads_of(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let names = entries.into_iter().flatten().flatten();
    names
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> u64 {
    let whole = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    u64::try_from(whole).unwrap_or(0)
}

fn unseen_switches(ran_ns: u64, seen_ns: u64) -> Option<Unavailable> {
    let unseen_ns = ran_ns.saturating_sub(seen_ns);
    if unseen_ns <= ran_ns / SHARE_UNSEEN {
        return None;
    }
    let share = (unseen_ns as f64 / ran_ns as f64 * 100.0).round();
    Some(Unavailable {
        what: "context switches and threads".to_owned(),
        why: format!(
            "threads that ended meanwhile used {share} % of the CPU time, and /proc no longer knows their switches"
        ),
        remedy: None,
    })
}

fn ended_processes(ended: usize) -> Option<Unavailable> {
    let processes = if ended == 1 { "process" } else { "processes" };
    (ended > 0).then(|| Unavailable {
        what: "context switches and page faults".to_owned(),
        why: format!("the figures are lower bounds: {ended} {processes} ended meanwhile"),
        remedy: None,
    })
}

#[cfg(test)]
mod tests {
    use prony_testkit::contains;

    use super::*;

    fn thread(ran_ns: u64, voluntary: u64, involuntary: u64) -> Thread {
        Thread {
            ran_ns,
            voluntary,
            involuntary,
        }
    }

    fn process(started: u64, ran_ns: u64, threads: &[(i32, Thread)]) -> Process {
        Process {
            started,
            minor_faults: 10 * started,
            ran_ns,
            anonymous_bytes: 1000 * started,
            threads: threads.iter().copied().collect(),
            ..Process::default()
        }
    }

    /// What processes 7 and 8 used between two readings.
    fn used<const N: usize, const M: usize>(before: [Process; N], after: [Process; M]) -> Used {
        let activity = |processes: &[Process]| Activity {
            processes: (7..).zip(processes.iter().cloned()).collect(),
        };
        activity(&after).since(&activity(&before))
    }

    #[test]
    fn threads_count_since_the_earlier_figures_or_since_their_start() {
        let before = [(7, thread(100, 5, 5)), (8, thread(50, 1, 1))];
        let after = [
            (7, thread(300, 9, 6)),
            (8, thread(50, 1, 1)),
            (9, thread(10, 2, 0)),
        ];
        let used = used([process(1, 150, &before)], [process(1, 360, &after)]);
        assert_eq!((used.voluntary_switches, used.involuntary_switches), (6, 1));
        assert_eq!((used.busy_threads, used.unavailable), (2, vec![]));
    }

    #[test]
    fn reused_ids_count_from_zero() {
        let [old, new] = [thread(900, 9, 9), thread(30, 3, 3)];
        // The first process has ended.
        let processes = used(
            [process(1, 900, &[(7, old)])],
            [process(2, 30, &[(7, new)])],
        );
        assert_eq!(processes.voluntary_switches, 3);
        assert_eq!(processes.anonymous_growth_bytes, 2000);
        assert_eq!(processes.unavailable.len(), 1, "{processes:?}");
        let threads = used(
            [process(1, 900, &[(8, old)])],
            [process(1, 930, &[(8, new)])],
        );
        assert_eq!(threads.voluntary_switches, 3);
    }

    #[test]
    fn threads_that_ended_are_not_lost_silently() {
        let [before, after] = [thread(100, 1, 1), thread(200, 2, 1)];
        let ended = used(
            [process(1, 100, &[(7, before)])],
            [process(1, 300, &[(7, after)])],
        );
        assert_eq!(ended.voluntary_switches, 1);
        contains(&ended.unavailable[0].why, "used 50 % of the CPU time");
        // A process that has left its faults to its parent.
        let mut parent = process(1, 100, &[]);
        parent.minor_faults = 45;
        let left = used([process(1, 100, &[]), process(3, 100, &[])], [parent]);
        assert_eq!(left.minor_faults, 45 - 40);
        let why = &left.unavailable[0].why;
        assert!(why.ends_with("1 process ended meanwhile"), "{why}");
    }
}
