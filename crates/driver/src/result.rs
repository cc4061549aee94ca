//! What one run of a tool gave.

use serde::Serialize;

use crate::counters::Counts;
use crate::process::Usage;
use crate::reading::Told;

/// What one run of a tool gave: its own word, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriverResult {
    /// The driver's id.
    pub driver: String,
    /// The tool's version, where it tells it.
    pub version: Option<String>,
    /// The command.
    pub command: Vec<String>,
    /// What it told.
    pub told: Told,
    /// What it used, its start and end included.
    pub usage: Usage,
    /// Cycles and instructions, where they were counted.
    pub counts: Option<Counts>,
}

impl DriverResult {
    /// CPU time an expected response, in nanoseconds; `None` without one.
    pub fn cpu_ns_per_request(&self) -> Option<f64> {
        self.per_request(self.usage.cpu_s() * 1e9)
    }

    /// Cycles an expected response, where they were counted.
    pub fn cycles_per_request(&self) -> Option<f64> {
        self.per_request(self.counts?.cycles as f64)
    }

    /// Instructions an expected response, where they were counted.
    pub fn instructions_per_request(&self) -> Option<f64> {
        self.per_request(self.counts?.instructions as f64)
    }

    /// The share (0 to 1) of its CPU time that was in the kernel; `None` where it used none.
    pub fn kernel_share(&self) -> Option<f64> {
        let cpu_s = self.usage.cpu_s();
        (cpu_s > 0.0).then(|| self.usage.cpu_system_s / cpu_s)
    }

    fn per_request(&self, whole: f64) -> Option<f64> {
        (self.told.ok > 0).then(|| whole / self.told.ok as f64)
    }
}
