//! All processes of the machine, and the CPU time of each.

use std::collections::HashMap;
use std::fs;
use std::io;

use super::stat::Stat;

/// The CPU time of each process since it started, in seconds, including that of ended children it has waited for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessTimes {
    by_process: HashMap<i32, f64>,
}

impl ProcessTimes {
    /// Reads them now; `None` if Prony cannot see every process, as in most containers.
    pub fn read() -> Option<ProcessTimes> {
        if !sees_all() {
            return None;
        }
        let one = |pid| Some((pid, Stat::cpu_with_children(pid).ok()?.total_s()));
        let by_process = ids().ok()?.into_iter().filter_map(one).collect();
        Some(ProcessTimes { by_process })
    }

    /// The CPU time that all processes have used since `earlier`, in seconds. It errs on the high side: if a process has
    /// ended since, its parent is charged for its whole life, including the time before `earlier`. Only a process that
    /// nobody waited for is missed.
    pub fn since(&self, earlier: &ProcessTimes) -> f64 {
        let used = self.by_process.iter().map(|(pid, now_s)| {
            // A process that has used less than before is another one with the same id.
            let then_s = earlier
                .by_process
                .get(pid)
                .filter(|then_s| *then_s <= now_s);
            now_s - then_s.copied().unwrap_or(0.0)
        });
        used.sum()
    }

    #[cfg(test)]
    pub fn of(by_process: &[(i32, f64)]) -> ProcessTimes {
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

/// The ids of all processes that Prony can see.
///
/// # Errors
/// If the system does not list them.
pub fn ids() -> io::Result<Vec<i32>> {
    let mut ids = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        ids.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn an_id_that_another_process_has_now_is_not_counted_from_the_old_one() {
        let earlier = ProcessTimes::of(&[(7, 100.0), (8, 1.0)]);
        let now = ProcessTimes::of(&[(7, 0.25), (8, 1.5)]);
        assert_eq!(now.since(&earlier), 0.75);
    }

    #[test]
    fn what_this_process_uses_is_seen() {
        let Some(start) = ProcessTimes::read() else {
            // A container.
            return assert!(!sees_all());
        };
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {}
        let end = ProcessTimes::read().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let own_s = end.by_process[&own] - start.by_process[&own];
        assert!(own_s > 0.0 && end.since(&start) >= own_s, "{own_s}");
    }
}
