//! When a trial is noisy and re-run.
//!
//! The rule looks at what else happened on the machine and at the course of the load, never at the figures themselves:
//! dropping trials because they look bad or good would bias the result.
//!
//! - **Steal**: the hypervisor took more than [`MOST_STEAL`](prony_model::MOST_STEAL) of the CPU time of server or
//!   generator.
//! - **Other programs**: they used more than [`MOST_FOREIGN`](prony_model::MOST_FOREIGN) of it, and server or generator
//!   waited for a CPU as long.
//! - **Warm-up**: the rate still rose after measuring had begun, in at least two and more than half of this server's trials
//!   with this warm-up, because a single rise may come from a machine that was slow for a moment. Open loops, whose rate
//!   is given, are not checked, nor are loads without a warm-up, which are meant to include the first requests.
//!
//! Steal and other programs are counted in ticks of 10 ms, so loads shorter than
//! [`LEAST_OBSERVED_S`](prony_model::LEAST_OBSERVED_S) are not checked for them. A trial that failed is not noisy: its
//! failure is its result.

use prony_model::{MeasuredBy, Measurement, NoiseCause, noisy};
use prony_stats::warm_up_rise;

/// What may have disturbed a trial, if anything. A rising rate is only a suspicion here: `rounds` checks it against the
/// server's other trials.
pub(super) fn noise_causes(measurement: &Measurement) -> Vec<NoiseCause> {
    // An emulator counts the same however busy the machine is.
    if measurement.load.load.by == MeasuredBy::Instructions {
        return Vec::new();
    }
    let machine = by_the_machine(measurement);
    machine.into_iter().chain(by_warm_up(measurement)).collect()
}

fn by_the_machine(measurement: &Measurement) -> Vec<NoiseCause> {
    noisy(&measurement.losses(), measurement.loaded_s())
}

fn by_warm_up(measurement: &Measurement) -> Option<NoiseCause> {
    let load = &measurement.load;
    if load.load.shape.is_open() || load.load.warmup_s <= 0.0 {
        return None;
    }
    let timeline = load.timeline.as_ref()?;
    let measured = timeline.ok.get(timeline.measured())?;
    let counts: Vec<f64> = measured.iter().map(|&count| count as f64).collect();
    warm_up_rise(&counts).map(|rise| NoiseCause::WarmUp { rise })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::measurement;
    use prony_model::{CpuNoise, LoadShape, Scheduling, Timeline, WarmupResult};

    fn disturbed(server: Option<CpuNoise>, load: Option<CpuNoise>) -> Measurement {
        let mut measurement = measurement(1000.0);
        measurement.noise.server_cpus = server;
        measurement.noise.load_cpus = load;
        measurement
    }

    fn group(steal_share: f64, foreign_share: f64) -> Option<CpuNoise> {
        Some(CpuNoise {
            steal_share,
            foreign_share,
        })
    }

    #[test]
    fn the_group_of_cpus_that_lost_more_decides() {
        let quiet = group(0.0, 0.0);
        let steal = |share| NoiseCause::Steal { share };
        let others = |share| NoiseCause::OtherPrograms { share };
        for (server, load, causes) in [
            (None, None, vec![]),
            (group(0.05, 0.10), quiet, vec![]),
            (quiet, group(0.06, 0.0), vec![steal(0.06)]),
            (
                group(0.07, 0.11),
                group(0.06, 0.25),
                vec![steal(0.07), others(0.25)],
            ),
            (None, group(0.0, 0.2), vec![others(0.2)]),
        ] {
            assert_eq!(by_the_machine(&disturbed(server, load)), causes);
        }
    }

    #[test]
    fn a_short_load_is_not_judged_by_ticks() {
        let mut short = disturbed(group(0.5, 0.5), None);
        short.load.duration_s = 0.2;
        assert_eq!(by_the_machine(&short), []);
        short.load.warmup = Some(WarmupResult {
            duration_s: 0.1,
            outcomes: Default::default(),
            failed_without_request: 0,
        });
        assert_eq!(by_the_machine(&short).len(), 2);
    }

    #[test]
    fn the_rate_does_not_matter() {
        for rate_per_s in [0.0, 1.0, 1e9] {
            assert_eq!(noise_causes(&measurement(rate_per_s)), []);
        }
    }

    #[test]
    fn another_program_counts_only_as_far_as_a_thread_waited() {
        let waited = |seconds| {
            Some(Scheduling {
                run_queue_wait_s: seconds,
                ..Scheduling::default()
            })
        };
        let others = |share| vec![NoiseCause::OtherPrograms { share }];
        for (server, load, causes) in [
            (waited(0.01), waited(0.02), vec![]),
            (waited(0.01), waited(0.2), others(0.2)),
            // If the generator's wait is unknown, its loss is ignored; if the server's is unknown, all that its CPUs lost
            // counts.
            (waited(0.01), None, vec![]),
            (None, waited(0.02), others(0.3)),
        ] {
            let mut beside = disturbed(group(0.0, 0.3), group(0.0, 0.4));
            beside.server.as_mut().unwrap().scheduling = server;
            beside.load.generator.scheduling = load;
            assert_eq!(by_the_machine(&beside), causes, "{server:?}, {load:?}");
        }
    }

    /// A rate that doubles after the first third of the measured part.
    fn rising() -> Measurement {
        let mut rising = measurement(1000.0);
        rising.load.load.warmup_s = 0.2;
        let ok = (0..80).map(|i| if i < 40 { 50 + i % 3 } else { 100 + i % 3 });
        rising.load.timeline = Some(Timeline {
            interval_s: 0.01,
            measured_from_s: 0.2,
            ok: ok.collect(),
            latency_mean_ns: vec![0.0; 80],
            ..Timeline::default()
        });
        rising
    }

    #[test]
    fn a_rising_rate_makes_only_a_closed_loop_noisy() {
        let is_noisy = |measurement: &Measurement| by_warm_up(measurement).is_some();
        assert!(is_noisy(&rising()));
        // The same rate from the first measured interval on.
        let mut steady = rising();
        if let Some(timeline) = &mut steady.load.timeline {
            timeline.ok[20..40].copy_from_slice(&[100; 20]);
        }
        let mut open = rising();
        open.load.load.shape = LoadShape::UsersOpen { think_time_s: 1.0 };
        let mut cold = rising();
        cold.load.load.warmup_s = 0.0;
        let mut untimed = rising();
        untimed.load.timeline = None;
        for measurement in [steady, open, cold, untimed, measurement(1.0)] {
            assert!(!is_noisy(&measurement));
        }
    }
}
