//! A noisy machine, re-run trials, and rounds that were added as needed. The golden files have what a report says of them.

use std::sync::LazyLock;

use crate::sample;
use crate::sample::documents::Records;
use crate::sample::noisy::{BURSTS, NEVER_QUIET, ROUNDS, lose};
use crate::summary::{assert_flagged, changed, failing, is_of, only, row, summary, table, tour};
use prony_model::{NoiseCause, TrialResult};

static NOISY: LazyLock<Records> = LazyLock::new(sample::noisy::noisy);

fn hello() -> Records {
    only(NOISY.clone(), |trial| trial.workload == "hello")
}

#[test]
fn if_every_attempt_at_a_round_was_noisy_the_last_one_counts() {
    // Whatever the others gave, and in whatever order they are on record.
    let rate = |of: fn(u32, u32) -> f64| {
        let (run, mut trials) = only(NOISY.clone(), |trial| is_of(trial, "bun", "hello"));
        trials.reverse();
        for record in &mut trials {
            let (round, attempt) = (record.trial.round, record.attempt);
            if let TrialResult::Measured(trial) = &mut record.result {
                trial.load.rate_per_s = of(round, attempt);
            }
        }
        let rate = row(&summary(&(run, trials)), "hello", "bun").figures.rate;
        rate.median
    };
    let noisy_first = |round: u32, attempt: u32| {
        if BURSTS.contains(&round) && attempt == 1 {
            1.0
        } else {
            100.0
        }
    };
    assert_eq!(rate(noisy_first), 100.0);
    assert_eq!(rate(|_, attempt| f64::from(attempt)), 1.0); // Seven rounds of ten have one attempt.
    let only = only(NOISY.clone(), |trial| {
        is_of(trial, "bun", "hello") && trial.round == NEVER_QUIET
    });
    let last = only.1.iter().find(|record| record.attempt == 2).unwrap();
    let TrialResult::Measured(last) = &last.result else {
        panic!("it was measured")
    };
    let shown = row(&summary(&only), "hello", "bun").figures.rate.median;
    assert_eq!(shown, last.load.rate_per_s);
}

#[test]
fn a_failure_without_noise_fails_its_round() {
    let comparison = summary(&failing(hello(), |record| {
        record.trial.server == "bun" && (record.trial.round, record.attempt) == (BURSTS[0], 2)
    }));
    let bun = &row(&comparison, "hello", "bun").figures;
    assert_eq!((bun.rate.n, bun.failed_rounds), (ROUNDS as usize - 1, 1));
}

#[test]
fn a_trial_that_was_still_warming_up_does_not_make_the_machine_noisy() {
    let mut records = tour();
    for record in &mut records.1 {
        record.noisy = vec![NoiseCause::WarmUp { rise: 0.2 }];
    }
    let quiet = summary(&records).quiet;
    assert!(!quiet.disturbance.is_noisy());
    assert_eq!(quiet.by_warm_up, quiet.disturbance.trials);
}

#[test]
fn only_a_figure_that_follows_the_noise_is_flagged() {
    let (run, mut trials) = hello();
    trials.iter_mut().for_each(|record| record.noisy.clear());
    let comparison = summary(&changed((run, trials), |trial, measured| {
        let lost = f64::from(trial.round) / 100.0;
        lose(measured, lost);
        measured.load.rate_per_s = 1_000.0
            * match trial.server.as_str() {
                "bun" => 1.0 - lost,
                "mine" => 1.0 + lost, // Better with more noise, so not because of it.
                _ => [1.0, 0.9, 1.1, 1.05, 0.95][trial.round as usize % 5],
            };
    }));
    let follows = |server: &str| row(&comparison, "hello", server).figures.follows_noise;
    assert!((follows("bun").unwrap() + 1.0).abs() < 1e-9);
    assert_eq!((follows("mine"), follows("go-nethttp")), (None, None));
    let bun = row(&comparison, "hello", "bun");
    assert_flagged(bun, "follows the noise (rank correlation −1.00)");
}

#[test]
fn ratios_need_a_baseline_of_the_run_that_is_no_reference_server() {
    for nobody in ["ceiling", "somebody-else"] {
        let (mut run, trials) = hello();
        run.baseline = Some(nobody.into());
        let comparison = summary(&(run, trials));
        let table = table(&comparison, "hello");
        assert_eq!(table.baseline, None);
        assert!(table.rows.iter().all(|row| row.of_baseline.is_none()));
    }
}

#[test]
fn without_rounds_in_common_there_is_no_ratio() {
    let apart = only(hello(), |trial| {
        (trial.round > 5) == (trial.server == "go-nethttp")
    });
    let comparison = summary(&apart);
    let go = row(&comparison, "hello", "go-nethttp");
    assert_eq!((go.share_of_ceiling, go.of_baseline), (None, None));
}

#[test]
fn costs_that_were_not_measured_and_memory_that_shrank_are_unknown() {
    let comparison = summary(&changed(hello(), |_, measured| {
        measured.noise.energy_j = None;
        let server = measured.server.as_mut().unwrap();
        server.instructions = None;
        server.memory_before_bytes = Some(server.peak_memory_bytes + 1);
    }));
    let costs = &row(&comparison, "hello", "mine").figures.costs;
    assert_eq!(costs.instructions_per_request, None);
    assert_eq!(costs.joules_per_request, None);
    assert_eq!(costs.growth_per_connection, None);
}
