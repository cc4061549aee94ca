//! What a comparison of new with old says.

use crate::Ratio;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More of it: requests a second.
    Higher,
    /// Less of it: a latency, CPU time for a request.
    Lower,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is better, by the threshold at the least as far as can be told.
    Improved,
    /// It is worse, likewise.
    Worse,
    /// No change is seen, and one of the threshold's size would have been.
    NoChangeSeen,
    /// The interval is so wide that a change of the threshold's size might hide in it.
    TooNoisy,
}

/// The verdict on a ratio of new to old.
///
/// `p` is its p-value, corrected for the number of comparisons that are made together. `threshold` is the least change
/// that matters, as a share: 0.02 for 2 %. A change is called where it is there for certain (`p` below 0.05) and its
/// estimate is at least the threshold.
pub fn judge(ratio: &Ratio, p: f64, threshold: f64, better: Better) -> Verdict {
    let away = |ratio: f64| ratio.ln().abs();
    let matters = (1.0 + threshold).ln();
    if p < 0.05 && away(ratio.ratio) >= matters {
        return match (ratio.ratio > 1.0, better) {
            (true, Better::Higher) | (false, Better::Lower) => Verdict::Improved,
            _ => Verdict::Worse,
        };
    }
    match away(ratio.low).max(away(ratio.high)) <= matters {
        true => Verdict::NoChangeSeen,
        false => Verdict::TooNoisy,
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
