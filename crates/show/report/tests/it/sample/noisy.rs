//! A made-up run on a noisy machine: rounds added as needed, trials disturbed by other programs and re-run.

use prony_model::*;

use super::documents::{ALL, Records, made};
use super::spec;

pub(crate) const ROUNDS: u32 = 10;
/// The rounds in which another program was busy while Bun was measured.
pub(crate) const BURSTS: [u32; 3] = [2, 5, 9];
/// The round of these in which it was busy during every attempt.
pub(crate) const NEVER_QUIET: u32 = 9;

/// Two workloads; ratios refer to `mine`.
pub(crate) fn noisy() -> Records {
    let (mut run, trials) = made(
        "noisy",
        "Beside another program",
        "ceiling mine go-nethttp bun",
        vec![
            ("hello", spec(64), ROUNDS, 150_000.0, ALL),
            ("page", spec(32), ROUNDS, 61_000.0, ALL),
        ],
        vec![],
    );
    run.baseline = Some("mine".into());
    run.adaptive = Some(Adaptive {
        precision: 0.03,
        budget_s: 600.0,
        ends: vec![
            end("hello", spec(64), ROUNDS, EnoughRounds::Budget, Some(0.15)),
            end("page", spec(32), ROUNDS, EnoughRounds::Budget, Some(0.13)),
        ],
    });
    (run, trials.into_iter().flat_map(attempts).collect())
}

/// Why a workload had no more rounds.
pub(crate) fn end(
    workload: &str,
    load: LoadSpec,
    rounds: u32,
    reason: EnoughRounds,
    widest: Option<f64>,
) -> RoundsEnd {
    RoundsEnd {
        workload: workload.into(),
        load,
        rounds,
        reason,
        widest,
    }
}

fn attempts(mut planned: TrialRecord) -> Vec<TrialRecord> {
    let round = planned.trial.round;
    planned.trial.sequence *= 3;
    let burst = planned.trial.server == "bun" && BURSTS.contains(&round);
    if let TrialResult::Measured(trial) = &mut planned.result {
        trial.noise.energy_j = Some(30.0);
        trial.noise.frequency_mhz = Some((1_800.0, 3_400.0));
    }
    if !burst {
        let foreign = 0.02 + 0.001 * f64::from(round);
        return vec![beside(planned, 1, foreign)];
    }
    let again = match round {
        NEVER_QUIET => beside(planned.clone(), 2, 0.3),
        _ => beside(planned.clone(), 2, 0.01),
    };
    vec![beside(planned, 1, 0.4), again]
}

/// An attempt while another program uses this share of the server's CPUs, and so reduces the rate.
fn beside(mut record: TrialRecord, attempt: u32, foreign_share: f64) -> TrialRecord {
    record.attempt = attempt;
    record.trial.sequence += attempt;
    if let TrialResult::Measured(trial) = &mut record.result {
        lose(trial, foreign_share);
        trial.load.rate_per_s *= 1.0 - foreign_share;
    }
    if foreign_share > 0.1 {
        record.noisy = vec![NoiseCause::OtherPrograms {
            share: foreign_share,
        }];
    }
    record
}

/// Gives another program this share of the server's CPUs while the server waits for them.
pub(crate) fn lose(trial: &mut Measurement, foreign_share: f64) {
    trial.noise.server_cpus = Some(CpuNoise {
        steal_share: 0.0,
        foreign_share,
    });
    let run_queue_wait_s = foreign_share * trial.loaded_s();
    let server = trial.server.as_mut().unwrap();
    server.scheduling = Some(Scheduling {
        run_queue_wait_s,
        ..server.scheduling.unwrap_or_default()
    });
}
