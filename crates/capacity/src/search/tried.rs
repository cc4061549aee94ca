//! Why a rate is tried, what became of it, and what a bisection found.

use serde::Serialize;

/// Why a rate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "purpose")]
pub enum Purpose {
    /// To come near the capacity.
    Approach,
    /// For a finding.
    Finding {
        /// Which one, from 1.
        number: u32,
    },
    /// To confirm a verdict that another one contradicts.
    Confirm,
    /// For the curve.
    Curve,
}

/// What became of a rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The server kept what is asked of it.
    Held,
    /// It did not.
    Failed,
    /// Nothing is known of it: the generator did not make the rate.
    Limited,
    /// Nothing is known of it: every try was noisy.
    Undecided,
}

/// What one fine bisection found: the capacity lies between these two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bisected {
    /// Where the server held.
    pub held: f64,
    /// Where it failed.
    pub failed: f64,
}

impl Bisected {
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
