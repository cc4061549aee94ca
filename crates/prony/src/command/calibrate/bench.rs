//! On what everything is measured, and for how long.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_model::CpuAssignment;

use crate::reference_server::{ReferenceServer, ReferenceServers, Serving};

/// The CPUs, the reference server, and how long each measurement takes.
pub struct CalibrationBench<'a> {
    pub cpus: CpuAssignment,
    pub servers: ReferenceServers,
    pub times: MeasuringTimes,
    pub interrupt: &'a AtomicBool,
}

impl CalibrationBench<'_> {
    /// The generator's one CPU.
    pub fn load_cpu(&self) -> &[usize] {
        &self.cpus.load[..1.min(self.cpus.load.len())]
    }

    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    pub fn server(&self) -> Result<ReferenceServer, Box<dyn Error>> {
        self.servers.start(&Serving::default(), self.interrupt)
    }
}

/// How long each measurement takes, and at which rates.
#[derive(Clone, Debug)]
pub struct MeasuringTimes {
    /// For each way of waiting.
    pub wakeups: Duration,
    /// For each pair of CPUs.
    pub round_trips: Duration,
    /// Of the closed loop, and its warm-up.
    pub engine: Duration,
    pub engine_warmup: Duration,
    /// Of each rate, at least, and its warm-up.
    pub rate: Duration,
    pub rate_warmup: Duration,
    /// A low rate lasts until this many requests were due, so that its percentiles are supported.
    pub rate_requests: f64,
    /// In requests per second, ascending.
    pub rates: &'static [f64],
}

impl MeasuringTimes {
    pub fn usual() -> Self {
        Self {
            wakeups: Duration::from_millis(1300),
            round_trips: Duration::from_secs(1),
            engine: Duration::from_secs(2),
            engine_warmup: Duration::from_millis(300),
            rate: Duration::from_millis(600),
            rate_warmup: Duration::from_millis(100),
            rate_requests: 1200.0,
            rates: &[1e3, 2e3, 5e3, 10e3, 20e3, 50e3],
        }
    }

    pub fn quick() -> Self {
        Self {
            wakeups: Duration::from_millis(200),
            round_trips: Duration::from_millis(250),
            engine: Duration::from_millis(600),
            engine_warmup: Duration::from_millis(100),
            rate: Duration::from_millis(250),
            rate_warmup: Duration::from_millis(50),
            rate_requests: 0.0,
            rates: &[1e3, 5e3, 20e3, 50e3],
        }
    }

    /// How long a rate is measured.
    pub fn duration_at(&self, per_s: f64) -> Duration {
        let enough = Duration::from_secs_f64(self.rate_requests / per_s);
        self.rate.max(enough)
    }
}
