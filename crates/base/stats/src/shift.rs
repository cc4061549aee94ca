//! How far one sample lies above another: the Hodges-Lehmann estimate with its interval.

use crate::distribution::{LEAST_P, MISS, rank_sum, signed_rank, student_miss, student_reach};

/// How far one sample lies above another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shift {
    pub(crate) center: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p: f64,
    pub(crate) n: usize,
}

/// From differences within pairs; `None` for fewer than two.
///
/// The center is the median of all Walsh averages, the means of two differences (Hodges and Lehmann 1963). The interval
/// is that of Wilcoxon's signed-rank test, which keeps its level if the differences are symmetric.
pub(crate) fn paired(differences: &[f64]) -> Option<Shift> {
    let n = differences.len();
    if n < 2 {
        return None;
    }
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (i, one) in differences.iter().enumerate() {
        means.extend(differences[i..].iter().map(|other| (one + other) / 2.0));
    }
    Some(Inversion::new(means, signed_rank(n), n as f64 - 1.0).shift(n))
}

/// From two samples; `None` if one has fewer than two values.
///
/// The center is the median of all differences between a value of each; the interval is that of the Mann-Whitney test.
pub(crate) fn unpaired(values: &[f64], baseline: &[f64]) -> Option<Shift> {
    let (n, m) = (values.len(), baseline.len());
    if n.min(m) < 2 {
        return None;
    }
    let differences = values
        .iter()
        .flat_map(|value| baseline.iter().map(move |base| value - base));
    let freedom = (n + m) as f64 - 2.0;
    Some(Inversion::new(differences.collect(), rank_sum(n, m), freedom).shift(n.min(m)))
}

/// An inverted rank test: the interval contains every shift that the test does not reject.
///
/// An interval that leaves out `k` values at each end misses with the chance `misses[k]`; for a chance between two of
/// these its ends are interpolated. If even the whole range misses too often, it is widened by the ratio of Student's
/// intervals at the two chances.
struct Inversion {
    /// All pairwise means or differences, ascending.
    sorted: Vec<f64>,
    /// One for each value of the lower half.
    misses: Vec<f64>,
    center: f64,
    freedom: f64,
}

impl Inversion {
    fn new(mut values: Vec<f64>, at_most: Vec<f64>, freedom: f64) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len();
        Self {
            center: (values[(count - 1) / 2] + values[count / 2]) / 2.0,
            sorted: values,
            misses: at_most.into_iter().map(|chance| 2.0 * chance).collect(),
            freedom,
        }
    }

    fn shift(&self, n: usize) -> Shift {
        let (low, high) = self.interval(MISS);
        Shift {
            center: self.center,
            low,
            high,
            p: self.p().max(LEAST_P),
            n,
        }
    }

    /// The interval that misses with the chance `miss`.
    fn interval(&self, miss: f64) -> (f64, f64) {
        let last = self.sorted.len() - 1;
        if miss < self.misses[0] {
            let by =
                student_reach(miss, self.freedom) / student_reach(self.misses[0], self.freedom);
            let wider = (by - 1.0) * self.half_range();
            return (self.sorted[0] - wider, self.sorted[last] + wider);
        }
        let inner = self.misses.partition_point(|&chance| chance <= miss);
        let outer = inner - 1;
        let (inner_miss, inner_low, inner_high) = match self.misses.get(inner) {
            Some(&chance) => (chance, self.sorted[inner], self.sorted[last - inner]),
            None => (1.0, self.center, self.center),
        };
        let way = match inner_miss - self.misses[outer] {
            span if span > 0.0 => (miss - self.misses[outer]) / span,
            _ => 0.0,
        };
        let between = |outer: f64, inner: f64| outer + (inner - outer) * way;
        (
            between(self.sorted[outer], inner_low),
            between(self.sorted[last - outer], inner_high),
        )
    }

    fn half_range(&self) -> f64 {
        (self.sorted[self.sorted.len() - 1] - self.sorted[0]) / 2.0
    }

    /// The chance at which the interval begins to exclude 0.
    fn p(&self) -> f64 {
        // The end nearer to 0, mirrored so that the center is above 0.
        let sign = self.center.signum();
        let center = self.center * sign;
        let end = |left_out: usize| {
            if sign > 0.0 {
                self.sorted[left_out]
            } else {
                -self.sorted[self.sorted.len() - 1 - left_out]
            }
        };
        if center <= 0.0 {
            return 1.0;
        }
        if end(0) > 0.0 {
            let by = 1.0 + end(0) / self.half_range();
            let reached = by * student_reach(self.misses[0], self.freedom);
            return student_miss(reached, self.freedom);
        }
        let inner = (0..self.misses.len())
            .find(|&left_out| end(left_out) > 0.0)
            .unwrap_or(self.misses.len());
        let (inner_miss, inner_end) = match self.misses.get(inner) {
            Some(&chance) => (chance, end(inner)),
            None => (1.0, center),
        };
        let (outer_miss, outer_end) = (self.misses[inner - 1], end(inner - 1));
        outer_miss + (inner_miss - outer_miss) * (-outer_end / (inner_end - outer_end))
    }
}

#[cfg(test)]
mod tests;
