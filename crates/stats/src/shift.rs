//! By how much one lies above another: the Hodges-Lehmann estimate with its interval.

use crate::{null, student};

/// The chance with which an interval may miss.
const MISS: f64 = 0.05;

/// The least p-value that is told: what is rarer is not known to be so.
const LEAST_P: f64 = 1e-12;

/// By how much one lies above another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub center: f64,
    pub low: f64,
    pub high: f64,
    pub p: f64,
    pub n: usize,
}

/// Of differences within pairs; `None` for fewer than two.
///
/// The center is the median of all means of two differences (Hodges and Lehmann 1963). The interval is that of
/// Wilcoxon's signed-rank test: it holds at its level wherever the differences lie symmetrically, as those of two
/// alike do.
pub fn paired(differences: &[f64]) -> Option<Shift> {
    let n = differences.len();
    if n < 2 {
        return None;
    }
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (i, one) in differences.iter().enumerate() {
        means.extend(differences[i..].iter().map(|other| (one + other) / 2.0));
    }
    Some(Inversion::new(means, null::signed_rank(n), n as f64 - 1.0).shift(n))
}

/// Of two samples; `None` where one has fewer than two values.
///
/// The center is the median of all differences between one of each; the interval is that of the
/// Mann-Whitney test.
pub fn unpaired(values: &[f64], baseline: &[f64]) -> Option<Shift> {
    let (n, m) = (values.len(), baseline.len());
    if n.min(m) < 2 {
        return None;
    }
    let differences = values
        .iter()
        .flat_map(|value| baseline.iter().map(move |base| value - base));
    let freedom = (n + m) as f64 - 2.0;
    Some(Inversion::new(differences.collect(), null::rank_sum(n, m), freedom).shift(n.min(m)))
}

/// A rank test turned round: the interval holds every shift that the test does not refuse.
///
/// Leaving `k` values out at each end misses with the chance `misses[k]`. Between two such chances an
/// interval's ends lie between theirs. An interval that is to miss less often than the whole range does is as much
/// wider than it as Student's interval is wider at the one chance than at the other.
struct Inversion {
    /// All pairwise means or differences, ascending.
    sorted: Vec<f64>,
    /// For each of the lower half of them.
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
                student::reach(miss, self.freedom) / student::reach(self.misses[0], self.freedom);
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

    /// The chance at which the interval begins to leave 0 out.
    fn p(&self) -> f64 {
        // The end that meets 0 first, as if the center were above it.
        let sign = self.center.signum();
        let center = self.center * sign;
        let end = |left_out: usize| match sign > 0.0 {
            true => self.sorted[left_out],
            false => -self.sorted[self.sorted.len() - 1 - left_out],
        };
        if center <= 0.0 {
            return 1.0;
        }
        if end(0) > 0.0 {
            let by = 1.0 + end(0) / self.half_range();
            let reached = by * student::reach(self.misses[0], self.freedom);
            return student::miss(reached, self.freedom);
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
#[path = "shift_tests.rs"]
mod tests;
