//! A process with all its descendants.

use std::collections::{BTreeSet, HashMap};
use std::io;

use super::process::{
    CpuTime, Stat, ids, peak_resident_bytes, proportional_bytes, resident_bytes, threads_of,
};

/// The processes of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTree {
    roots: Roots,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Roots {
    /// The processes below a supervisor.
    ///
    /// The supervisor is the root, because it becomes the parent of orphaned processes of the tree, and gets their CPU
    /// time when they end. The supervisor itself is not counted.
    Supervisor(i32),
    /// These processes, and those below them.
    Processes(Vec<i32>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeUsage {
    /// CPU time in user mode since its start, in seconds, including ended processes.
    pub cpu_user_s: f64,
    /// CPU time in the kernel since its start, in seconds, including ended processes.
    pub cpu_system_s: f64,
    /// Its current memory in bytes: the resident set of a single process, or the sum of the proportional sets of
    /// several.
    pub resident_bytes: u64,
    /// Its current number of processes.
    pub processes: u32,
}

impl ProcessTree {
    /// The tree below the supervisor of this process id.
    pub(crate) fn under_supervisor(supervisor: i32) -> ProcessTree {
        let roots = Roots::Supervisor(supervisor);
        ProcessTree { roots }
    }

    /// These processes with all their descendants.
    pub(crate) fn of(processes: Vec<i32>) -> ProcessTree {
        let roots = Roots::Processes(processes);
        ProcessTree { roots }
    }

    /// The ids of its processes.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        match &self.roots {
            Roots::Supervisor(supervisor) => descendants(*supervisor),
            Roots::Processes(processes) => Ok(with_descendants(processes)),
        }
    }

    /// Its usage.
    ///
    /// # Errors
    /// If it has ended, or the system does not report it.
    pub fn usage(&self) -> io::Result<TreeUsage> {
        let pids = self.pids()?;
        let cpu = self.cpu(&pids)?;
        Ok(TreeUsage {
            cpu_user_s: cpu.user_s,
            cpu_system_s: cpu.system_s,
            resident_bytes: memory_of(&pids),
            processes: u32::try_from(pids.len()).unwrap_or(u32::MAX),
        })
    }

    /// CPU time since its start, including ended processes, in seconds.
    ///
    /// # Errors
    /// If it has ended, or the system does not report it.
    pub fn cpu_s(&self) -> io::Result<f64> {
        Ok(self.cpu(&self.pids()?)?.total_s())
    }

    /// Its peak memory as far as the kernel knows it, in bytes: the peak of a single process; for several, their
    /// current memory.
    pub fn peak_bytes(&self) -> io::Result<u64> {
        Ok(peak_memory_of(&self.pids()?))
    }

    /// The ids of its threads.
    pub fn threads(&self) -> io::Result<BTreeSet<i32>> {
        Ok(self.pids()?.into_iter().flat_map(threads_of).collect())
    }

    /// CPU time since its start.
    pub(super) fn cpu(&self, pids: &[i32]) -> io::Result<CpuTime> {
        let mut total = match &self.roots {
            Roots::Supervisor(supervisor) => Stat::read(*supervisor)?.ended_children,
            Roots::Processes(_) => CpuTime::default(),
        };
        for &pid in pids {
            // A process that is just ending is missed here, and counted with its parent the next time.
            if let Ok(cpu) = Stat::cpu_with_children(pid) {
                total = total.plus(cpu);
            }
        }
        Ok(total)
    }
}

/// The current memory of processes: the resident set of one, the proportional sets of several.
pub(crate) fn memory_of(pids: &[i32]) -> u64 {
    match pids {
        [only] => resident_bytes(*only).unwrap_or(0),
        several => several.iter().filter_map(|&p| proportional_bytes(p)).sum(),
    }
}

/// The peak of a single process, which the kernel keeps, or the current memory of several.
pub(crate) fn peak_memory_of(pids: &[i32]) -> u64 {
    match pids {
        [only] => peak_resident_bytes(*only).unwrap_or(0),
        several => memory_of(several),
    }
}

/// These processes and all their descendants, each once, without those that have ended.
pub(crate) fn with_descendants(processes: &[i32]) -> Vec<i32> {
    let mut all = processes.to_vec();
    for &process in processes {
        all.extend(descendants(process).unwrap_or_default());
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|&process| Stat::read(process).is_ok());
    all
}

/// Every descendant of `root`, parents before their children, without `root`.
pub(crate) fn descendants(root: i32) -> io::Result<Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in ids()? {
        // Processes may end while they are listed.
        if let Ok(stat) = Stat::read(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    Ok(found)
}
