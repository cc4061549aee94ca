//! What is known of a capacity.

use serde::{Deserialize, Serialize};

/// What is known of the capacity. Rates are in requests a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "known")]
pub enum Found {
    /// The greatest rate that holds.
    Capacity {
        /// The median of the findings.
        per_s: f64,
        /// The lower end of its interval: that of the rates which the findings saw hold.
        low_per_s: f64,
        /// The upper end of its interval: that of the rates which they saw fail.
        high_per_s: f64,
        /// The chance (0 to 1) that the interval holds the true median; 0 for a single finding.
        coverage: f64,
        /// What each bisection found: the middle between what held and what failed.
        findings_per_s: Vec<f64>,
        /// Whether the server was seen to hold as far below it as the precision allows, and to fail as far above.
        confirmed: bool,
    },
    /// The interval is wider than the precision that was asked for, so this is no capacity.
    Imprecise {
        /// The lowest rate that a bisection, or what contradicts one, ended at; `None` if none did.
        low_per_s: Option<f64>,
        /// The highest rate that one ended at; `None` if none did.
        high_per_s: Option<f64>,
        /// What each bisection found.
        findings_per_s: Vec<f64>,
    },
    /// The server holds at this rate; above it the generator was the limit.
    AtLeast {
        /// The highest rate that was seen to hold before that; `None` if none was.
        per_s: Option<f64>,
        /// Where the generator was the limit.
        limited_at_per_s: f64,
    },
    /// Not even the least rate that is tried holds.
    Nothing {
        /// That rate.
        tried_per_s: f64,
    },
    /// The search was ended before it had found anything closer.
    Between {
        /// The highest rate that held, if any.
        held_per_s: Option<f64>,
        /// The lowest that did not, if any.
        failed_per_s: Option<f64>,
    },
}

/// How exact the capacity is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// How far the ends of the interval may be from the capacity, as a share of it: 0.1 for ±10 %.
    pub share: f64,
    /// How many findings there are at least. If the interval is too wide, there are up to twice as many.
    pub repeats: u32,
}

/// The interval reaches over at least one bracket, and over several if findings differ by a bracket or two.
const BRACKETS: f64 = 5.0;

impl Precision {
    /// How narrow each bisection is, as a share of the rate.
    pub fn resolution(&self) -> f64 {
        self.share / BRACKETS
    }

    /// Whether a capacity is as exact as that.
    pub(super) fn is_met(&self, found: &Found) -> bool {
        let Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            findings_per_s,
            ..
        } = found
        else {
            return false;
        };
        // Of a single finding no spread is known, which is only what was asked for if one was asked for.
        let has_spread = findings_per_s.len() > 1 || self.repeats == 1;
        let farthest = (per_s - low_per_s).max(high_per_s - per_s);
        has_spread && farthest <= self.share * per_s
    }
}
