//! A rate that changes: which arrival is due when.

use prony_model::Stage;

/// The stages of a rate, as a function from the number of an arrival to its instant.
///
/// With a rate r(t), arrival n is due when the area under r up to t is n. Successive calls must not go back in number.
#[derive(Clone, Debug)]
pub(super) struct Stages {
    stages: Vec<Stage>,
    /// The current stage, and where it begins, in seconds and in arrivals.
    current: usize,
    begins_s: f64,
    begins_at: f64,
}

impl Stages {
    /// From time 0 and arrival 0 on.
    pub(super) fn new(stages: Vec<Stage>) -> Self {
        Self {
            stages,
            current: 0,
            begins_s: 0.0,
            begins_at: 0.0,
        }
    }

    /// When the arrival of that number (possibly fractional) is due, in seconds; `None` if the rate falls to 0 for good
    /// before.
    pub(super) fn instant(&mut self, arrival: f64) -> Option<f64> {
        loop {
            let stage = self.stages.get(self.current)?;
            let left = arrival - self.begins_at;
            if let Some(duration_s) = stage.duration_s {
                let arrivals = stage.requests();
                if left < arrivals {
                    return Some(self.begins_s + stage.seconds_until(left));
                }
                self.begins_s += duration_s;
                self.begins_at += arrivals;
                self.current += 1;
                if self.current == self.stages.len() {
                    // The last rate continues.
                    self.stages.push(Stage::endless(stage.to_per_s));
                }
                continue;
            }
            return (stage.from_per_s > 0.0).then(|| self.begins_s + left / stage.from_per_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stage(from_per_s: f64, to_per_s: f64, duration_s: Option<f64>) -> Stage {
        Stage {
            from_per_s,
            to_per_s,
            duration_s,
        }
    }

    fn instants(stages: &[Stage], arrivals: &[f64]) -> Vec<Option<f64>> {
        let mut stages = Stages::new(stages.to_vec());
        arrivals.iter().map(|&n| stages.instant(n)).collect()
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced() {
        let constant = [stage(4.0, 4.0, None)];
        assert_eq!(
            instants(&constant, &[0.0, 1.0, 2.0, 40.0]),
            [Some(0.0), Some(0.25), Some(0.5), Some(10.0)]
        );
    }

    #[test]
    fn stages_follow_one_another_and_the_last_rate_continues() {
        let stages = [stage(1.0, 1.0, Some(10.0)), stage(5.0, 5.0, Some(2.0))];
        assert_eq!(
            instants(&stages, &[9.0, 10.0, 11.0, 20.0, 25.0]),
            [9.0, 10.0, 10.2, 12.0, 13.0].map(Some)
        );
    }

    #[test]
    fn a_ramp_gives_as_many_arrivals_as_its_area() {
        // 0 to 10 per second in 4 s: 20 arrivals, a quarter of them in the first half.
        let ramp = [stage(0.0, 10.0, Some(4.0)), stage(0.0, 0.0, None)];
        let due = instants(&ramp, &[0.0, 5.0, 20.0]);
        assert_eq!(due, [Some(0.0), Some(2.0), None]);
    }

    #[test]
    fn a_pause_between_two_stages_is_kept() {
        let stages = [
            stage(1.0, 1.0, Some(2.0)),
            stage(0.0, 0.0, Some(5.0)),
            stage(1.0, 1.0, None),
        ];
        assert_eq!(
            instants(&stages, &[1.0, 2.0, 3.0]),
            [Some(1.0), Some(7.0), Some(8.0)]
        );
    }

    proptest! {
        /// The instants never go back, and the area up to each is its number.
        #[test]
        fn instants_grow_with_their_numbers(
            rates in prop::collection::vec((0.0f64..1e4, 0.0f64..1e4, 0.01f64..20.0), 1..6),
        ) {
            let stages: Vec<Stage> = rates.iter()
                .map(|&(from, to, duration)| stage(from, to, Some(duration)))
                .collect();
            let mut schedule = Stages::new(stages.clone());
            let all: f64 = rates.iter().map(|&(a, b, d)| (a + b) / 2.0 * d).sum();
            let mut before = 0.0;
            for i in 0..200 {
                let n = all * f64::from(i) / 200.0;
                let Some(t) = schedule.instant(n) else { break };
                prop_assert!(t >= before - 1e-9, "{t} after {before}");
                before = t;
                prop_assert!((area(&stages, t) - n).abs() <= 1e-6 * all.max(1.0), "{n} at {t}");
            }
        }
    }

    /// The area under the rate up to `t`, summed stage by stage.
    fn area(stages: &[Stage], t: f64) -> f64 {
        let mut begins = 0.0;
        let mut sum = 0.0;
        for stage in stages {
            let duration = stage.duration_s.unwrap();
            let inside = (t - begins).clamp(0.0, duration);
            let rate = stage.from_per_s + (stage.to_per_s - stage.from_per_s) * inside / duration;
            sum += (stage.from_per_s + rate) / 2.0 * inside;
            begins += duration;
        }
        sum
    }
}
