//! Processes as `/proc` shows them: CPU time, memory, parents.

use std::collections::HashMap;
use std::ffi::OsString;
use std::{fs, io};

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};
use procfs_core::{FromRead, process};
use prony_kernel::parse_cpu_list;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuTime {
    pub user_s: f64,
    pub system_s: f64,
}

impl CpuTime {
    pub(crate) fn plus(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
        }
    }

    pub(crate) fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    /// Another total, divided in the same proportion.
    fn scaled_to(self, total_s: f64) -> CpuTime {
        let whole = self.total_s();
        if whole <= 0.0 {
            // Less than a tick so far: the proportion is unknown.
            return CpuTime {
                user_s: total_s,
                system_s: 0.0,
            };
        }
        CpuTime {
            user_s: self.user_s * total_s / whole,
            system_s: self.system_s * total_s / whole,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stat {
    pub parent: i32,
    pub own: CpuTime,
    /// CPU time of the ended children that it has waited for, and of theirs.
    pub(crate) ended_children: CpuTime,
}

impl Stat {
    pub(crate) fn read(pid: i32) -> io::Result<Stat> {
        let stat = process::Stat::from_file(format!("/proc/{pid}/stat"));
        let stat = stat.map_err(io::Error::other)?;
        let second = ticks_per_second();
        Ok(Stat {
            parent: stat.ppid,
            own: CpuTime {
                user_s: stat.utime as f64 / second,
                system_s: stat.stime as f64 / second,
            },
            ended_children: CpuTime {
                user_s: stat.cutime as f64 / second,
                system_s: stat.cstime as f64 / second,
            },
        })
    }

    /// CPU time of a process, and of its children that have ended.
    pub(crate) fn cpu_with_children(pid: i32) -> io::Result<CpuTime> {
        let stat = Stat::read(pid)?;
        Ok(stat.precise_cpu(pid).plus(stat.ended_children))
    }

    /// The process's own CPU time, in nanoseconds if the kernel has it, else in ticks.
    fn precise_cpu(&self, pid: i32) -> CpuTime {
        match process_clock_s(pid) {
            Some(total_s) => self.own.scaled_to(total_s),
            None => self.own,
        }
    }
}

/// The CPU clock of a process, which includes threads that have ended.
fn process_clock_s(pid: i32) -> Option<f64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// How many ticks per second the kernel counts in `/proc`.
pub(crate) fn ticks_per_second() -> f64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(ticks)) if ticks > 0 => ticks as f64,
        _ => 100.0,
    }
}

/// The value of a line in a file of `/proc`, such as `VmHWM:` in `status`.
///
/// `procfs-core` parses every line of `status`, which takes 25 µs instead of 15.
pub(crate) fn value_of_line(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().to_owned())
}

fn memory_line(pid: i32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let kib: u64 = value_of_line(&text, name)?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(kib * 1024)
}

pub(crate) fn resident_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "status", "VmRSS:")
}

pub(crate) fn peak_resident_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "status", "VmHWM:")
}

pub(crate) fn proportional_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "smaps_rollup", "Pss:").or_else(|| resident_bytes(pid))
}

/// The CPU time of each process since it started, in seconds, including that of ended children it has waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProcessTimes {
    by_process: HashMap<i32, f64>,
}

impl ProcessTimes {
    /// Reads them now; `None` if Prony cannot see every process, as in most containers.
    pub(crate) fn read() -> Option<ProcessTimes> {
        if !sees_all() {
            return None;
        }
        let one = |pid| Some((pid, Stat::cpu_with_children(pid).ok()?.total_s()));
        let by_process = ids().ok()?.into_iter().filter_map(one).collect();
        Some(ProcessTimes { by_process })
    }

    /// The CPU time that all processes have used since `earlier`, in seconds. It errs on the high side: if a process has
    /// ended since, its parent is charged for its whole life, including the time before `earlier`. Only a process that
    /// was never waited for is missed.
    pub(crate) fn since(&self, earlier: &ProcessTimes) -> f64 {
        let used = self.by_process.iter().map(|(pid, now_s)| {
            // A process that has used less than before is a new one with the same id.
            let then_s = earlier
                .by_process
                .get(pid)
                .filter(|then_s| *then_s <= now_s);
            now_s - then_s.copied().unwrap_or(0.0)
        });
        used.sum()
    }

    #[cfg(test)]
    pub(crate) fn of(by_process: &[(i32, f64)]) -> ProcessTimes {
        ProcessTimes {
            by_process: by_process.iter().copied().collect(),
        }
    }
}

/// `kthreadd`, which starts all other kernel threads, always has the id 2. It is invisible inside a PID namespace, and if
/// `/proc` hides other users' processes (`hidepid`).
fn sees_all() -> bool {
    fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim_end() == "kthreadd")
}

pub(crate) fn own_pid() -> i32 {
    Pid::this().as_raw()
}

pub(crate) fn cpus_of(pid: i32) -> Option<Vec<usize>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_cpu_list(&value_of_line(&status, "Cpus_allowed_list:")?).ok()
}

/// The ids of all processes that Prony can see.
pub(crate) fn ids() -> io::Result<Vec<i32>> {
    numbers_in("/proc")?.collect()
}

/// The ids of a process's threads; none if it has ended.
pub(crate) fn threads_of(pid: i32) -> Vec<i32> {
    let threads = numbers_in(&format!("/proc/{pid}/task"));
    threads.into_iter().flatten().flatten().collect()
}

fn numbers_in(folder: &str) -> io::Result<impl Iterator<Item = io::Result<i32>> + use<>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    Ok(names.filter_map(|name: io::Result<OsString>| {
        name.map(|name| name.to_str()?.parse().ok()).transpose()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::until;

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let pid = Pid::this().as_raw();
        let stat = Stat::read(pid).unwrap();
        assert_eq!(stat.parent, Pid::parent().as_raw());
        assert!(stat.precise_cpu(pid).total_s() > 0.0);
        // The peak last: other tests use more memory meanwhile.
        assert!(resident_bytes(pid).unwrap() / 2 <= peak_resident_bytes(pid).unwrap());
        assert!(proportional_bytes(pid).unwrap() > 0);
    }

    #[test]
    fn a_reused_process_id_counts_from_zero() {
        let earlier = ProcessTimes::of(&[(7, 100.0), (8, 1.0)]);
        let now = ProcessTimes::of(&[(7, 0.25), (8, 1.5)]);
        assert_eq!(now.since(&earlier), 0.75);
    }

    #[test]
    fn the_usage_of_this_process_is_visible() {
        let Some(start) = ProcessTimes::read() else {
            // In a container.
            return assert!(!sees_all());
        };
        let own = i32::try_from(std::process::id()).unwrap();
        let (end, own_s) = until("CPU time of this process", || {
            let end = ProcessTimes::read().unwrap();
            let own_s = end.by_process[&own] - start.by_process[&own];
            (own_s > 0.0).then_some((end, own_s))
        });
        assert!(end.since(&start) >= own_s, "{own_s}");
    }
}
