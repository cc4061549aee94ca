//! The service level objective (SLO) of a search: objectives of latency and errors, at a rate that the search chooses.

use std::fmt;
use std::str::FromStr;

use prony_model::{Outage, percentage};
use prony_objective::{LoadFigures, Objective, ObjectiveError, Objectives};
use prony_present::number;
use serde::Serialize;

/// A service level objective. A rate is sustained only if every objective is met.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Slo(Objectives);

/// Why a text is not an SLO.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum SloError {
    #[error(transparent)]
    Objective(#[from] ObjectiveError),
    #[error("a search finds the rate itself; remove `{0}`")]
    Rate(String),
}

impl Slo {
    /// The objectives, in the given order.
    pub fn objectives(&self) -> &[Objective] {
        self.0.all()
    }

    /// The objectives that a load did not meet. A latency without a response is none.
    pub fn broken_by(&self, figures: &LoadFigures) -> Vec<Broken> {
        let broken = |objective: &Objective| {
            let was = figures.figure(objective)?;
            let outage = figures.missed_in(objective);
            (outage.is_some() || !objective.is_met_by(was)).then_some(Broken {
                objective: *objective,
                was,
                outage,
            })
        };
        self.objectives().iter().filter_map(broken).collect()
    }

    /// The highest percentile with a limit, as a share (0 to 1).
    pub fn highest_quantile(&self) -> Option<f64> {
        self.0.highest_quantile()
    }
}

impl FromStr for Slo {
    type Err = SloError;

    /// Reads objectives separated by commas, as [`Objectives`] does.
    fn from_str(text: &str) -> Result<Self, SloError> {
        let objectives: Objectives = text.parse()?;
        let mut all = objectives.all().iter();
        match all.find(|one| matches!(one, Objective::Rate { .. })) {
            Some(rate) => Err(SloError::Rate(rate.to_string())),
            None => Ok(Self(objectives)),
        }
    }
}

/// As [`FromStr`] reads it.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An objective that was not met, and the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Broken {
    /// The objective.
    pub objective: Objective,
    /// The figure: nanoseconds for a latency, a share (0 to 1) for errors.
    pub was: f64,
    /// The outage that broke it, whatever the figure is.
    pub outage: Option<Outage>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outage) = self.outage {
            let length = number::seconds(outage.length_s);
            return write!(f, "no response was ok for {length}");
        }
        let below = |inclusive: bool| if inclusive { "at most" } else { "below" };
        match self.objective {
            Objective::Latency { statistic, limit } => {
                let (was, side) = (number::duration(self.was), below(limit.inclusive));
                let limit = self.objective.limit_text();
                write!(f, "{statistic} was {was}, not {side} {limit}")
            }
            Objective::Errors { limit } => {
                let was = percentage((self.was * 1e5).ceil() / 1e5);
                let (side, limit) = (below(limit.inclusive), percentage(limit.value));
                write!(f, "errors were {was}, not {side} {limit}")
            }
            // No SLO has one.
            Objective::Rate { .. } => write!(f, "the rate was {}", number::rate(self.was)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::load;
    use prony_testkit::table::rows;

    fn broken(slo: &str, milliseconds: &[u64], errors: u64) -> Vec<String> {
        let slo: Slo = slo.parse().unwrap();
        let load = load(milliseconds.iter().map(|&ms| ms * 1_000_000), errors);
        let broken = slo.broken_by(&LoadFigures::of(&load).unwrap());
        broken.iter().map(Broken::to_string).collect()
    }

    #[test]
    fn a_bound_is_kept_below_it_and_broken_at_it() {
        let hundred: Vec<u64> = (1..=100).collect();
        for [slo, expected] in rows(
            r#"
            p50<51ms,p99<100ms,max<101ms,mean<51ms | ""
            p50<49ms,p95<200ms | p50 was 50.0 ms, not below 49ms
            p50<=49ms | p50 was 50.0 ms, not at most 49ms
            "#,
        ) {
            assert_eq!(broken(slo, &hundred, 0).join("; "), expected);
        }
        assert_eq!(broken("max<99ms", &hundred, 0).len(), 1);
        assert_eq!(broken("mean<50ms", &hundred, 0).len(), 1);
    }

    #[test]
    fn errors_are_bounded_by_default() {
        let one_in_1000 = broken("p99<1s", &[1; 999], 1);
        assert_eq!(one_in_1000, ["errors were 0.1 %, not below 0.1 %"]);
        assert!(broken("p99<1s", &[1; 9999], 1).is_empty());
        assert!(broken("p99<1s,errors<60%", &[1; 1], 1).is_empty());
        assert!(broken("errors<0%", &[1; 10], 0).is_empty());
        assert_eq!(broken("errors<0%", &[1; 10], 1).len(), 1);
        assert_eq!(broken("p99<1s", &[], 10).len(), 1, "nothing but errors");
    }

    #[test]
    fn an_outage_breaks_a_bound_of_errors() {
        let mut dead = load([1_000_000; 9999], 1);
        dead.outages = vec![Outage {
            from_s: 3.0,
            length_s: 9.0,
        }];
        let slo: Slo = "p99<1s".parse().unwrap();
        let broken = slo.broken_by(&LoadFigures::of(&dead).unwrap());
        let broken: Vec<_> = broken.iter().map(Broken::to_string).collect();
        assert_eq!(broken, ["no response was ok for 9 s"]);
    }

    #[test]
    fn a_search_has_no_objective_for_the_rate() {
        let error = "p99<1s,rate>5k/s".parse::<Slo>().unwrap_err();
        assert!(error.to_string().contains("remove `rate>5k/s`"), "{error}");
    }
}
