//! Student's distribution, on both sides: of how many standard errors which chance is left beyond.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How many standard errors an interval reaches that misses with the chance `miss`.
pub fn reach(miss: f64, freedom: f64) -> f64 {
    // Of a positive number of degrees of freedom there always is a distribution.
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::INFINITY, |student| -student.inverse_cdf(miss / 2.0))
}

/// With which chance an interval misses that reaches so many standard errors.
pub fn miss(reach: f64, freedom: f64) -> f64 {
    match reach.is_finite() {
        true => StudentsT::new(0.0, 1.0, freedom)
            .map_or(1.0, |student| (2.0 * student.cdf(-reach)).min(1.0)),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaches_are_those_of_the_tables() {
        for (freedom, miss_chance, expected) in [
            (1.0, 0.05, 12.706),
            (4.0, 0.05, 2.776),
            (4.0, 0.01, 4.604),
            (9.0, 0.001, 4.781),
            (1000.0, 0.05, 1.962),
        ] {
            let reached = reach(miss_chance, freedom);
            assert!((reached - expected).abs() < 1e-3, "{freedom} {reached}");
            assert!((miss(reached, freedom) - miss_chance).abs() < 1e-9);
        }
    }
}
