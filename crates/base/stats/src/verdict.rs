//! The verdict on a comparison of new with old.

use crate::ratio::Ratio;

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better: requests per second.
    Higher,
    /// Less is better: a latency, CPU time per request.
    Lower,
}

/// What a comparison shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Certainly better, and by an estimate of at least the threshold.
    Improved,
    /// Certainly worse, likewise.
    Worse,
    /// No change as large as the threshold: the interval excludes it.
    NoChangeSeen,
    /// The interval is so wide that a change as large as the threshold could hide in it.
    Inconclusive,
}

/// The verdict on a ratio of new to old.
///
/// `p` is its p-value, corrected for the number of comparisons. `threshold` is the smallest change that matters, as a
/// share: 0.02 for 2 %. A change is reported if it is certain (`p` below 0.05) and its estimate reaches the threshold.
pub fn judge(ratio: &Ratio, p: f64, threshold: f64, better: Better) -> Verdict {
    judge_at(0.05, ratio, p, threshold, better)
}

/// The same for another significance: a change is certain if `p` is below it.
pub fn judge_at(
    significance: f64,
    ratio: &Ratio,
    p: f64,
    threshold: f64,
    better: Better,
) -> Verdict {
    let away = |ratio: f64| ratio.ln().abs();
    let matters = (1.0 + threshold).ln();
    if p < significance && away(ratio.ratio) >= matters {
        return match (ratio.ratio > 1.0, better) {
            (true, Better::Higher) | (false, Better::Lower) => Verdict::Improved,
            _ => Verdict::Worse,
        };
    }
    if away(ratio.low).max(away(ratio.high)) <= matters {
        Verdict::NoChangeSeen
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests;
