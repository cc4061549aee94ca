//! Machines: which runs were on the same one, as far as the records tell.

use prony_model::{Machine, quota};
use prony_present::number::bytes;
use prony_present::words::plural;

/// The hardware in words, which is all that distinguishes a machine: `Example CPU 3000, 2 CPUs, 8 GiB, virtual machine (KVM)`. A
/// record has no name of a host, so two machines of one kind are one.
pub(crate) fn hardware(machine: &Machine) -> String {
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
    parts.join(", ")
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

/// The system on a machine, which may change while the machine stays.
pub(crate) fn system(machine: &Machine) -> impl PartialEq {
    (
        &machine.os,
        &machine.kernel,
        &machine.governor,
        &machine.mitigations,
        &machine.tcp_settings,
    )
}
