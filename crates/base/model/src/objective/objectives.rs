//! What is required of a load.

use std::time::Duration;

use crate::LatencyHistogram;

/// What is required of a load: every objective must be met. At most one concerns each figure.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline, with = "String"))]
pub struct Objectives {
    /// In the given order; one of them bounds errors.
    all: Vec<Objective>,
}

/// One requirement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline, with = "String"))]
pub enum Objective {
    /// A latency statistic of ok responses is below a duration.
    Latency {
        /// The statistic.
        statistic: Statistic,
        /// What it must be below.
        limit: Limit<Duration>,
    },
    /// The share (0 to 1) of requests without an expected response is below another.
    Errors {
        /// What it must be below.
        limit: Limit<f64>,
    },
    /// The rate of ok responses, per second, is above another.
    Rate {
        /// What it must be above.
        limit: Limit<f64>,
    },
}

/// A limit on the right side of which a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit<T> {
    pub value: T,
    /// Whether a figure that equals it is on the right side.
    pub inclusive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The least latency that this percentage of all requests do not exceed.
    Percentile(Percentile),
    /// The arithmetic mean.
    Mean,
    Max,
}

/// A percentage between 0 and 100 with up to three decimals: 99.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percentile {
    thousandths: u32,
}

/// The limit on errors if none is given, because wrong responses may be fast.
const ERRORS_UNLESS_SAID: f64 = 0.001;

impl Objectives {
    /// Adds a limit of 0.1 % on errors if none is among them. Gives the index of an objective for a figure that an earlier
    /// one concerns already.
    pub(crate) fn new(mut all: Vec<Objective>) -> Result<Self, usize> {
        let is_again = |at: &usize| all[..*at].iter().any(|one| one.is_for_the_same(&all[*at]));
        if let Some(again) = (0..all.len()).find(is_again) {
            return Err(again);
        }
        if !all
            .iter()
            .any(|one| matches!(one, Objective::Errors { .. }))
        {
            let limit = Limit {
                value: ERRORS_UNLESS_SAID,
                inclusive: false,
            };
            all.push(Objective::Errors { limit });
        }
        Ok(Self { all })
    }

    /// In the given order.
    pub fn all(&self) -> &[Objective] {
        &self.all
    }

    /// The highest percentile with a limit, as a share (0 to 1).
    pub fn highest_quantile(&self) -> Option<f64> {
        let percentiles = self.all.iter().filter_map(|one| one.percentile());
        percentiles.max().map(Percentile::share)
    }

    /// For each percentile with a limit, the least latency, in nanoseconds, that is on the wrong side: a load counts the
    /// responses with such a latency in each interval of its timeline.
    pub fn slow_from_ns(&self) -> Vec<u64> {
        let percentiles = self.all.iter().filter(|one| one.percentile().is_some());
        let mut all: Vec<u64> = percentiles.filter_map(Objective::slow_from_ns).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Objective {
    /// `p99`, `errors`, `rate`.
    pub fn name(&self) -> String {
        match self {
            Self::Latency { statistic, .. } => statistic.to_string(),
            Self::Errors { .. } => "errors".into(),
            Self::Rate { .. } => "rate".into(),
        }
    }

    fn is_for_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Latency { statistic, .. },
                Self::Latency {
                    statistic: others, ..
                },
            ) => statistic == others,
            (Self::Errors { .. }, Self::Errors { .. }) | (Self::Rate { .. }, Self::Rate { .. }) => {
                true
            }
            _ => false,
        }
    }

    /// The percentile that it limits.
    pub fn percentile(&self) -> Option<Percentile> {
        match self {
            Self::Latency {
                statistic: Statistic::Percentile(percentile),
                ..
            } => Some(*percentile),
            _ => None,
        }
    }

    /// The least latency, in nanoseconds, that is on the wrong side of a limit on latency.
    pub fn slow_from_ns(&self) -> Option<u64> {
        match self {
            Self::Latency { limit, .. } => {
                let nanoseconds = u64::try_from(limit.value.as_nanos()).unwrap_or(u64::MAX);
                Some(nanoseconds.saturating_add(u64::from(limit.inclusive)))
            }
            _ => None,
        }
    }

    /// The limit in the figure's unit: nanoseconds, a share (0 to 1), or responses per second.
    pub fn limit(&self) -> f64 {
        match self {
            Self::Latency { limit, .. } => limit.value.as_nanos() as f64,
            Self::Errors { limit } | Self::Rate { limit } => limit.value,
        }
    }

    /// Whether a figure, in the same unit, is on the right side of the limit.
    pub fn is_met_by(&self, figure: f64) -> bool {
        let limit = self.limit();
        match self {
            Self::Latency { limit: of, .. } => of.has_below(figure, limit),
            // No error at all meets any limit, even one of 0 %.
            Self::Errors { limit: of } => figure == 0.0 || of.has_below(figure, limit),
            Self::Rate { limit: of } => of.has_below(limit, figure),
        }
    }
}

impl<T> Limit<T> {
    fn has_below(&self, low: f64, high: f64) -> bool {
        low < high || (self.inclusive && low == high)
    }
}

impl Statistic {
    /// Its value in nanoseconds; `None` if there are no latencies.
    pub fn of(self, latencies: &LatencyHistogram) -> Option<f64> {
        let summary = latencies.summary()?;
        Some(match self {
            Self::Percentile(percentile) => latencies.value_at(percentile.share()) as f64,
            Self::Mean => summary.mean,
            Self::Max => summary.max as f64,
        })
    }
}

impl Percentile {
    pub(crate) fn of_thousandths(thousandths: u32) -> Option<Self> {
        (1..100_000)
            .contains(&thousandths)
            .then_some(Self { thousandths })
    }

    pub(crate) fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// As a share (0 to 1).
    pub fn share(self) -> f64 {
        f64::from(self.thousandths) / 1e5
    }

    /// The share (0 to 1) of responses that may exceed it.
    pub fn share_beyond(self) -> f64 {
        f64::from(100_000 - self.thousandths) / 1e5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Objectives {
        text.parse().unwrap()
    }

    #[test]
    fn a_figure_at_the_limit_meets_only_an_inclusive_one() {
        for (text, met, missed) in [
            ("p99<10ms", 9_999_999.0, 10_000_000.0),
            ("p99<=10ms", 10_000_000.0, 10_000_001.0),
            ("errors<1%", 0.009, 0.01),
            ("errors<=1%", 0.01, 0.011),
            ("errors<0%", 0.0, 1e-9),
            ("rate>5k/s", 5000.1, 5000.0),
            ("rate>=5k/s", 5000.0, 4999.9),
        ] {
            let one = of(text).all()[0];
            assert!(one.is_met_by(met), "{text}: {met}");
            assert!(!one.is_met_by(missed), "{text}: {missed}");
        }
    }

    #[test]
    fn latencies_that_a_load_counts_begin_on_the_wrong_side() {
        let from = of("p99<=2ms,p50<1ms,max<5ms,p90<1ms,errors<1%").slow_from_ns();
        assert_eq!(from, [1_000_000, 2_000_001]);
    }

    #[test]
    fn the_highest_percentile_with_a_limit_is_known() {
        assert_eq!(
            of("p50<1ms,p99.9<5ms,p90<2ms").highest_quantile(),
            Some(0.999)
        );
        assert_eq!(of("mean<1ms,rate>9").highest_quantile(), None);
    }

    #[test]
    fn errors_have_a_limit_by_default() {
        assert_eq!(of("p99<1s").all().len(), 2);
        assert_eq!(of("errors<5%").all().len(), 1);
    }
}
