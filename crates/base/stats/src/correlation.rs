//! Whether two quantities rise and fall together.

/// Up to this many pairs every permutation is tried, beyond it a sample of them.
const ALL_ORDERS: usize = 7;

/// The size of the sample: a p-value of 0.01 is then known to within 0.002.
const ORDERS: u32 = 10_000;

/// Spearman's rank correlation of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Correlation {
    /// The correlation, from -1 to 1.
    pub rho: f64,
    /// Its two-sided p-value: the share of permutations whose correlation is at least as far from 0.
    pub p: f64,
}

/// The rank correlation of pairs. Equal values share the mean of their ranks.
///
/// `None` if the slices differ in length, have fewer than four values, are constant, or contain a value that is not
/// finite. Permutations are drawn from a fixed seed: the same pairs give the same p.
pub fn spearman(one: &[f64], other: &[f64]) -> Option<Correlation> {
    if one.len() != other.len() || one.len() < 4 {
        return None;
    }
    let (one, mut other) = (scores(one)?, scores(other)?);
    let product = |other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let found = product(&other);
    // Slightly less, because the order of additions must not decide.
    let far = |other: &[f64]| product(other).abs() >= found.abs() - 1e-9;
    let p = if one.len() <= ALL_ORDERS {
        let (mut as_far, mut all) = (0_u32, 0_u32);
        every_order(&mut other, 0, &mut |order| {
            all += 1;
            as_far += u32::from(far(order));
        });
        f64::from(as_far) / f64::from(all)
    } else {
        let mut random = fastrand::Rng::with_seed(1);
        let as_far = (0..ORDERS)
            .filter(|_| {
                random.shuffle(&mut other);
                far(&other)
            })
            .count();
        (as_far as f64 + 1.0) / (f64::from(ORDERS) + 1.0)
    };
    Some(Correlation {
        rho: found.clamp(-1.0, 1.0),
        p,
    })
}

/// Centered ranks, scaled to length 1: the correlation of two is the sum of their products.
fn scores(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let mut scores: Vec<f64> = values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count() as f64;
            let equal = values.iter().filter(|other| *other == value).count() as f64;
            below + (equal - 1.0) / 2.0 - mean
        })
        .collect();
    let length = scores.iter().map(|score| score * score).sum::<f64>().sqrt();
    for score in &mut scores {
        *score /= length;
    }
    (length > 0.0).then_some(scores)
}

fn every_order(values: &mut [f64], from: usize, see: &mut impl FnMut(&[f64])) {
    if from + 1 >= values.len() {
        return see(values);
    }
    for next in from..values.len() {
        values.swap(from, next);
        every_order(values, from + 1, see);
        values.swap(from, next);
    }
}

#[cfg(test)]
mod tests;
