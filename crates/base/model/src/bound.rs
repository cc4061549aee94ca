//! When a row's figures are lower bounds, and which of them: the one rule for rankings, published orders and regression checks.

use crate::Measurement;

/// From this share of the ceiling's rate up, the machine may be the bottleneck rather than the server.
const AT_CEILING: f64 = 0.9;

/// If more than this share of a row's rounds is limited, the row is a lower bound: with fewer, neither the median of the rounds
/// nor the middle of their ratios would move far, whatever the limited rounds would have given.
const TOLERATED: f64 = 0.25;

/// Something other than the server limited a row's figures: the server may be better than they show, and is not worse.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub cause: Cause,
    /// The number of limited rounds.
    pub rounds: usize,
    /// The number of measured rounds.
    pub of: usize,
}

/// What limited a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The load generator, with the evidence if it is on record.
    Generator(Option<String>),
    /// The warm-up: the server was still getting faster when it reached its limit.
    StillWarming,
    /// The machine: the rate is this share of the reference server's.
    Ceiling(f64),
}

/// The kind of a figure, which decides what limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// Responses per time, or their mean latency in a closed loop, which is equivalent.
    Pace,
    /// The latency of single responses.
    Latency,
    /// The server's cost per response.
    Cost,
    /// Memory, startup, size: figures that no limit of the load affects.
    Other,
}

impl Bound {
    /// The bounds that the rounds of a row show themselves.
    pub fn of_rounds(rounds: &[&Measurement]) -> Vec<Self> {
        let of = rounds.len();
        let limited = rounds.iter().filter(|round| round.client_limited());
        let mut evidence = limited.clone();
        let evidence = evidence.find_map(|round| round.load.generator.client_limited_by.clone());
        let warming = rounds.iter().filter(|round| round.still_warming());
        let counted = [
            (Cause::Generator(evidence), limited.count()),
            (Cause::StillWarming, warming.count()),
        ];
        let there = counted.into_iter().filter(|(_, rounds)| *rounds > 0);
        there
            .map(|(cause, rounds)| Self { cause, rounds, of })
            .collect()
    }

    /// The bound of a rate that is this share of the reference server's; `None` if it is well below.
    pub fn at_ceiling(rounds: usize, share: Option<f64>) -> Option<Self> {
        let cause = Cause::Ceiling(share.filter(|share| *share >= AT_CEILING)?);
        let of = rounds;
        Some(Self { cause, rounds, of })
    }

    /// Whether it limits enough rounds to make their figures a lower bound.
    pub fn binds(&self) -> bool {
        self.rounds as f64 > self.of as f64 * TOLERATED
    }

    /// Whether it makes figures of a kind a lower bound.
    ///
    /// A busy generator sees responses later than they arrive. Code that is not compiled yet is slow and costs more. At the
    /// ceiling the machine sets the pace, but latencies are still the server's.
    pub fn hides(&self, kind: FigureKind) -> bool {
        let hides = match self.cause {
            Cause::Generator(_) => matches!(kind, FigureKind::Pace | FigureKind::Latency),
            Cause::StillWarming => kind != FigureKind::Other,
            Cause::Ceiling(_) => kind == FigureKind::Pace,
        };
        hides && self.binds()
    }

    /// Whether any of these bounds makes figures of a kind a lower bound.
    pub fn any_hides(bounds: &[Self], kind: FigureKind) -> bool {
        bounds.iter().any(|bound| bound.hides(kind))
    }

    pub const fn name(&self) -> &'static str {
        match self.cause {
            Cause::Generator(_) => "client-limited",
            Cause::StillWarming => "still warming up",
            Cause::Ceiling(_) => "at the ceiling",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FigureKind; 4] = [
        FigureKind::Pace,
        FigureKind::Latency,
        FigureKind::Cost,
        FigureKind::Other,
    ];

    fn bound(cause: Cause, rounds: usize, of: usize) -> Bound {
        Bound { cause, rounds, of }
    }

    #[test]
    fn each_cause_limits_only_the_figures_that_it_affects() {
        for (cause, hidden) in [
            (Cause::Generator(None), [true, true, false, false]),
            (Cause::StillWarming, [true, true, true, false]),
            (Cause::Ceiling(0.95), [true, false, false, false]),
        ] {
            let bound = bound(cause, 3, 6);
            assert_eq!(KINDS.map(|kind| bound.hides(kind)), hidden, "{bound:?}");
        }
    }

    #[test]
    fn a_quarter_of_the_rounds_is_tolerated() {
        for (rounds, of, binds) in [
            (1, 4, false),
            (1, 3, true),
            (2, 6, true),
            (1, 6, false),
            (1, 1, true),
        ] {
            let bound = bound(Cause::StillWarming, rounds, of);
            assert_eq!(bound.hides(FigureKind::Pace), binds, "{rounds} of {of}");
        }
    }

    #[test]
    fn near_the_ceiling_begins_at_nine_tenths() {
        assert_eq!(Bound::at_ceiling(6, Some(0.899)), None);
        assert_eq!(Bound::at_ceiling(6, None), None);
        assert!(Bound::at_ceiling(6, Some(0.9)).unwrap().binds());
    }
}
