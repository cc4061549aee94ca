//! The machine that Prony runs on: its description, its CPUs, its programs and its clock.
#![forbid(unsafe_code)]

mod cpus;
mod machine;
mod programs;
mod quota;

use nix::time::{ClockId, clock_gettime};

pub use cpus::{
    CpuListError, allowed_cpus, default_assignment, format_cpu_list, numa_nodes, parse_cpu_list,
    pin_current_thread, usable_cpus,
};
pub use machine::detect_machine;
pub use programs::{is_program, on_path, path_folders};
pub use quota::{ThrottleMeter, cpu_quota, load_threads};

/// Nanoseconds of CLOCK_MONOTONIC: the same in every process of this machine.
pub fn monotonic_ns() -> u64 {
    // The call fails only for clocks that do not exist; this one always does.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_nsec()).unwrap_or(0)
    })
}
