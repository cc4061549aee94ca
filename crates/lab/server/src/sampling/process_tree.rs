//! A process with all its descendants.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use prony_kernel::ThrottleMeter;

use super::process::{
    CpuTime, Stat, cpus_of, ids, own_pid, peak_resident_bytes, proportional_bytes, resident_bytes,
    threads_of,
};
use crate::port::holders_at;

/// The first process, which may hold a socket for a server that it has started (systemd), and from which every process
/// descends.
const FIRST_PROCESS: i32 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTree {
    roots: Vec<i32>,
    /// Whether the root is a supervisor: it becomes the parent of orphaned processes of the tree, and gets their CPU time
    /// when they end. It is not counted itself.
    is_supervised: bool,
}

/// Why the CPU time and the memory of a server that already runs cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasured {
    Elsewhere,
    /// Prony may not look into the process that listens.
    Hidden,
    /// This program listens, and passes connections on.
    Forwarded(String),
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere => f.write_str("its address is not one of this machine"),
            Self::Hidden => f.write_str(
                "the process that listens on its port belongs to another user or runs in a container",
            ),
            Self::Forwarded(program) => write!(
                f,
                "`{program}` listens on its port and passes the connections on"
            ),
        }
    }
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
    pub processes: u32,
}

impl TreeUsage {
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }
}

impl ProcessTree {
    pub(crate) fn under_supervisor(supervisor: i32) -> ProcessTree {
        ProcessTree {
            roots: vec![supervisor],
            is_supervised: true,
        }
    }

    pub(crate) fn of(roots: Vec<i32>) -> ProcessTree {
        ProcessTree {
            roots,
            is_supervised: false,
        }
    }

    /// The process of this id with its descendants; `None` if there is no such process.
    pub fn of_process(pid: i32) -> Option<ProcessTree> {
        Stat::read(pid).is_ok().then(|| ProcessTree::of(vec![pid]))
    }

    /// The processes that listen at an address, with their descendants: a server that Prony did not start.
    pub fn at(address: SocketAddr) -> Result<ProcessTree, Unmeasured> {
        // Only addresses of this machine can be bound.
        if UdpSocket::bind((address.ip(), 0)).is_err() {
            return Err(Unmeasured::Elsewhere);
        }
        let mut holders = holders_at(address).ok_or(Unmeasured::Hidden)?;
        holders.retain(|&pid| pid != FIRST_PROCESS);
        // What this process uses is the load's, even if it is the server too. A child that it has just started holds its
        // sockets until it executes its program.
        if holders.is_empty() || holders.contains(&own_pid()) {
            return Err(Unmeasured::Hidden);
        }
        Ok(ProcessTree::of(holders))
    }

    pub(crate) fn roots(&self) -> &[i32] {
        &self.roots
    }

    /// The ids of its processes, without those that have ended and without this process.
    pub fn pids(&self) -> io::Result<Vec<i32>> {
        if self.is_supervised {
            return descendants(&self.roots);
        }
        let parents = self.roots.iter().copied();
        let parents: Vec<i32> = parents.filter(|&pid| pid != FIRST_PROCESS).collect();
        let mut all = descendants(&parents)?;
        all.extend(&self.roots);
        all.sort_unstable();
        all.dedup();
        all.retain(|&pid| pid != own_pid() && Stat::read(pid).is_ok());
        Ok(all)
    }

    /// Its usage. Reads all of `/proc`, which takes about a millisecond.
    pub fn usage(&self) -> io::Result<TreeUsage> {
        let pids = self.pids()?;
        if pids.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let cpu = self.cpu(&pids)?;
        Ok(TreeUsage {
            cpu_user_s: cpu.user_s,
            cpu_system_s: cpu.system_s,
            resident_bytes: memory_of(&pids),
            processes: u32::try_from(pids.len()).unwrap_or(u32::MAX),
        })
    }

    /// CPU time since its start, including ended processes, in seconds.
    pub fn cpu_s(&self) -> io::Result<f64> {
        Ok(self.cpu(&self.pids()?)?.total_s())
    }

    /// Its peak memory as far as the kernel knows it, in bytes: the peak of a single process; for several, their
    /// current memory.
    pub fn peak_bytes(&self) -> io::Result<u64> {
        Ok(peak_memory_of(&self.pids()?))
    }

    pub fn threads(&self) -> io::Result<BTreeSet<i32>> {
        Ok(self.pids()?.into_iter().flat_map(threads_of).collect())
    }

    /// The CPUs on which it may run; none if that is unknown.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let pids = self.pids().unwrap_or_default().into_iter();
        let cpus: BTreeSet<usize> = pids.filter_map(cpus_of).flatten().collect();
        cpus.into_iter().collect()
    }

    pub fn quota(&self) -> ThrottleMeter {
        ThrottleMeter::of(&self.pids().unwrap_or_default())
    }

    pub(super) fn cpu(&self, pids: &[i32]) -> io::Result<CpuTime> {
        let mut total = CpuTime::default();
        for &supervisor in self.roots.iter().filter(|_| self.is_supervised) {
            total = total.plus(Stat::read(supervisor)?.ended_children);
        }
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
fn memory_of(pids: &[i32]) -> u64 {
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

/// Every descendant of these processes, parents before their children.
pub(crate) fn descendants(roots: &[i32]) -> io::Result<Vec<i32>> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in ids()? {
        // Processes may end while they are listed.
        if let Ok(stat) = Stat::read(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let of_roots = roots.iter().filter_map(|root| children.remove(root));
    let mut found: Vec<i32> = of_roots.flatten().collect();
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    Ok(found)
}
