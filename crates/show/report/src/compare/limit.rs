//! What limits the figures of a side, and which findings that leaves open.

use prony_model::{Bound, CountedRounds, FigureKind};
use prony_present::words;
use prony_stats::{Known, stands};

use crate::compare::finding::Finding;
use crate::compare::metric::Metric;
use crate::compare::side::{is_wrong, middle, relative};

/// What limited each side besides its server: the server may be better than its figures, and is not worse.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SideLimits {
    base: Side,
    new: Side,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Side {
    bounds: Vec<Bound>,
    /// Responses were wrong, so the figures do not describe correct work.
    is_wrong: bool,
}

impl SideLimits {
    /// The limits of both sides, each relative to the ceiling of its run.
    pub(super) fn of(base: [&CountedRounds<'_>; 2], new: [&CountedRounds<'_>; 2]) -> Self {
        Self {
            base: Side::of(base),
            new: Side::of(new),
        }
    }

    /// What limits this metric on each side, in a few words.
    pub(super) fn notes(&self, metric: Metric) -> Vec<String> {
        let sides = [("base", &self.base), ("new", &self.new)].into_iter();
        sides
            .flat_map(|(name, side)| {
                let words = side.words(metric.kind());
                words
                    .into_iter()
                    .map(move |words| format!("{name}: {words}"))
            })
            .collect()
    }

    /// The finding that remains despite the limits. If only BASE was limited it would have been even faster, so a slower NEW is
    /// worse; and vice versa.
    pub(super) fn leave(&self, metric: Metric, finding: Finding) -> Finding {
        let (base, new) = (
            self.base.known(metric.kind()),
            self.new.known(metric.kind()),
        );
        let may_be_said = match finding {
            Finding::Worse => stands(base, new),
            Finding::Improved => stands(new, base),
            _ => (base, new) == (Known::Exactly, Known::Exactly),
        };
        if may_be_said {
            finding
        } else {
            Finding::Limited
        }
    }
}

impl Side {
    fn of([rounds, ceiling]: [&CountedRounds<'_>; 2]) -> Self {
        let rates = |rounds: &CountedRounds<'_>| rounds.by_round(|one| Metric::Rate.of(one));
        let share = middle(&relative(&rates(rounds), &rates(ceiling)));
        let mut bounds = Bound::of_rounds(&rounds.measurements());
        bounds.extend(Bound::at_ceiling(rounds.measured().count(), share));
        Self {
            bounds,
            is_wrong: is_wrong(rounds),
        }
    }

    fn known(&self, kind: FigureKind) -> Known {
        if self.is_wrong {
            Known::Nothing
        } else if Bound::any_hides(&self.bounds, kind) {
            Known::AtLeast
        } else {
            Known::Exactly
        }
    }

    fn words(&self, kind: FigureKind) -> Vec<String> {
        let hiding = self.bounds.iter().filter(|bound| bound.hides(kind));
        let wrong = self.is_wrong.then(|| "responses were wrong".to_owned());
        hiding.map(words::bound).chain(wrong).collect()
    }
}

#[cfg(test)]
mod tests {
    use prony_model::Cause;

    use super::*;

    fn side(limited: bool) -> Side {
        let bound = Bound {
            cause: Cause::Generator(None),
            rounds: 4,
            of: 6,
        };
        Side {
            bounds: limited.then_some(bound).into_iter().collect(),
            is_wrong: false,
        }
    }

    #[test]
    fn a_limit_hides_only_the_changes_beyond_it() {
        let left = |base, new, finding| {
            let (base, new) = (side(base), side(new));
            SideLimits { base, new }.leave(Metric::Rate, finding)
        };
        for finding in Finding::ALL {
            assert_eq!(left(false, false, finding), finding);
            assert_eq!(left(true, true, finding), Finding::Limited);
        }
        let (worse, improved, limited) = (Finding::Worse, Finding::Improved, Finding::Limited);
        for (base, new, expected) in [
            (true, false, [worse, limited]),
            (false, true, [limited, improved]),
        ] {
            assert_eq!([worse, improved].map(|it| left(base, new, it)), expected);
        }
    }

    #[test]
    fn figures_of_wrong_responses_give_no_finding() {
        let wrong = Side {
            is_wrong: true,
            ..Side::default()
        };
        let limits = SideLimits {
            base: Side::default(),
            new: wrong,
        };
        for metric in Metric::ALL {
            for finding in Finding::ALL {
                assert_eq!(limits.leave(metric, finding), Finding::Limited);
            }
            assert_eq!(limits.notes(metric), ["new: responses were wrong"]);
        }
    }
}
