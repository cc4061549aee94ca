//! What is known of a capacity.

use prony_stats::median;
use serde::{Deserialize, Serialize};

/// What is known of the capacity. Rates are in requests per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "known")]
pub enum Found {
    /// The greatest rate that the server sustains.
    Capacity {
        /// The median of the findings.
        per_s: f64,
        /// The lower end of its interval, from the highest rate that each finding saw sustained.
        low_per_s: f64,
        /// The upper end of its interval, from the lowest rate that each finding saw fail.
        high_per_s: f64,
        /// The probability (0 to 1) that the interval contains the true median; 0 for a single finding.
        coverage: f64,
        /// The result of each bisection: the middle between the rate that was sustained and the one that failed.
        findings_per_s: Vec<f64>,
        /// Whether the search confirmed that the server sustains a rate as far below as the precision allows, and fails as far above.
        confirmed: bool,
    },
    /// The interval is wider than the requested precision, so there is no capacity to report.
    Imprecise {
        /// The lowest rate at which a bisection, or a trial that contradicts one, ended; `None` if none did.
        low_per_s: Option<f64>,
        /// The highest such rate; `None` if there is none.
        high_per_s: Option<f64>,
        /// The result of each bisection.
        findings_per_s: Vec<f64>,
    },
    /// The server sustains this rate; above it the generator was the limit.
    AtLeast {
        /// The highest rate that the server certainly sustained; `None` if it sustained none.
        per_s: Option<f64>,
        /// The rate at which the generator was the limit.
        limited_at_per_s: f64,
    },
    /// The server does not sustain even the lowest rate.
    Nothing {
        /// That rate.
        tried_per_s: f64,
    },
    /// The search ended before it had a result.
    Between {
        /// The highest rate that was sustained, if any.
        held_per_s: Option<f64>,
        /// The lowest rate that failed, if any.
        failed_per_s: Option<f64>,
    },
}

impl Found {
    /// The best estimate of the capacity: the middle of what is known, or its one end. `None` if nothing is known.
    pub fn best_per_s(&self) -> Option<f64> {
        let middle = |low: Option<f64>, high: Option<f64>| match (low, high) {
            (Some(low), Some(high)) => Some((low * high).sqrt()),
            (one, other) => one.or(other),
        };
        match self {
            Self::Capacity { per_s, .. } => Some(*per_s),
            Self::Imprecise {
                low_per_s,
                high_per_s,
                findings_per_s,
            } => median(findings_per_s).or_else(|| middle(*low_per_s, *high_per_s)),
            Self::AtLeast { per_s, .. } => *per_s,
            Self::Nothing { .. } => None,
            Self::Between {
                held_per_s,
                failed_per_s,
            } => middle(*held_per_s, *failed_per_s),
        }
    }

    /// The same as an estimate that is not reported as a capacity.
    pub(crate) fn without_precision(self) -> Self {
        match self {
            Self::Capacity {
                low_per_s,
                high_per_s,
                findings_per_s,
                ..
            } => Self::Imprecise {
                low_per_s: Some(low_per_s),
                high_per_s: Some(high_per_s),
                findings_per_s,
            },
            Self::Nothing { tried_per_s } => Self::Imprecise {
                low_per_s: None,
                high_per_s: Some(tried_per_s),
                findings_per_s: Vec::new(),
            },
            other => other,
        }
    }
}

/// The precision of a capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The greatest distance of the interval's ends from the capacity, as a share of it: 0.1 for ±10 %.
    pub share: f64,
    /// The least number of findings. If the interval is too wide, there are up to twice as many.
    pub repeats: u32,
}

/// The interval spans at least one bracket, and several if findings differ by a bracket or two.
const BRACKETS: f64 = 5.0;

impl Precision {
    /// The width of each bisection, as a share of the rate.
    pub fn resolution(&self) -> f64 {
        self.share / BRACKETS
    }

    /// Whether a capacity is this precise.
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
        // The spread of a single finding is unknown, which is acceptable only if one finding was requested.
        let has_spread = findings_per_s.len() > 1 || self.repeats == 1;
        let farthest = (per_s - low_per_s).max(high_per_s - per_s);
        has_spread && farthest <= self.share * per_s
    }
}
