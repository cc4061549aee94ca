//! Confirms the verdicts that a capacity rests on by trying their rates again.

use super::tried::Tried;

/// How often a rate must give what is expected of it, and how often if it has given something else once.
const TIMES: [u32; 2] = [3, 4];

/// A rate, and what is expected of it: that it holds, or that it fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// In requests a second.
    pub rate: f64,
    /// What is expected.
    pub verdict: Tried,
}

/// What became of an expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided {
    /// What was expected.
    pub expected: Expected,
    /// Whether the tries agree.
    pub stands: bool,
    /// Whether any of them gave what is expected: those that say nothing contradict nothing, and show nothing either.
    pub seen: bool,
}

/// A rate at which the server is expected to hold and one at which it is expected to fail, as they are tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirming {
    expected: [Expected; 2],
    /// How many of them are decided.
    decided: usize,
    /// How many tries of this rate agreed, and how many contradicted.
    agreed: u32,
    contradicted: u32,
    /// How many of those that agreed did not just say nothing.
    seen: u32,
}

impl Confirming {
    /// That the server fails at the one rate and holds at the other.
    pub fn new(failed: f64, held: f64) -> Self {
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
    pub fn next(&self) -> Option<f64> {
        Some(self.expected.get(self.decided)?.rate)
    }

    /// What became of it. A verdict stands if three of three tries agree, or four of five. `Some` if this one decided.
    pub fn tried(&mut self, outcome: Tried) -> Option<Decided> {
        let expected = *self.expected.get(self.decided)?;
        match (expected.verdict, outcome) {
            (Tried::Held, Tried::Failed) | (Tried::Failed, Tried::Held) => self.contradicted += 1,
            // What says nothing contradicts nothing.
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

    /// What is decided of the two, as the tries give these outcomes.
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
    fn what_three_of_three_or_four_of_five_tries_gave_stands() {
        use Tried::{Failed, Held, Limited, Undecided};
        let both = [(100.0, true), (200.0, true)];
        assert_eq!(decided(&[Failed, Failed, Failed, Held, Held, Held]), both);
        let failed = [Held, Failed, Failed, Failed, Failed];
        let held = [Held, Held, Held, Held];
        let failed_once = [&[Failed][..], &held].concat();
        assert_eq!(decided(&[&failed[..], &failed_once].concat()), both);
        let twice = [Held, Failed, Held, Failed, Failed];
        assert_eq!(decided(&twice), [(100.0, false), (200.0, false)]);
        // What says nothing contradicts nothing.
        let nothing = [Undecided, Limited, Undecided];
        assert_eq!(decided(&[nothing, nothing].concat()), both);
        let mut confirming = Confirming::new(100.0, 200.0);
        let seen = [Undecided, Failed, Limited, Undecided, Limited, Undecided];
        let seen = seen.map(|outcome| Some(confirming.tried(outcome)?.seen));
        assert_eq!(seen, [None, None, Some(true), None, None, Some(false)]);
    }
}
