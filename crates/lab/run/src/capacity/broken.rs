//! The objectives that a load did not meet.

use std::fmt;

use prony_model::objective::{LoadFigures, Objective, Objectives};
use prony_model::{Outage, percentage};
use prony_present::number;

/// An objective that was not met, and the figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Broken {
    pub(crate) objective: Objective,
    /// The figure: nanoseconds for a latency, a share (0 to 1) for errors.
    pub(crate) was: f64,
    /// The outage that broke it, whatever the figure is.
    pub(crate) outage: Option<Outage>,
}

/// The objectives that a load did not meet. A latency without a response is none.
pub(crate) fn broken_by(objectives: &Objectives, figures: &LoadFigures) -> Vec<Broken> {
    let broken = |objective: &Objective| {
        let was = figures.figure(objective)?;
        let outage = figures.missed_in(objective);
        (outage.is_some() || !objective.is_met_by(was)).then_some(Broken {
            objective: *objective,
            was,
            outage,
        })
    };
    objectives.all().iter().filter_map(broken).collect()
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
            // A search chooses the rate itself.
            Objective::Rate { .. } => write!(f, "the rate was {}", number::rate(self.was)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::load;
    use prony_model::LoadResult;
    use prony_testkit::table::rows;

    fn broken_in(load: &LoadResult, objectives: &str) -> Vec<String> {
        let figures = LoadFigures::of(load).unwrap();
        let broken = broken_by(&objectives.parse().unwrap(), &figures);
        broken.iter().map(Broken::to_string).collect()
    }

    fn broken(objectives: &str, milliseconds: &[u64], errors: u64) -> Vec<String> {
        let load = load(milliseconds.iter().map(|&ms| ms * 1_000_000), errors);
        broken_in(&load, objectives)
    }

    #[test]
    fn a_bound_is_kept_below_it_and_broken_at_it() {
        let hundred: Vec<u64> = (1..=100).collect();
        for [objectives, expected] in rows(
            r#"
            p50<51ms,p99<100ms,max<101ms,mean<51ms | ""
            p50<49ms,p95<200ms | p50 was 50.0 ms, not below 49ms
            p50<=49ms | p50 was 50.0 ms, not at most 49ms
            "#,
        ) {
            assert_eq!(broken(objectives, &hundred, 0).join("; "), expected);
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
        let broken = broken_in(&dead, "p99<1s");
        assert_eq!(broken, ["no response was ok for 9 s"]);
    }
}
