//! How many requests a schedule has due by an instant, to show beside those that were made.

use prony_model::Stage;

/// How many requests are due in the first `seconds` of a schedule, on the average where they come
/// at random. The rate at the end of the last stage goes on.
pub fn due_by(stages: &[Stage], seconds: f64) -> f64 {
    let (mut due, mut left) = (0.0, seconds.max(0.0));
    for stage in stages {
        let length = stage.duration_s.unwrap_or(f64::INFINITY);
        let spent = left.min(length);
        // The rate moves evenly, so its mean is half-way; an endless stage does not move.
        let moved = match length.is_finite() {
            true => (stage.to_per_s - stage.from_per_s) * spent / length,
            false => 0.0,
        };
        due += (stage.from_per_s + moved / 2.0) * spent;
        left -= spent;
        if left <= 0.0 {
            return due;
        }
    }
    due + stages.last().map_or(0.0, |last| last.to_per_s * left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(from_per_s: f64, to_per_s: f64, duration_s: Option<f64>) -> Stage {
        Stage {
            from_per_s,
            to_per_s,
            duration_s,
        }
    }

    #[test]
    fn a_constant_rate_is_due_evenly() {
        let endless = [stage(500.0, 500.0, None)];
        assert_eq!(due_by(&endless, 0.0), 0.0);
        assert_eq!(due_by(&endless, 2.5), 1250.0);
        assert_eq!(due_by(&[], 2.5), 0.0);
    }

    #[test]
    fn a_ramp_is_due_by_the_area_below_it() {
        let ramp = [
            stage(100.0, 100.0, Some(10.0)),
            stage(100.0, 300.0, Some(10.0)),
            stage(300.0, 300.0, Some(1.0)),
        ];
        assert_eq!(due_by(&ramp, 10.0), 1000.0);
        assert_eq!(due_by(&ramp, 15.0), 1000.0 + 750.0);
        assert_eq!(due_by(&ramp, 20.0), 3000.0);
        // The last rate goes on.
        assert_eq!(due_by(&ramp, 23.0), 3000.0 + 900.0);
    }
}
