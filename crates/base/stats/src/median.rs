//! The median of a few rounds, with the interval that the rounds themselves support.

use crate::distribution::{MISS, student_reach};

/// The chance that an interval contains the true value.
pub const TARGET_COVERAGE: f64 = 0.95;

/// A median and its 95 % interval.
///
/// From six values on, the interval only assumes that the values are independent: the number of values below the true
/// median is binomial with chance one half. Intervals between two of the sorted values have discrete coverages; the
/// result is interpolated between the last one above 95 % and the first one below (Hettmansperger and Sheather 1986).
/// Its coverage is within 1 % of the nominal one for any distribution.
///
/// With two to five values the whole range contains the median in only 50 to 93.75 of 100 cases, so the interval is the
/// range widened by the ratio of Student's interval at 95 % to Student's interval at the coverage of the range. If all
/// values are positive, this is done on logarithms; if the lowest is 0, the interval starts at 0, because such figures
/// are never negative. The interval assumes that the values (or their logarithms) are roughly normal, and it is wide:
/// with two values that differ by 2 % it reaches 12.7 % to either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the values.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The chance (0 to 1) that the interval contains the true median: [`TARGET_COVERAGE`], or 0 for a single value.
    pub coverage: f64,
    /// How many values there were.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value per round; `None` if there is no value or one is not finite.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let sorted = sorted(values)?;
        let n = sorted.len();
        let cut = Cut::of(n);
        let (low, high) = match n {
            1 => (sorted[0], sorted[0]),
            _ if cut.miss > MISS => widened(&sorted, cut.miss),
            _ => interpolated(&sorted, &cut),
        };
        Some(Estimate {
            median: median_of_sorted(&sorted),
            low,
            high,
            coverage: if n > 1 { TARGET_COVERAGE } else { 0.0 },
            n,
        })
    }

    /// Half the interval's width as a share of the median: the `±` of a table. `None` for a single value or a median
    /// of 0.
    pub fn half_width_share(&self) -> Option<f64> {
        (self.n > 1 && self.median != 0.0).then(|| (self.high - self.low) / 2.0 / self.median.abs())
    }
}

/// The median; `None` if there is no value or one is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    sorted(values).map(|sorted| median_of_sorted(&sorted))
}

fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    // Half of each, because the sum of two huge values could overflow.
    sorted[(n - 1) / 2] / 2.0 + sorted[n / 2] / 2.0
}

/// The interval that leaves out as many values at each end as it can.
struct Cut {
    left_out: usize,
    /// The chance that it misses the true median: twice the chance of at most `left_out` successes.
    miss: f64,
    /// The same with one more value left out at each end: more than allowed.
    next_miss: f64,
}

impl Cut {
    fn of(n: usize) -> Cut {
        // The chance of exactly k successes, as a logarithm because 0.5^n may underflow.
        let mut ln_exactly = -(n as f64) * std::f64::consts::LN_2;
        let mut at_most = ln_exactly.exp();
        let mut cut = Cut {
            left_out: 0,
            miss: 2.0 * at_most,
            next_miss: 1.0,
        };
        for left_out in 1..n.div_ceil(2) {
            ln_exactly += ((n - left_out + 1) as f64 / left_out as f64).ln();
            at_most += ln_exactly.exp();
            cut.next_miss = (2.0 * at_most).min(1.0);
            if cut.next_miss > MISS {
                break;
            }
            (cut.left_out, cut.miss) = (left_out, cut.next_miss);
        }
        cut
    }
}

/// Between the narrowest interval that misses rarely enough and the next narrower one.
fn interpolated(sorted: &[f64], cut: &Cut) -> (f64, f64) {
    let (n, place) = (sorted.len() as f64, cut.left_out as f64 + 1.0);
    let share = (MISS - cut.miss) / (cut.next_miss - cut.miss);
    let way = (n - place) * share / (place + (n - 2.0 * place) * share);
    let last = sorted.len() - 1;
    let between = |outer: f64, inner: f64| outer * (1.0 - way) + inner * way;
    (
        between(sorted[cut.left_out], sorted[cut.left_out + 1]),
        between(sorted[last - cut.left_out], sorted[last - cut.left_out - 1]),
    )
}

/// The whole range, which misses with the chance `range_misses`, widened to 95 % coverage.
fn widened(sorted: &[f64], range_misses: f64) -> (f64, f64) {
    let (lowest, highest) = (sorted[0], sorted[sorted.len() - 1]);
    let freedom = sorted.len() as f64 - 1.0;
    let more = student_reach(MISS, freedom) / student_reach(range_misses, freedom) - 1.0;
    let away = |low: f64, high: f64| {
        let by = more * (high / 2.0 - low / 2.0);
        (low - by, high + by)
    };
    let (low, high) = if lowest > 0.0 {
        let (low, high) = away(lowest.ln(), highest.ln());
        // Rounding in ln and exp must not shrink the range.
        (low.exp().min(lowest), high.exp().max(highest))
    } else if lowest == 0.0 {
        (0.0, away(lowest, highest).1)
    } else {
        away(lowest, highest)
    };
    (low.max(f64::MIN), high.min(f64::MAX))
}

#[cfg(test)]
mod tests;
