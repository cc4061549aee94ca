//! Why the search tries a rate, the result, and what a bisection found.

use serde::Serialize;

/// Why the search tries a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "purpose")]
pub enum Purpose {
    /// To approach the capacity.
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

/// The result of trying a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// The server met the objective.
    Held,
    /// It did not.
    Failed,
    /// Inconclusive: the generator did not reach the rate.
    Limited,
}

/// The finding of a fine bisection: the capacity lies between these two rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bisected {
    /// The rate that the server sustained.
    pub(crate) held: f64,
    /// The rate at which it failed.
    pub(crate) failed: f64,
}

impl Bisected {
    /// The capacity according to this finding: the middle.
    pub(super) fn middle(&self) -> f64 {
        (self.held * self.failed).sqrt()
    }

    /// Whether it relies on this verdict.
    pub(super) fn rests_on(&self, rate: f64, verdict: Tried) -> bool {
        match verdict {
            Tried::Held => self.held == rate,
            _ => self.failed == rate,
        }
    }
}
