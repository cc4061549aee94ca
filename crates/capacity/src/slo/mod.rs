//! The service level objective (SLO).

mod text;

pub use text::SloError;

use std::fmt;
use std::time::Duration;

use prony_model::{LatencyHistogram, LoadResult, Outcome, percentage};
use prony_present::number;
use serde::{Serialize, Serializer};

/// The latency statistics that an SLO may bound.
const STATISTICS: [(&str, Statistic); 7] = [
    ("p50", Statistic::Quantile(0.5)),
    ("p90", Statistic::Quantile(0.9)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
    ("p99.9", Statistic::Quantile(0.999)),
    ("mean", Statistic::Mean),
    ("max", Statistic::Max),
];

/// A service level objective. A rate is sustained only if every clause holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Slo {
    /// In the given order; one of them bounds errors.
    clauses: Vec<Clause>,
}

/// One bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clause {
    /// A latency statistic of ok responses, from the scheduled arrival, stays below this.
    Latency {
        /// The statistic.
        statistic: Statistic,
        /// The bound.
        below: Duration,
    },
    /// The share (0 to 1) of requests without an expected response stays below this.
    Errors {
        /// The bound.
        below: f64,
    },
}

/// A latency statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The least latency that this share (0 to 1) of all requests do not exceed.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
    /// The maximum.
    Max,
}

/// The bound on errors of an SLO that has none, because wrong responses may be fast.
const ERRORS_UNLESS_SAID: f64 = 0.001;

impl Slo {
    fn new(mut clauses: Vec<Clause>) -> Self {
        let has_errors = |clause: &Clause| matches!(clause, Clause::Errors { .. });
        if !clauses.iter().any(has_errors) {
            let below = ERRORS_UNLESS_SAID;
            clauses.push(Clause::Errors { below });
        }
        Self { clauses }
    }

    /// The bounds, in the given order.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The bounds that a load broke.
    pub fn broken_by(&self, figures: &SloFigures) -> Vec<Broken> {
        self.clauses
            .iter()
            .filter_map(|clause| clause.broken_by(figures))
            .collect()
    }

    /// The highest percentile with a bound, as a share (0 to 1).
    pub fn highest_quantile(&self) -> Option<f64> {
        let quantile = |clause: &Clause| match clause {
            Clause::Latency {
                statistic: Statistic::Quantile(quantile),
                ..
            } => Some(*quantile),
            _ => None,
        };
        self.clauses
            .iter()
            .filter_map(quantile)
            .max_by(f64::total_cmp)
    }
}

/// The figures of a load that an SLO looks at.
pub struct SloFigures {
    latency: LatencyHistogram,
    /// Share (0 to 1) of the requests without an expected response.
    pub errors: f64,
}

impl SloFigures {
    /// Takes the figures from a load. A request that was `unfinished` when the load ended by itself had no response within the
    /// time allowed either, so it counts as an error; unless the load was cut short.
    ///
    /// # Errors
    /// If its histogram cannot be read.
    pub fn of(load: &LoadResult) -> Result<Self, prony_model::HistogramError> {
        let latency = LatencyHistogram::from_base64(&load.histogram)?;
        let unfinished = match load.ended {
            prony_model::Ended::Interrupted => 0,
            _ => load.outcomes[Outcome::Unfinished],
        };
        let wrong = load.outcomes.errors() + unfinished;
        let ended = load.outcomes[Outcome::Ok] + wrong;
        Ok(Self {
            latency,
            errors: wrong as f64 / ended.max(1) as f64,
        })
    }

    /// The number of latencies.
    pub fn count(&self) -> u64 {
        self.latency.count()
    }
}

impl Statistic {
    /// Its value in nanoseconds; 0 if there are no latencies.
    pub fn of(self, durations: &LatencyHistogram) -> f64 {
        let summary = durations.summary();
        match self {
            Self::Quantile(quantile) => durations.value_at(quantile) as f64,
            Self::Mean => summary.map_or(0.0, |summary| summary.mean),
            Self::Max => summary.map_or(0.0, |summary| summary.max as f64),
        }
    }
}

/// A broken bound, and the figure that broke it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken {
    /// The bound.
    pub clause: Clause,
    /// The figure: nanoseconds for a latency, a share (0 to 1) for errors.
    pub was: f64,
}

impl Clause {
    fn broken_by(&self, figures: &SloFigures) -> Option<Broken> {
        let (was, below) = match self {
            Self::Latency { statistic, below } => {
                (statistic.of(&figures.latency), below.as_nanos() as f64)
            }
            Self::Errors { below } => (figures.errors, *below),
        };
        // No error at all meets any bound, even one of 0 %.
        let is_kept = was < below || (was == 0.0 && matches!(self, Self::Errors { .. }));
        (!is_kept).then_some(Broken { clause: *self, was })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clause {
            Clause::Latency { statistic, below } => {
                let was = number::duration(self.was);
                write!(f, "{statistic} was {was}, not below {}", duration(below))
            }
            Clause::Errors { below } => {
                let was = percentage((self.was * 1e5).ceil() / 1e5);
                write!(f, "errors were {was}, not below {}", percentage(below))
            }
        }
    }
}

impl Serialize for Slo {
    /// The notation that `Slo::from_str` reads.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Clause {
    fn name(&self) -> &'static str {
        match self {
            Self::Latency { statistic, .. } => statistic.name(),
            Self::Errors { .. } => "errors",
        }
    }
}

impl Statistic {
    fn name(&self) -> &'static str {
        STATISTICS
            .iter()
            .find(|(_, statistic)| statistic == self)
            .map_or("latency", |(name, _)| name)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency { statistic, below } => write!(f, "{statistic}<{}", duration(*below)),
            Self::Errors { below } => write!(f, "errors<{}", percentage(*below).replace(' ', "")),
        }
    }
}

impl fmt::Display for Slo {
    /// The notation that `Slo::from_str` reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clauses: Vec<String> = self.clauses().iter().map(Clause::to_string).collect();
        f.write_str(&clauses.join(","))
    }
}

/// `10ms`, `1s500ms`.
fn duration(duration: Duration) -> String {
    humantime::format_duration(duration)
        .to_string()
        .replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::load;

    fn broken(slo: &str, milliseconds: &[u64], errors: u64) -> Vec<String> {
        let slo: Slo = slo.parse().unwrap();
        let load = load(milliseconds.iter().map(|&ms| ms * 1_000_000), errors);
        let broken = slo.broken_by(&SloFigures::of(&load).unwrap());
        broken.iter().map(Broken::to_string).collect()
    }

    #[test]
    fn a_bound_is_kept_below_it_and_broken_at_it() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert!(broken("p50<51ms,p99<100ms,max<101ms,mean<51ms", &hundred, 0).is_empty());
        assert_eq!(
            broken("p50<49ms,p95<200ms", &hundred, 0),
            ["p50 was 50.0 ms, not below 49ms"]
        );
        assert_eq!(broken("max<99ms", &hundred, 0).len(), 1);
        assert_eq!(broken("mean<50ms", &hundred, 0).len(), 1);
    }

    #[test]
    fn errors_are_bounded_by_default() {
        assert_eq!(
            broken("p99<1s", &[1; 999], 1),
            ["errors were 0.1 %, not below 0.1 %"]
        );
        assert!(broken("p99<1s", &[1; 9999], 1).is_empty());
        assert!(broken("p99<1s,errors<60%", &[1; 1], 1).is_empty());
        assert!(broken("errors<0%", &[1; 10], 0).is_empty());
        assert_eq!(broken("errors<0%", &[1; 10], 1).len(), 1);
        assert_eq!(broken("p99<1s", &[], 10).len(), 1, "nothing but errors");
    }

    #[test]
    fn the_highest_percentile_with_a_bound_is_known() {
        let highest = |slo: &str| slo.parse::<Slo>().unwrap().highest_quantile();
        assert_eq!(highest("p50<1ms,p99.9<5ms,p90<2ms"), Some(0.999));
        assert_eq!(highest("mean<1ms"), None);
    }
}
