//! Tests whether values are random, independent draws with given chances. Each of the three tests gives a p-value: the
//! chance that true random draws deviate at least this far.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF};

/// Pearson's test of these `counts` against these expected `shares` (which add up to 1). It needs an expected count of
/// about 5 for each value; with less, its p-values are rough.
pub fn goodness_of_fit(counts: &[u64], shares: &[f64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let cells = counts.iter().zip(shares);
    let statistic = cells.map(|(&count, share)| cell(count, total * share));
    upper_tail(statistic.sum(), counts.len().saturating_sub(1))
}

/// Pearson's test that row and column are independent: `pairs[row][column]` is how often that pair occurred. Pairs may
/// overlap, each a value and its successor (Bartlett's test of a Markov chain's independence).
pub fn independence(pairs: &[Vec<u64>]) -> f64 {
    let rows: Vec<u64> = pairs.iter().map(|row| row.iter().sum()).collect();
    let width = pairs.iter().map(Vec::len).max().unwrap_or(0);
    let column = |number: usize| pairs.iter().filter_map(|row| row.get(number)).sum();
    let columns: Vec<u64> = (0..width).map(column).collect();
    let total = rows.iter().sum::<u64>() as f64;
    let cells = pairs.iter().zip(&rows).flat_map(|(row, &in_row)| {
        let columns = row.iter().zip(&columns);
        columns.map(move |(&count, &in_column)| (count, in_row as f64 * in_column as f64))
    });
    let statistic: f64 = cells.map(|(count, both)| cell(count, both / total)).sum();
    let used = |sums: &[u64]| sums.iter().filter(|&&sum| sum > 0).count();
    let freedom = used(&rows).saturating_sub(1) * used(&columns).saturating_sub(1);
    upper_tail(statistic, freedom)
}

/// The exact two-sided test that each of `trials` was a success with this `chance`.
pub fn binomial(successes: u64, trials: u64, chance: f64) -> f64 {
    let Ok(distribution) = Binomial::new(chance, trials) else {
        return 1.0;
    };
    let at_most = distribution.cdf(successes);
    // `sf` is the chance of strictly more.
    let at_least = successes
        .checked_sub(1)
        .map_or(1.0, |fewer| distribution.sf(fewer));
    (2.0 * at_most.min(at_least)).min(1.0)
}

fn cell(count: u64, expected: f64) -> f64 {
    if expected > 0.0 {
        (count as f64 - expected).powi(2) / expected
    } else {
        0.0
    }
}

fn upper_tail(statistic: f64, freedom: usize) -> f64 {
    match ChiSquared::new(freedom as f64) {
        Ok(distribution) => distribution.sf(statistic),
        // No degree of freedom: nothing can deviate.
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests;
