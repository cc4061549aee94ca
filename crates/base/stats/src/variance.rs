//! Variances of a few values each, moderated by what all of them have in common.

use statrs::function::gamma::digamma;

/// A variance and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Variance {
    pub(crate) value: f64,
    pub(crate) freedom: f64,
}

/// The distribution of the variances of a table: `value` times `freedom` over a chi-squared variable with that many
/// degrees of freedom. The more alike the variances, the more degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    value: f64,
    freedom: f64,
}

/// A variance of 0 has no logarithm; it counts as this share of the median variance.
const LEAST_SHARE: f64 = 1e-5;

impl Prior {
    /// What the variances of a table have in common (Smyth 2004); `None` if there are fewer than two or all are 0.
    ///
    /// `dependence` is the mean correlation of the logarithms of two of them. It reduces their scatter; without this
    /// correction they would seem more alike than they are.
    pub(crate) fn of(variances: &[Variance], dependence: f64) -> Option<Prior> {
        let known: Vec<Variance> = variances
            .iter()
            .copied()
            .filter(|one| one.freedom >= 1.0)
            .collect();
        if known.len() < 2 {
            return None;
        }
        let values: Vec<f64> = known.iter().map(|one| one.value).collect();
        let least = LEAST_SHARE * upper_median(values);
        if least <= 0.0 {
            return None;
        }
        let count = known.len() as f64;
        let logs: Vec<f64> = known
            .iter()
            .map(|one| {
                let half = one.freedom / 2.0;
                one.value.max(least).ln() - digamma(half) + half.ln()
            })
            .collect();
        let (mean, scatter) = (mean(&logs), squares(&logs) / (count - 1.0));
        let expected = known.iter().map(|one| trigamma(one.freedom / 2.0));
        let by_chance = expected.sum::<f64>() / count;
        let beyond = scatter - by_chance * (1.0 - dependence);
        Some(if beyond > 0.0 {
            let half = trigamma_inverse(beyond);
            Prior {
                value: (mean + digamma(half) - half.ln()).exp(),
                freedom: 2.0 * half,
            }
        } else {
            Prior {
                value: mean.exp(),
                freedom: f64::INFINITY,
            }
        })
    }

    /// A variance, raised towards the common one, which counts at most `most` degrees of freedom and less if the
    /// variances of the table differ. It is never lowered: one row may be noisier than all others.
    pub(crate) fn moderate(self, own: Variance, most: f64) -> Variance {
        let weight = self.freedom.min(most);
        let freedom = own.freedom + weight;
        let between = (own.freedom * own.value + weight * self.value) / freedom;
        Variance {
            value: between.max(own.value),
            freedom,
        }
    }
}

/// The median, or the upper one of the two middle values.
fn upper_median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The sum of squared deviations from the mean.
pub fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// From here on the asymptotic series of trigamma and tetragamma is exact to more than twelve digits.
const LARGE: f64 = 15.0;

/// The second derivative of ln Γ, for positive `x`.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    sum + y / 2.0 + (1.0 + tail) / x
}

/// The positive `x` for which [`trigamma`] is `value`: Newton's method on 1/ψ′, which is convex, so that it approaches
/// the solution from one side (Smyth 2004).
fn trigamma_inverse(value: f64) -> f64 {
    if value > 1e7 {
        return 1.0 / value.sqrt();
    }
    if value < 1e-6 {
        return 1.0 / value;
    }
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let reached = trigamma(x);
        let step = reached * (1.0 - reached / value) / tetragamma(x);
        x += step;
        if -step / x < 1e-10 {
            break;
        }
    }
    x
}

/// The third derivative of ln Γ.
fn tetragamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    sum - y * (1.0 + 1.0 / x + y * (0.5 - y * (1.0 / 6.0 - y * (1.0 / 6.0 - y * 0.3))))
}

#[cfg(test)]
mod tests;
