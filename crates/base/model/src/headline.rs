//! The figures of a trial by which servers are compared.

use crate::{LatencySummary, LoadResult, MeasuredBy, Measurement, Outcome};

/// What a load consists of, and what servers are compared by: flows if it has any, otherwise single requests. One server
/// may take more requests for a flow than another, because of redirects or retries, and must not win by them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work<'a> {
    /// How much was ok per second.
    pub rate_per_s: f64,
    /// How long it took, ok flows or responses only; `None` if there was none.
    pub latency_ns: Option<&'a LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: &'a str,
}

impl LoadResult {
    /// Its flows, or its requests.
    pub fn work(&self) -> Work<'_> {
        match &self.flows {
            Some(flows) => Work {
                rate_per_s: flows.rate_per_s,
                latency_ns: flows.duration_ns.as_ref(),
                histogram: &flows.histogram,
            },
            None => Work {
                rate_per_s: self.rate_per_s,
                latency_ns: self.latency_ns.as_ref(),
                histogram: &self.histogram,
            },
        }
    }
}

impl Measurement {
    /// The figure by which servers are compared under this load: ok flows or responses per second if the server sets the
    /// pace, their median time in nanoseconds if a schedule does, instructions per request if the load measures those.
    /// `None` if there is no such figure or it is 0.
    pub fn headline(&self) -> Option<f64> {
        if self.load.load.by == MeasuredBy::Instructions {
            return self.user_instructions.as_ref()?.per_request();
        }
        let work = self.load.work();
        let figure = if self.load.load.shape.is_open() {
            work.latency_ns?.p50 as f64
        } else {
            work.rate_per_s
        };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }

    /// How many responses, or flows if the load has any, were ok, warm-up included, as the server's cost includes it. The
    /// flows of a warm-up are not counted, so their number is that of its ok responses divided by those of a flow.
    pub fn completed(&self) -> f64 {
        let responses = self.responses() as f64;
        match (&self.load.flows, self.load.outcomes[Outcome::Ok]) {
            (None, _) => responses,
            (Some(_), 0) => 0.0,
            (Some(flows), measured) => responses * flows.ok as f64 / measured as f64,
        }
    }

    /// A cost of the whole load (warm-up included) per ok response or flow; `None` if none was ok.
    pub fn per_completed(&self, cost: f64) -> Option<f64> {
        let completed = self.completed();
        (completed > 0.0).then(|| cost / completed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{LatencyHistogram, LoadShape, Outcome, Seconds, TrialResult, sample};

    #[test]
    fn closed_loops_compare_by_rate_and_open_loops_by_median_latency() {
        let TrialResult::Measured(mut trial) = sample::measured("bun", 1).result else {
            panic!("it was measured");
        };
        trial.load.flows = None;
        (trial.load.load.shape, trial.load.rate_per_s) = (LoadShape::Closed, 100.0);
        assert_eq!(trial.headline(), Some(100.0));
        trial.load.rate_per_s = 0.0;
        assert_eq!(trial.headline(), None);
        trial.load.load.shape = LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        };
        let mut latency = LatencyHistogram::new();
        latency.record(700);
        trial.load.latency_ns = latency.summary();
        assert_eq!(trial.headline(), Some(700.0));
        trial.load.latency_ns = None;
        assert_eq!(trial.headline(), None);
    }

    #[test]
    fn servers_are_compared_by_flows_if_there_are_any() {
        let TrialResult::Measured(mut trial) = sample::measured("bun", 1).result else {
            panic!("it was measured");
        };
        let mut times = LatencyHistogram::new();
        times.record(700);
        let mut flows = sample::flows(&times);
        (flows.ok, flows.rate_per_s, flows.duration_ns) = (20, 40.0, times.summary());
        trial.load.outcomes[Outcome::Ok] = 100;
        trial.load.warmup = None;
        (trial.load.load.shape, trial.load.rate_per_s) = (LoadShape::Closed, 200.0);
        trial.load.flows = Some(flows);
        assert_eq!((trial.headline(), trial.completed()), (Some(40.0), 20.0));
        assert_eq!(trial.per_completed(40.0), Some(2.0));
        trial.load.load.shape = LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        };
        assert_eq!(trial.headline(), Some(700.0));
        trial.load.flows = None;
        (trial.load.load.shape, trial.load.outcomes[Outcome::Ok]) = (LoadShape::Closed, 50);
        assert_eq!((trial.headline(), trial.completed()), (Some(200.0), 50.0));
    }
}
