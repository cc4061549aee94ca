//! The figures of a load that objectives look at.

use crate::{Ended, HistogramError, LatencyHistogram, LoadResult, Outage, Outcome, Throughput};

use crate::objective::objectives::Objective;

/// If the generator's schedule lag is at least this share of a limit, it may be why the limit was missed.
const OWN_LAG: f64 = 0.5;

/// The figures of one load, or of several together.
#[derive(Clone, Debug, Default)]
pub struct LoadFigures {
    /// Of the ok responses.
    pub latency: LatencyHistogram,
    pub ok: u64,
    /// Requests without an expected response, and flows that failed although none of their requests had.
    pub errors: u64,
    /// What their rate is.
    pub throughput: Throughput,
    /// The schedule lag of the generator; 0 for requests without a due time. Empty if nothing was scheduled.
    lag: LatencyHistogram,
    /// The evidence that the generator may have been the bottleneck.
    client_limited_by: Option<String>,
    /// The longest outage; `None` if there was none.
    pub outage: Option<Outage>,
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
            errors: load.outcomes.errors() + load.failed_without_request() + without_response(load),
            throughput: load.throughput(),
            lag: lag(load)?,
            client_limited_by: load.generator.client_limited_by.clone(),
            outage: Outage::longest(load.outages.iter().copied()),
        })
    }

    /// Adds those of another load.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.ok += other.ok;
        self.errors += other.errors;
        self.throughput.merge(&other.throughput);
        self.lag.merge(&other.lag);
        self.outage = Outage::longest(self.outage.into_iter().chain(other.outage));
        if self.client_limited_by.is_none() {
            self.client_limited_by.clone_from(&other.client_limited_by);
        }
    }

    /// The evidence that the generator may have been the bottleneck.
    pub fn client_limited_by(&self) -> Option<&str> {
        self.client_limited_by.as_deref()
    }

    /// The evidence that the generator, and not the server, may be why an objective was missed: that it was the bottleneck, or
    /// that its schedule lag alone makes the difference.
    pub fn missed_because(&self, objective: &Objective) -> Option<String> {
        let limited = self.client_limited_by.clone();
        limited.or_else(|| self.own_lag(objective))
    }

    fn own_lag(&self, objective: &Objective) -> Option<String> {
        let Objective::Latency { statistic, .. } = objective else {
            return None;
        };
        let (was_ns, lag_ns) = (self.figure(objective)?, statistic.of(&self.lag)?);
        let below_ns = objective.limit();
        (lag_ns >= OWN_LAG * below_ns && was_ns - lag_ns < below_ns).then(|| {
            let ms = lag_ns / 1e6;
            format!(
                "the generator's own schedule lag ({statistic} {ms:.1} ms) is too large to judge {objective}"
            )
        })
    }

    /// The errors as a share (0 to 1) of all requests and of the flows that failed without one.
    pub fn error_share(&self) -> f64 {
        self.errors as f64 / (self.ok + self.errors).max(1) as f64
    }

    /// The figure that an objective limits: nanoseconds, a share (0 to 1), or responses per second. `None` for a latency
    /// without a response, and for errors if no request ended.
    pub fn figure(&self, objective: &Objective) -> Option<f64> {
        match objective {
            Objective::Latency { statistic, .. } => statistic.of(&self.latency),
            Objective::Errors { .. } if self.ok + self.errors == 0 => None,
            Objective::Errors { .. } => Some(self.error_share()),
            Objective::Rate { .. } if self.throughput.seconds > 0.0 => {
                Some(self.throughput.per_s())
            }
            Objective::Rate { .. } => None,
        }
    }

    /// The outage that misses an objective, whatever the figure of the whole load is: objectives hold over time, and in an
    /// outage the rate is 0 and every request an error.
    pub fn missed_in(&self, objective: &Objective) -> Option<Outage> {
        self.outage.filter(|_| match objective {
            Objective::Latency { .. } => false,
            Objective::Errors { .. } => !objective.is_met_by(1.0),
            // Limits of a rate are more than 0.
            Objective::Rate { .. } => true,
        })
    }
}

/// How late the generator began each request.
fn lag(load: &LoadResult) -> Result<LatencyHistogram, HistogramError> {
    let histogram = load.open.as_ref().map(|open| &open.schedule_lag_histogram);
    let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) else {
        return Ok(LatencyHistogram::default());
    };
    let mut lag = LatencyHistogram::from_base64(histogram)?;
    if load.load.flows {
        // Only the first request of a flow has a due time.
        lag.record_nothing(load.requests.saturating_sub(lag.count()));
    }
    Ok(lag)
}

/// The requests of an open loop that were due and had no response within the time allowed. In a closed loop a request in
/// flight at the end is no error, and neither is one of a load that was cut short.
pub(crate) fn without_response(load: &LoadResult) -> u64 {
    match load.ended {
        Ended::Interrupted => 0,
        _ if load.open.is_none() => 0,
        _ => load.outcomes[Outcome::Unfinished],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_flow_that_fails_without_a_request_is_an_error() {
        let mut load = sample::load_result();
        let errors = |load: &LoadResult| LoadFigures::of(load).unwrap().errors;
        let before = errors(&load);
        load.flows.as_mut().unwrap().failed_without_request += 3;
        assert_eq!(errors(&load), before + 3);
    }
}
