//! How rank tests fall out where there is no difference: the chance that a statistic is at most so much, for the
//! lower half of its values. The other half mirrors it.

use statrs::function::erf::erfc;

/// Up to so many pairs all ways are counted; beyond it the normal approximation differs from them by less than 3 % of a
/// chance as small as 0.0001.
const COUNTED_PAIRS: usize = 60;

/// Likewise for two samples: so many steps at the most, some 50 values of each.
const COUNTED_STEPS: usize = 150_000;

/// Wilcoxon's signed-rank statistic of `n` differences.
pub fn signed_rank(n: usize) -> Vec<f64> {
    let values = n * (n + 1) / 2;
    if n <= COUNTED_PAIRS {
        return at_most(
            signed_rank_counts(n),
            (n as f64 * -std::f64::consts::LN_2).exp(),
        );
    }
    let (k, mean) = (n as f64, values as f64 / 2.0);
    let variance = k * (k + 1.0) * (2.0 * k + 1.0) / 24.0;
    // The fourth cumulant of a sum of independent signs with weights 1 to n is -Σ r⁴ / 8.
    let fourth = k * (k + 1.0) * (2.0 * k + 1.0) * (3.0 * k * k + 3.0 * k - 1.0) / 30.0;
    approximately(values, mean, variance, -fourth / 8.0)
}

/// The Mann-Whitney statistic of samples of `n` and `m` values.
pub fn rank_sum(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    let values = n * m;
    if n * values <= COUNTED_STEPS {
        let counts = rank_sum_counts(n, m);
        return at_most(counts, 1.0 / ways_to_choose(n, n + m));
    }
    let (a, b) = (n as f64, m as f64);
    let variance = a * b * (a + b + 1.0) / 12.0;
    let fourth = -a * b * (a + b + 1.0) * (a * a + b * b + a * b + a + b) / 120.0;
    approximately(values, a * b / 2.0, variance, fourth)
}

/// How many values of a statistic from 0 to `largest` lie in its lower half, the middle one included.
fn lower_half(largest: usize) -> usize {
    (largest - 1) / 2 + 1
}

fn at_most(counts: Vec<f64>, chance_of_each: f64) -> Vec<f64> {
    let mut sum = 0.0;
    counts
        .into_iter()
        .map(|count| {
            sum += count;
            (sum * chance_of_each).min(0.5)
        })
        .collect()
}

/// The normal approximation, with the half step between whole values and the correction for kurtosis (Edgeworth).
fn approximately(largest: usize, mean: f64, variance: f64, fourth_cumulant: f64) -> Vec<f64> {
    let excess = fourth_cumulant / (variance * variance);
    let mut least = 0.0_f64;
    (0..lower_half(largest))
        .map(|value| {
            let z = (value as f64 + 0.5 - mean) / variance.sqrt();
            let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let chance = erfc(-z / std::f64::consts::SQRT_2) / 2.0
                - density * excess / 24.0 * (z * z * z - 3.0 * z);
            // Far out the correction may be larger than what it corrects.
            least = chance.clamp(least.max(f64::MIN_POSITIVE), 0.5);
            least
        })
        .collect()
}

/// In how many ways the ranks of `n` differences with random signs have each sum of positive ranks: the lower half.
fn signed_rank_counts(n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; lower_half(n * (n + 1) / 2)];
    counts[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// In how many ways `n` and `m` values can lie among each other, by the number of pairs in which the first is the
/// greater: the lower half. They are the coefficients of Π (1 - qᵐ⁺ⁱ) / (1 - qⁱ) for i from 1 to n.
fn rank_sum_counts(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; lower_half(n * m)];
    counts[0] = 1.0;
    for i in 1..=n {
        for pairs in (m + i..counts.len()).rev() {
            counts[pairs] -= counts[pairs - m - i];
        }
        for pairs in i..counts.len() {
            counts[pairs] += counts[pairs - i];
        }
    }
    counts
}

fn ways_to_choose(some: usize, of: usize) -> f64 {
    (1..=some).fold(1.0, |ways, i| ways * (of - some + i) as f64 / i as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_tables() {
        assert_eq!(signed_rank_counts(3), [1.0, 1.0, 1.0]);
        assert_eq!(
            signed_rank_counts(5),
            [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]
        );
        assert_eq!(rank_sum_counts(2, 2), [1.0, 1.0]);
        assert_eq!(rank_sum_counts(3, 3), [1.0, 1.0, 2.0, 3.0, 3.0]);
    }

    #[test]
    fn signed_rank_chances_are_those_of_the_tables() {
        // The greatest sums that a one-sided test at 2.5 % still refuses (Wilcoxon and Wilcox 1964).
        for (n, critical) in [
            (6, 0),
            (8, 3),
            (10, 8),
            (15, 25),
            (20, 52),
            (25, 89),
            (30, 137),
        ] {
            let chances = signed_rank(n);
            assert!(chances[critical] <= 0.025, "{n}: {}", chances[critical]);
            assert!(
                chances[critical + 1] > 0.025,
                "{n}: {}",
                chances[critical + 1]
            );
        }
        assert!((signed_rank(10)[8] - 25.0 / 1024.0).abs() < 1e-12);
    }

    #[test]
    fn rank_sum_chances_are_those_of_the_tables() {
        // Likewise for the Mann-Whitney statistic (Mann and Whitney 1947; Milton 1964).
        for (n, m, critical) in [
            (4, 4, 0),
            (5, 5, 2),
            (5, 8, 6),
            (8, 8, 13),
            (10, 10, 23),
            (20, 20, 127),
        ] {
            let chances = rank_sum(n, m);
            assert!(chances[critical] <= 0.025, "{n} {m}: {}", chances[critical]);
            assert!(
                chances[critical + 1] > 0.025,
                "{n} {m}: {}",
                chances[critical + 1]
            );
        }
    }

    #[test]
    fn every_way_is_counted_once() {
        for n in 1..=9 {
            for m in 1..=9 {
                let (counted, tried) = (rank_sum_counts(n, m), rank_sum_tried(n, m));
                assert_eq!(counted, tried[..counted.len()], "{n} {m}");
            }
        }
    }

    /// By looking at each choice of `n` places among `n + m`.
    fn rank_sum_tried(n: usize, m: usize) -> Vec<f64> {
        let mut counts = vec![0.0; n * m + 1];
        for choice in 0_u32..1 << (n + m) {
            if choice.count_ones() as usize == n {
                let pairs: u32 = (0..n + m)
                    .filter(|place| choice >> place & 1 == 1)
                    .map(|place| (!choice & ((1 << place) - 1)).count_ones())
                    .sum();
                counts[pairs as usize] += 1.0;
            }
        }
        counts
    }

    #[test]
    fn the_approximation_meets_the_counts_where_it_takes_over() {
        let close = |counted: Vec<f64>, approximated: Vec<f64>| {
            assert_eq!(counted.len(), approximated.len());
            for (one, other) in counted.iter().zip(&approximated) {
                assert!(
                    *one < 1e-4 || (one / other - 1.0).abs() < 0.03,
                    "{one} {other}"
                );
            }
        };
        let n = COUNTED_PAIRS + 1;
        let counts = signed_rank_counts(n);
        close(at_most(counts, 0.5_f64.powi(n as i32)), signed_rank(n));
        let counts = rank_sum_counts(51, 60);
        close(
            at_most(counts, 1.0 / ways_to_choose(51, 111)),
            rank_sum(60, 51),
        );
        let counts = rank_sum_counts(25, 300);
        close(
            at_most(counts, 1.0 / ways_to_choose(25, 325)),
            rank_sum(25, 300),
        );
    }

    #[test]
    fn chances_grow_to_one_half_for_any_size() {
        for chances in [
            signed_rank(2),
            signed_rank(59),
            signed_rank(500),
            rank_sum(2, 2),
            rank_sum(49, 50),
            rank_sum(300, 400),
        ] {
            assert!(chances.windows(2).all(|pair| pair[0] <= pair[1]));
            let last = chances[chances.len() - 1];
            assert!(chances[0] > 0.0 && (0.3..=0.5).contains(&last), "{last}");
        }
    }
}
