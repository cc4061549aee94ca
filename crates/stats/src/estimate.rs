//! The median of a few rounds, with the interval that the rounds themselves support.

use crate::student;

/// The chance with which an interval holds what it is an interval of.
pub const TARGET_COVERAGE: f64 = 0.95;

/// The chance with which it misses.
const MISS: f64 = 1.0 - TARGET_COVERAGE;

/// A median and its 95 % interval.
///
/// From six values on the interval assumes nothing about how values are distributed but that they are independent:
/// the number of values below the true median is binomial with chance one half. Between two intervals from one of the
/// sorted values to another, of which one holds the median more often than in 95 of 100 cases and the next one less
/// often, it is interpolated as Hettmansperger and Sheather (1986) do; how values lie between two neighbours hardly
/// matters, so its coverage is within 1 % of the nominal one.
///
/// Two to five values do not suffice for that: their whole range holds the median in 50 to 93.75 of 100 cases. Their
/// interval is the range, as much wider as Student's interval is wider at 95 % than at what the range has; of
/// logarithms if all values are positive. If the lowest value is 0, the interval starts at 0, because such figures are
/// never negative. The interval assumes that values (or their logarithms) are about normal, and it is wide: of two
/// values that differ by 2 % it reaches 12.7 % to either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the values.
    pub median: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The chance (0 to 1) that the interval holds the true median: [`TARGET_COVERAGE`], and 0 for a single value.
    pub coverage: f64,
    /// How many values there were.
    pub n: usize,
}

impl Estimate {
    /// The estimate from one value a round; `None` where there is none, or where one is not a
    /// finite number.
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

    /// Whether the data leave open which of two is the larger: their intervals touch, or one of
    /// them is a single value, of whose spread nothing is known.
    pub fn overlaps(&self, other: &Estimate) -> bool {
        let unknown_spread = self.n < 2 || other.n < 2;
        unknown_spread || (self.low <= other.high && other.low <= self.high)
    }

    /// Half the interval's width as a share of the median: the `±` of a table. `None` for a
    /// single value or a median of 0.
    pub fn half_width_share(&self) -> Option<f64> {
        (self.n > 1 && self.median != 0.0).then(|| (self.high - self.low) / 2.0 / self.median.abs())
    }
}

/// The median; `None` where there is no value, or where one is not a finite number.
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
    // Half of each, so that the sum of two huge values cannot overflow.
    sorted[(n - 1) / 2] / 2.0 + sorted[n / 2] / 2.0
}

/// The interval that leaves out as many values at each end as it may.
struct Cut {
    left_out: usize,
    /// The chance that it misses the true median: twice that of at most `left_out` successes.
    miss: f64,
    /// The same with one value more left out at each end: more than it may miss.
    next_miss: f64,
}

impl Cut {
    fn of(n: usize) -> Cut {
        // The chance of exactly k successes, kept as a logarithm: 0.5^n itself may underflow.
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

/// Between the narrowest interval that misses rarely enough and the next one, which does not.
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

/// The whole range, which misses with the chance `range_misses`, widened to one that misses rarely enough.
fn widened(sorted: &[f64], range_misses: f64) -> (f64, f64) {
    let (lowest, highest) = (sorted[0], sorted[sorted.len() - 1]);
    let freedom = sorted.len() as f64 - 1.0;
    let more = student::reach(MISS, freedom) / student::reach(range_misses, freedom) - 1.0;
    let away = |low: f64, high: f64| {
        let by = more * (high / 2.0 - low / 2.0);
        (low - by, high + by)
    };
    let (low, high) = match lowest > 0.0 {
        true => {
            let (low, high) = away(lowest.ln(), highest.ln());
            // The way there and back must not end inside of the range.
            (low.exp().min(lowest), high.exp().max(highest))
        }
        false if lowest == 0.0 => (0.0, away(lowest, highest).1),
        false => away(lowest, highest),
    };
    (low.max(f64::MIN), high.min(f64::MAX))
}

#[cfg(test)]
#[path = "estimate_tests.rs"]
mod tests;
