//! Variances of few values each, moderated by what all of them have in common.

use crate::gamma::{digamma, trigamma, trigamma_inverse};

/// A variance, and the degrees of freedom that it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    pub value: f64,
    pub freedom: f64,
}

/// How variances of one kind are distributed: as `value` times `freedom` over a chi-squared variable of that many
/// degrees of freedom. The more alike they are, the more degrees of freedom it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    value: f64,
    freedom: f64,
}

/// A variance of 0 has no logarithm; it counts as this share of the median one.
const LEAST_SHARE: f64 = 1e-5;

impl Prior {
    /// What the variances of a table have in common (Smyth 2004), `None` if they are fewer than two or all are 0.
    ///
    /// `dependence` is the mean correlation of two of their logarithms. Their scatter is the smaller for it, and without
    /// that correction variances would seem more alike than they are.
    pub fn of(variances: &[Variance], dependence: f64) -> Option<Prior> {
        let known: Vec<Variance> = variances
            .iter()
            .copied()
            .filter(|one| one.freedom >= 1.0)
            .collect();
        if known.len() < 2 {
            return None;
        }
        let least = LEAST_SHARE * median(&known);
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
        let mean = logs.iter().sum::<f64>() / count;
        let scatter = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let by_chance = known
            .iter()
            .map(|one| trigamma(one.freedom / 2.0))
            .sum::<f64>()
            / count;
        let beyond = scatter - by_chance * (1.0 - dependence);
        Some(match beyond > 0.0 {
            true => {
                let half = trigamma_inverse(beyond);
                Prior {
                    value: (mean + digamma(half) - half.ln()).exp(),
                    freedom: 2.0 * half,
                }
            }
            false => Prior {
                value: mean.exp(),
                freedom: f64::INFINITY,
            },
        })
    }

    /// A variance, drawn upwards to the common one. That has a weight of `most` degrees of freedom at the most, and less
    /// if the variances of the table are not alike.
    ///
    /// It is never drawn downwards: one row may be noisier than all others.
    pub fn moderate(self, own: Variance, most: f64) -> Variance {
        let weight = self.freedom.min(most);
        let freedom = own.freedom + weight;
        let between = (own.freedom * own.value + weight * self.value) / freedom;
        Variance {
            value: between.max(own.value),
            freedom,
        }
    }
}

fn median(variances: &[Variance]) -> f64 {
    let mut values: Vec<f64> = variances.iter().map(|one| one.value).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::normal;

    /// Variances of `freedom + 1` values each, of these standard deviations.
    fn drawn(
        sigmas: impl Iterator<Item = f64>,
        freedom: usize,
        random: &mut fastrand::Rng,
    ) -> Vec<Variance> {
        sigmas
            .map(|sigma| Variance {
                value: (0..freedom)
                    .map(|_| (sigma * normal(random)).powi(2))
                    .sum::<f64>()
                    / freedom as f64,
                freedom: freedom as f64,
            })
            .collect()
    }

    #[test]
    fn variances_that_are_alike_have_a_common_one() {
        let mut random = fastrand::Rng::with_seed(1);
        let alike = drawn((0..400).map(|_| 0.05), 2, &mut random);
        let prior = Prior::of(&alike, 0.0).unwrap();
        assert!((prior.value / 0.0025 - 1.0).abs() < 0.2, "{prior:?}");
        assert!(prior.freedom > 20.0, "{prior:?}");

        let spread = drawn(
            (0..400).map(|i| 0.001 * 1000_f64.powf(f64::from(i) / 400.0)),
            2,
            &mut random,
        );
        let prior = Prior::of(&spread, 0.0).unwrap();
        assert!(prior.freedom < 2.0, "{prior:?}");
    }

    #[test]
    fn a_variance_is_drawn_upwards_only() {
        let prior = Prior {
            value: 4.0,
            freedom: 10.0,
        };
        let quiet = prior.moderate(
            Variance {
                value: 1.0,
                freedom: 2.0,
            },
            2.0,
        );
        assert_eq!(
            quiet,
            Variance {
                value: 2.5,
                freedom: 4.0
            }
        );
        let noisy = prior.moderate(
            Variance {
                value: 9.0,
                freedom: 2.0,
            },
            2.0,
        );
        assert_eq!(
            noisy,
            Variance {
                value: 9.0,
                freedom: 4.0
            }
        );
    }

    #[test]
    fn too_few_variances_have_nothing_in_common() {
        let one = Variance {
            value: 1.0,
            freedom: 2.0,
        };
        assert_eq!(Prior::of(&[one], 0.0), None);
        let none = Variance {
            value: 0.0,
            freedom: 2.0,
        };
        assert_eq!(Prior::of(&[none, none, none], 0.0), None);
    }
}
