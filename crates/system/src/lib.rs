//! The machine that Prony runs on: what can be seen of it, which CPUs may be used, and its clock.
#![forbid(unsafe_code)]

mod clock;
mod cpus;
mod machine;

pub use clock::monotonic_ns;
pub use cpus::{
    CpuListError, allowed_cpus, default_assignment, format_cpu_list, parse_cpu_list,
    pin_current_thread, usable_cpus,
};
pub use machine::detect_machine;
