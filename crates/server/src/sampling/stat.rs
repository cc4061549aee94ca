//! One process's numbers in `/proc/<pid>`.

use std::fs;
use std::io;

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// CPU time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTime {
    pub user_s: f64,
    pub system_s: f64,
}

impl CpuTime {
    pub fn plus(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
        }
    }

    pub fn total_s(self) -> f64 {
        self.user_s + self.system_s
    }

    /// The same parts of another whole.
    fn scaled_to(self, total_s: f64) -> CpuTime {
        let whole = self.total_s();
        if whole <= 0.0 {
            // Less than a tick so far: which part it was cannot be told.
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

/// The parts of `/proc/<pid>/stat` that are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stat {
    pub parent: i32,
    pub own: CpuTime,
    /// Of the children that have ended and that it has waited for, and of theirs.
    pub ended_children: CpuTime,
}

impl Stat {
    pub fn read(pid: i32) -> io::Result<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Stat::parse(&text, ticks_per_second())
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "odd /proc/<pid>/stat"))
    }

    fn parse(text: &str, ticks_per_second: f64) -> Option<Stat> {
        // The name may hold anything, spaces and brackets too; what follows its last bracket does not.
        let (_, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        // proc(5) numbers fields from 1; the state, number 3, is the first here.
        let field = |number: usize| fields.get(number - 3).copied();
        let seconds = |number: usize| {
            let ticks: f64 = field(number)?.parse().ok()?;
            Some(ticks / ticks_per_second)
        };
        let cpu = |user, system| {
            Some(CpuTime {
                user_s: seconds(user)?,
                system_s: seconds(system)?,
            })
        };
        Some(Stat {
            parent: field(4)?.parse().ok()?,
            own: cpu(14, 15)?,
            ended_children: cpu(16, 17)?,
        })
    }

    /// CPU time of a process, and of its children that have ended.
    ///
    /// # Errors
    /// If it has ended.
    pub fn cpu_with_children(pid: i32) -> io::Result<CpuTime> {
        let stat = Stat::read(pid)?;
        Ok(stat.precise_cpu(pid).plus(stat.ended_children))
    }

    /// The process's own CPU time to the nanosecond, where the kernel gives it; else to the tick.
    fn precise_cpu(&self, pid: i32) -> CpuTime {
        match process_clock_s(pid) {
            Some(total_s) => self.own.scaled_to(total_s),
            None => self.own,
        }
    }
}

/// The CPU clock of a process: all its threads, those that have ended too.
fn process_clock_s(pid: i32) -> Option<f64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let time = clock_gettime(clock).ok()?;
    Some(time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9)
}

/// How many ticks the kernel counts a second in `/proc`.
pub fn ticks_per_second() -> f64 {
    match sysconf(SysconfVar::CLK_TCK) {
        Ok(Some(ticks)) if ticks > 0 => ticks as f64,
        _ => 100.0,
    }
}

/// Memory in bytes by the lines of a file of `/proc/<pid>`, such as `VmHWM:  1234 kB`.
pub fn memory_line(pid: i32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// What a process holds in memory now, in bytes.
pub fn resident_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "status", "VmRSS:")
}

/// The most that a process has held in memory, in bytes.
pub fn peak_resident_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "status", "VmHWM:")
}

/// A process's own share of memory, what it shares counted in part; in bytes.
pub fn proportional_bytes(pid: i32) -> Option<u64> {
    memory_line(pid, "smaps_rollup", "Pss:").or_else(|| resident_bytes(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_confuse() {
        let text = "7 (a) b (c) S 5 7 7 0 -1 4194304 1 2 3 4 250 150 30 20 20 0 1 0 99 1 1";
        let stat = Stat::parse(text, 100.0).unwrap();
        assert_eq!(stat.parent, 5);
        assert_eq!((stat.own.user_s, stat.own.system_s), (2.5, 1.5));
        assert_eq!(stat.ended_children.user_s, 0.3);
        assert_eq!(Stat::parse("7 (a) S", 100.0), None);
    }

    #[test]
    fn this_process_has_memory_and_cpu_time() {
        let pid = Pid::this().as_raw();
        let stat = Stat::read(pid).unwrap();
        assert_eq!(stat.parent, Pid::parent().as_raw());
        assert!(stat.precise_cpu(pid).total_s() > 0.0);
        assert!(peak_resident_bytes(pid).unwrap() >= resident_bytes(pid).unwrap() / 2);
        assert!(proportional_bytes(pid).unwrap() > 0);
    }
}
