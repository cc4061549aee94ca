//! The one figure of a trial by which servers are compared.

use crate::Measurement;

impl Measurement {
    /// The figure by which servers are compared under this load: ok responses per second if the server sets the pace,
    /// the median latency in nanoseconds if a schedule does. `None` if there is no such figure or it is 0.
    pub fn headline(&self) -> Option<f64> {
        let figure = match self.load.load.shape.is_open() {
            true => self.load.latency_ns.as_ref()?.p50 as f64,
            false => self.load.rate_per_s,
        };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }
}

#[cfg(test)]
mod tests {
    use crate::{LatencyHistogram, LoadShape, TrialResult, sample};

    #[test]
    fn closed_loops_compare_by_rate_and_open_loops_by_median_latency() {
        let TrialResult::Measured(mut trial) = sample::measured("bun", 1).result else {
            panic!("it was measured");
        };
        (trial.load.load.shape, trial.load.rate_per_s) = (LoadShape::Closed, 100.0);
        assert_eq!(trial.headline(), Some(100.0));
        trial.load.rate_per_s = 0.0;
        assert_eq!(trial.headline(), None);
        trial.load.load.shape = LoadShape::UsersOpen { think_time_s: 1.0 };
        let mut latency = LatencyHistogram::new();
        latency.record(700);
        trial.load.latency_ns = latency.summary();
        assert_eq!(trial.headline(), Some(700.0));
        trial.load.latency_ns = None;
        assert_eq!(trial.headline(), None);
    }
}
