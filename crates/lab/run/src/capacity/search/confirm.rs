//! Confirms the verdicts behind a capacity by trying their rates again.

use super::tried::Tried;

/// How many tries must agree with an expectation, and how many if one has contradicted it.
const TIMES: [u32; 2] = [3, 4];

/// A rate, and whether the server is expected to sustain it or to fail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    /// In requests per second.
    pub(crate) rate: f64,
    /// The expectation.
    pub(crate) verdict: Tried,
}

/// The result of testing an expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decided {
    /// The expectation.
    pub(crate) expected: Expected,
    /// Whether the tries agree with it.
    pub(crate) stands: bool,
    /// Whether any try did more than not contradict it: inconclusive tries count as agreement, but show nothing.
    pub(crate) seen: bool,
}

/// A rate that the server is expected to sustain and one at which it is expected to fail, while they are being tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Confirming {
    expected: [Expected; 2],
    /// How many of the two are decided.
    decided: usize,
    /// How many tries of the current rate agreed, and how many contradicted.
    agreed: u32,
    contradicted: u32,
    /// How many of those that agreed were conclusive.
    seen: u32,
}

impl Confirming {
    /// Expects the server to fail at the one rate and to sustain the other.
    pub(super) fn new(failed: f64, held: f64) -> Self {
        let expected = |rate, verdict| Expected { rate, verdict };
        Self {
            expected: [expected(failed, Tried::Failed), expected(held, Tried::Held)],
            decided: 0,
            agreed: 0,
            contradicted: 0,
            seen: 0,
        }
    }

    /// The rate to try next; `None` if both are decided.
    pub(super) fn next(&self) -> Option<f64> {
        Some(self.expected.get(self.decided)?.rate)
    }

    /// Records the result of that rate. An expectation stands if three of three tries agree, or four of five. `Some` if this
    /// try decided it.
    pub(super) fn tried(&mut self, outcome: Tried) -> Option<Decided> {
        let expected = *self.expected.get(self.decided)?;
        match (expected.verdict, outcome) {
            (Tried::Held, Tried::Failed) | (Tried::Failed, Tried::Held) => self.contradicted += 1,
            // An inconclusive try does not contradict.
            _ => self.agreed += 1,
        }
        self.seen += u32::from(outcome == expected.verdict);
        let needed = TIMES.get(self.contradicted as usize);
        let stands = needed.is_some_and(|times| self.agreed >= *times);
        if !stands && needed.is_some() {
            return None;
        }
        self.decided += 1;
        let seen = self.seen > 0;
        (self.agreed, self.contradicted, self.seen) = (0, 0, 0);
        Some(Decided {
            expected,
            stands,
            seen,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decisions about the two rates, given these results.
    fn decided(outcomes: &[Tried]) -> Vec<(f64, bool)> {
        let mut confirming = Confirming::new(100.0, 200.0);
        let mut decided = Vec::new();
        for outcome in outcomes {
            assert!(confirming.next().is_some());
            decided.extend(confirming.tried(*outcome));
        }
        assert_eq!(confirming.next(), None, "both are decided");
        let pairs = decided.iter().map(|it| (it.expected.rate, it.stands));
        pairs.collect()
    }

    #[test]
    fn three_of_three_or_four_of_five_tries_decide() {
        use Tried::{Failed, Held, Limited};
        let both = [(100.0, true), (200.0, true)];
        assert_eq!(decided(&[Failed, Failed, Failed, Held, Held, Held]), both);
        let failed = [Held, Failed, Failed, Failed, Failed];
        let held = [Held, Held, Held, Held];
        let failed_once = [&[Failed][..], &held].concat();
        assert_eq!(decided(&[&failed[..], &failed_once].concat()), both);
        let twice = [Held, Failed, Held, Failed, Failed];
        assert_eq!(decided(&twice), [(100.0, false), (200.0, false)]);
        // An inconclusive try does not contradict.
        let nothing = [Limited; 3];
        assert_eq!(decided(&[nothing, nothing].concat()), both);
        let mut confirming = Confirming::new(100.0, 200.0);
        let seen = [Limited, Failed, Limited, Limited, Limited, Limited];
        let seen = seen.map(|outcome| Some(confirming.tried(outcome)?.seen));
        assert_eq!(seen, [None, None, Some(true), None, None, Some(false)]);
    }
}
