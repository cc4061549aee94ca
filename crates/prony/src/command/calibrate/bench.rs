//! On what everything is measured, and for how long.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_model::CpuAssignment;

use crate::reference_server::{ReferenceServer, ReferenceServers, Serving};

/// The CPUs, the reference server, and how long each measurement takes.
pub(crate) struct CalibrationBench<'a> {
    pub(crate) cpus: CpuAssignment,
    pub(crate) servers: ReferenceServers,
    pub(crate) times: MeasuringTimes,
    pub(crate) interrupt: &'a AtomicBool,
}

impl CalibrationBench<'_> {
    /// The generator's one CPU.
    pub(crate) fn load_cpu(&self) -> &[usize] {
        &self.cpus.load[..1.min(self.cpus.load.len())]
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.load(Relaxed)
    }

    pub(crate) fn server(&self) -> Result<ReferenceServer, Box<dyn Error>> {
        self.servers.start(&Serving::default(), self.interrupt)
    }
}

/// How long each measurement takes, and at which rates.
#[derive(Clone, Debug)]
pub(crate) struct MeasuringTimes {
    /// For each way of waiting.
    pub(crate) wakeups: Duration,
    /// For each pair of CPUs.
    pub(crate) round_trips: Duration,
    /// Of the closed loop, and its warm-up.
    pub(crate) engine: Duration,
    pub(crate) engine_warmup: Duration,
    /// Of each rate, at least, and its warm-up.
    pub(crate) rate: Duration,
    pub(crate) rate_warmup: Duration,
    /// A low rate lasts until this many requests were due, so that its percentiles are supported.
    pub(crate) rate_requests: f64,
    /// In requests per second, ascending.
    pub(crate) rates: &'static [f64],
}

impl MeasuringTimes {
    pub(crate) fn usual() -> Self {
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

    pub(crate) fn quick() -> Self {
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
    pub(crate) fn duration_at(&self, per_s: f64) -> Duration {
        let enough = Duration::from_secs_f64(self.rate_requests / per_s);
        self.rate.max(enough)
    }
}
