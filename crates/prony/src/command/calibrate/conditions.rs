//! The conditions of this machine's figures.

use std::fs;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use prony_model::{CpuAssignment, Machine, MachineNoise};
use serde::Serialize;

/// What the machine is, and what it allows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Conditions {
    /// The machine.
    pub(crate) machine: Machine,
    /// The CPUs of server and generator.
    pub(crate) cpus: CpuAssignment,
    /// How many files a process may open.
    pub(crate) open_files: Option<OpenFiles>,
    /// The first and the last local port for connections, per address.
    pub(crate) local_ports: Option<[u16; 2]>,
    /// Whether the processor counts its energy; `None` until it was checked.
    pub(crate) energy_is_told: Option<bool>,
    /// The lowest and the highest frequency under load, in MHz; `None` if the system does not show it.
    pub(crate) frequency_mhz: Option<(f64, f64)>,
    /// The share (0 to 1) of CPU time under load that the hypervisor took; `None` until it was checked.
    pub(crate) steal_share: Option<f64>,
}

/// How many files a process may open; each connection is one. `None` if there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OpenFiles {
    /// The current limit.
    pub(crate) now: Option<u64>,
    /// The highest limit that the process may set.
    pub(crate) most: Option<u64>,
}

impl OpenFiles {
    fn see() -> Option<Self> {
        let bound = |limit| (limit != RLIM_INFINITY).then_some(limit);
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        Some(Self {
            now: bound(soft),
            most: bound(hard),
        })
    }
}

impl Conditions {
    /// The conditions that show without a load.
    pub(crate) fn see(cpus: &CpuAssignment) -> Self {
        Self {
            machine: prony_kernel::detect_machine(),
            cpus: cpus.clone(),
            open_files: OpenFiles::see(),
            local_ports: fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
                .ok()
                .and_then(|text| local_ports(&text)),
            energy_is_told: None,
            frequency_mhz: None,
            steal_share: None,
        }
    }

    /// Adds the conditions that show under load.
    pub(crate) fn add(&mut self, noise: &MachineNoise) {
        self.energy_is_told = Some(noise.energy_j.is_some());
        self.frequency_mhz = noise.frequency_mhz;
        self.steal_share = Some(noise.steal_share);
    }
}

fn local_ports(text: &str) -> Option<[u16; 2]> {
    let (first, last) = text.trim().split_once(char::is_whitespace)?;
    Some([first.parse().ok()?, last.trim().parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_ports_is_read() {
        assert_eq!(local_ports("32768\t60999\n"), Some([32768, 60999]));
        assert_eq!(local_ports("all"), None);
    }
}
