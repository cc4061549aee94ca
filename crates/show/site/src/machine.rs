//! Machines: which runs were on the same one, as far as the records tell.

use prony_model::{Machine, Run, quota};
use prony_present::number::bytes;
use prony_present::words::plural;

/// What distinguishes a machine: its hardware. A record has no name of a host, so two machines of one kind are one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MachineKey {
    /// The hardware in words: `Example CPU 3000, 2 CPUs, 8 GiB, virtual machine (KVM)`.
    pub(crate) name: String,
}

impl MachineKey {
    pub(crate) fn of(run: &Run) -> Self {
        let machine = &run.machine;
        let model = if machine.cpu_model.is_empty() {
            "unknown CPU"
        } else {
            &machine.cpu_model
        };
        let mut parts = vec![model.to_owned(), plural(machine.cpus, "CPU")];
        let limit = machine.cpu_quota;
        parts.extend(limit.map(|cpus| format!("CPU quota of {}", quota(cpus))));
        parts.extend(memory(machine));
        parts.extend(machine.virtualization.clone());
        Self {
            name: parts.join(", "),
        }
    }
}

/// Rounded, because kernels reserve different amounts for themselves.
fn memory(machine: &Machine) -> Option<String> {
    let gibibyte = (1u64 << 30) as f64;
    let size = machine.memory_bytes as f64;
    match machine.memory_bytes {
        0 => None,
        _ if size < gibibyte => Some(bytes(size)),
        _ => Some(format!("{:.0} GiB", size / gibibyte)),
    }
}

/// The system on a machine, which may change while the machine stays: what a page of the machine describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct System {
    /// Operating system.
    pub(crate) os: String,
    /// Kernel release.
    pub(crate) kernel: String,
    /// CPU frequency governor, if visible.
    pub(crate) governor: Option<String>,
    /// Active mitigations.
    pub(crate) mitigations: Vec<String>,
    /// TCP and socket settings.
    pub(crate) tcp_settings: Vec<String>,
}

impl System {
    pub(crate) fn of(run: &Run) -> Self {
        let machine = run.machine.clone();
        Self {
            os: machine.os,
            kernel: machine.kernel,
            governor: machine.governor,
            mitigations: machine.mitigations,
            tcp_settings: machine.tcp_settings,
        }
    }
}
