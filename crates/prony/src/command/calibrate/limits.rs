//! How long each measurement takes.

use std::time::Duration;

/// How long each measurement takes, and at which rates.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For each way of waiting.
    pub wakeups: Duration,
    /// For each pair of CPUs.
    pub round_trips: Duration,
    /// Of the closed loop, and its warm-up.
    pub engine: Duration,
    pub engine_warmup: Duration,
    /// Of each rate at the least, and its warm-up.
    pub rate: Duration,
    pub rate_warmup: Duration,
    /// A low rate goes on until so many requests were due, for its percentiles' sake.
    pub rate_requests: f64,
    /// In requests a second, ascending.
    pub rates: &'static [f64],
}

impl Limits {
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

    /// How long a rate is kept up.
    pub fn duration_at(&self, per_s: f64) -> Duration {
        let enough = Duration::from_secs_f64(self.rate_requests / per_s);
        self.rate.max(enough)
    }
}
