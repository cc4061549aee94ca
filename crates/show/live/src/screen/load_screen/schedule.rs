//! The rate that a schedule requires.

use prony_model::Stage;

/// The rate after this many seconds of a schedule, per second; before it begins, that of its first stage that is not a
/// pause. `None` without a schedule.
pub(super) fn scheduled(stages: &[Stage], seconds: f64) -> Option<f64> {
    if seconds < 0.0 {
        return stages
            .iter()
            .map(Stage::peak_per_s)
            .find(|rate| *rate > 0.0);
    }
    let mut left = seconds;
    for stage in stages {
        match stage.duration_s {
            None => return Some(stage.to_per_s),
            Some(length) if left < length => {
                let moved = (stage.to_per_s - stage.from_per_s) * left / length;
                return Some(stage.from_per_s + moved);
            }
            Some(length) => left -= length,
        }
    }
    stages.last().map(|last| last.to_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_moves_evenly_and_the_last_rate_goes_on() {
        let stage = |from_per_s, to_per_s, seconds| Stage {
            from_per_s,
            to_per_s,
            duration_s: Some(seconds),
        };
        let stages = [stage(0.0, 0.0, 2.0), stage(100.0, 300.0, 10.0)];
        assert_eq!(scheduled(&stages, -1.0), Some(300.0));
        assert_eq!(scheduled(&stages, 1.0), Some(0.0));
        assert_eq!(scheduled(&stages, 7.0), Some(200.0));
        assert_eq!(scheduled(&stages, 99.0), Some(300.0));
        assert_eq!(scheduled(&[Stage::endless(5.0)], 9.0), Some(5.0));
        assert_eq!(scheduled(&[], 1.0), None);
    }
}
