//! Where the generator, or the machine, and not the server was the limit.

use prony_report::{AT_CEILING, format};

use crate::finding::Finding;
use crate::metric::Metric;
use crate::rounds::Rounds;

/// The middle of the ratios stands where fewer than 29 % of the rounds are off, whatever they are; so a side is
/// called limited only where more than this share of its rounds was.
const TOLERATED: f64 = 0.25;

/// What limited each side: its server may be faster than its figures say, and is not slower.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    base: Option<Limit>,
    new: Option<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
enum Limit {
    /// The generator, in so many of the rounds.
    Generator { limited: usize, rounds: usize },
    /// The machine: the rate is this share of the ceiling's.
    Ceiling { share: f64 },
}

impl Limits {
    /// Of both sides, each with the ceiling of its run.
    pub fn of(base: [&Rounds<'_>; 2], new: [&Rounds<'_>; 2]) -> Self {
        Self {
            base: Limit::of(base),
            new: Limit::of(new),
        }
    }

    /// What hides something of the metric, a few words a side.
    pub fn notes(&self, metric: Metric) -> Vec<String> {
        let sides = [("base", &self.base), ("new", &self.new)].into_iter();
        let told = sides.filter_map(|(side, limit)| Some((side, limit.as_ref()?)));
        told.filter(|(_, limit)| limit.hides(metric))
            .map(|(side, limit)| format!("{side}: {}", limit.words()))
            .collect()
    }

    /// What may be said all the same. Where BASE alone was limited it would have been faster yet, so that a NEW that
    /// is slower is worse; and the other way round.
    pub fn leave(&self, metric: Metric, finding: Finding) -> Finding {
        let hidden = |limit: &Option<Limit>| limit.as_ref().is_some_and(|one| one.hides(metric));
        match (hidden(&self.base), hidden(&self.new), finding) {
            (false, false, _)
            | (true, false, Finding::Worse)
            | (false, true, Finding::Improved) => finding,
            _ => Finding::Limited,
        }
    }
}

impl Limit {
    fn of([rounds, ceiling]: [&Rounds<'_>; 2]) -> Option<Self> {
        let (limited, measured) = (rounds.client_limited(), rounds.measured().count());
        if limited as f64 > measured as f64 * TOLERATED {
            return Some(Limit::Generator {
                limited,
                rounds: measured,
            });
        }
        let rates = |rounds: &Rounds<'_>| rounds.values(Metric::Rate);
        let share = rates(rounds).relative_to(&rates(ceiling)).median()?;
        (share >= AT_CEILING).then_some(Limit::Ceiling { share })
    }

    /// Whether the metric says more of the limit than of the server. A busy generator also sees answers later than they
    /// come. Near the ceiling the rate is the machine's, but an answer takes as long as it takes. What an answer costs
    /// the server is its own in any case.
    fn hides(&self, metric: Metric) -> bool {
        match metric {
            Metric::Rate => true,
            Metric::P50 | Metric::P99 => matches!(self, Limit::Generator { .. }),
            Metric::Cpu | Metric::Instructions | Metric::Memory => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Limit::Generator { limited, rounds } => {
                format!("the generator was the limit in {limited} of {rounds} rounds")
            }
            Limit::Ceiling { share } => format!("at {} of the ceiling", format::share(*share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_hides_what_lies_beyond_it_and_nothing_else() {
        let busy = |is_limited: bool| {
            is_limited.then_some(Limit::Generator {
                limited: 4,
                rounds: 6,
            })
        };
        let left = |base, new, finding| {
            let (base, new) = (busy(base), busy(new));
            Limits { base, new }.leave(Metric::Rate, finding)
        };
        for finding in Finding::ALL {
            assert_eq!(left(false, false, finding), finding);
            assert_eq!(left(true, true, finding), Finding::Limited);
        }
        assert_eq!(left(true, false, Finding::Worse), Finding::Worse);
        assert_eq!(left(true, false, Finding::Improved), Finding::Limited);
        assert_eq!(left(false, true, Finding::Improved), Finding::Improved);
        assert_eq!(left(false, true, Finding::Worse), Finding::Limited);
    }

    #[test]
    fn the_generator_hides_latency_and_the_ceiling_does_not() {
        let hidden = |limit: Limit| Metric::ALL.map(|metric| limit.hides(metric));
        let generator = Limit::Generator {
            limited: 4,
            rounds: 6,
        };
        // Rate, CPU, instructions, p50, p99, memory.
        let expected = [true, false, false, true, true, false];
        assert_eq!(hidden(generator), expected);
        let expected = [true, false, false, false, false, false];
        assert_eq!(hidden(Limit::Ceiling { share: 0.95 }), expected);
    }
}
