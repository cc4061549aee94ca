//! The figures of a load that objectives look at.

use prony_model::{Ended, HistogramError, LatencyHistogram, LoadResult, Outcome};

use crate::objective::Objective;

/// The figures of one load, or of several together.
#[derive(Clone, Debug, Default)]
pub struct LoadFigures {
    /// Of the ok responses.
    pub latency: LatencyHistogram,
    /// Ok responses.
    pub ok: u64,
    /// Requests without an expected response.
    pub errors: u64,
    /// How long was measured, in seconds.
    pub seconds: f64,
}

impl LoadFigures {
    /// Takes the figures from a load.
    ///
    /// # Errors
    /// If its histogram cannot be read.
    pub fn of(load: &LoadResult) -> Result<Self, HistogramError> {
        Ok(Self {
            latency: LatencyHistogram::from_base64(&load.histogram)?,
            ok: load.outcomes[Outcome::Ok],
            errors: load.outcomes.errors() + without_response(load),
            seconds: load.duration_s,
        })
    }

    /// Adds those of another load.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.ok += other.ok;
        self.errors += other.errors;
        self.seconds += other.seconds;
    }

    /// The share (0 to 1) of requests without an expected response.
    pub fn error_share(&self) -> f64 {
        self.errors as f64 / (self.ok + self.errors).max(1) as f64
    }

    /// The figure that an objective limits: nanoseconds, a share (0 to 1), or responses per second. `None` for a latency
    /// without a response.
    pub fn figure(&self, objective: &Objective) -> Option<f64> {
        match objective {
            Objective::Latency { statistic, .. } => statistic.of(&self.latency),
            Objective::Errors { .. } => Some(self.error_share()),
            Objective::Rate { .. } if self.seconds > 0.0 => Some(self.ok as f64 / self.seconds),
            Objective::Rate { .. } => None,
        }
    }
}

/// The requests of an open loop that were due and had no response within the time allowed. In a closed loop a request in
/// flight at the end says nothing, and neither does one of a load that was cut short.
pub(crate) fn without_response(load: &LoadResult) -> u64 {
    match load.ended {
        Ended::Interrupted => 0,
        _ if load.open.is_none() => 0,
        _ => load.outcomes[Outcome::Unfinished],
    }
}
