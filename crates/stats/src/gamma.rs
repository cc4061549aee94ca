//! Derivatives of the logarithm of the gamma function.

pub use statrs::function::gamma::digamma;

/// From here on the asymptotic series is exact to more than twelve digits.
const LARGE: f64 = 15.0;

/// The second derivative of ln Γ, for positive `x`.
pub fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < LARGE {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let tail = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    sum + y / 2.0 + (1.0 + tail) / x
}

/// The `x` of which [`trigamma`] is `value`, for positive values.
///
/// Newton's method on 1/ψ′, which is convex, so that it approaches the solution from one side (Smyth 2004).
pub fn trigamma_inverse(value: f64) -> f64 {
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
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_tables() {
        // Abramowitz and Stegun (1964), tables 6.1 and 6.2.
        let sixth = std::f64::consts::PI * std::f64::consts::PI / 6.0;
        for (x, expected) in [
            (1.0, sixth),
            (0.5, 3.0 * sixth),
            (2.0, sixth - 1.0),
            (10.0, 0.105_166_335_681_685_74),
        ] {
            assert!((trigamma(x) - expected).abs() < 1e-10, "{x}");
        }
        assert!((tetragamma(1.0) + 2.404_113_806_319_188_5).abs() < 1e-9);
    }

    #[test]
    fn the_inverse_leads_back() {
        for value in [1e-7, 1e-4, 0.02, 0.5, 1.645, 30.0, 1e5, 1e8] {
            let back = trigamma(trigamma_inverse(value));
            assert!((back / value - 1.0).abs() < 1e-3, "{value} {back}");
        }
    }
}
