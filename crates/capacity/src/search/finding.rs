//! What one bisection found.

use super::Tried;

/// What one fine bisection found: the capacity lies between these two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finding {
    /// Where the server held.
    pub held: f64,
    /// Where it failed.
    pub failed: f64,
}

impl Finding {
    /// What it says of the capacity.
    pub fn middle(&self) -> f64 {
        (self.held * self.failed).sqrt()
    }

    /// Whether it rests on this verdict.
    pub fn rests_on(&self, rate: f64, verdict: Tried) -> bool {
        match verdict {
            Tried::Held => self.held == rate,
            _ => self.failed == rate,
        }
    }
}
