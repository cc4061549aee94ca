//! A noisy machine, re-run trials, and rounds that were added as needed.

use crate::sample;
use std::sync::LazyLock;

use crate::sample::documents::Records;
use crate::sample::noisy::{BURSTS, NEVER_QUIET, ROUNDS, lose};
use prony_model::{EnoughRounds, FailureKind, NoiseCause, TrialRecord, TrialResult};
use prony_report::{ResultTable, RunSummary, ServerRow};

static NOISY: LazyLock<Records> = LazyLock::new(sample::noisy::noisy);
static COMPARED: LazyLock<RunSummary> = LazyLock::new(|| RunSummary::of(&NOISY.0, &NOISY.1));

fn hello(comparison: &RunSummary) -> &ResultTable {
    let mut tables = comparison.tables.iter();
    tables.find(|table| table.workload == "hello").unwrap()
}

fn row<'a>(table: &'a ResultTable, server: &str) -> &'a ServerRow {
    let mut rows = table.rows.iter();
    rows.find(|row| row.server.id == server).unwrap()
}

fn is_bun(record: &TrialRecord) -> bool {
    record.trial.server == "bun" && record.trial.workload == "hello"
}

/// The summary of one table after a change to its trials.
fn compare(change: impl Fn(&mut TrialRecord)) -> RunSummary {
    let (run, mut trials) = NOISY.clone();
    trials.retain(|record| record.trial.workload == "hello");
    trials.iter_mut().for_each(change);
    RunSummary::of(&run, &trials)
}

#[test]
fn figures_rest_on_attempts_that_were_not_noisy() {
    let bun = &row(hello(&COMPARED), "bun").figures;
    assert_eq!(bun.rate.n, ROUNDS as usize);
    let attempts = &bun.attempts;
    assert_eq!((attempts.noisy, attempts.again), (4, 3));
    assert_eq!(attempts.rounds_on_noisy, 1);
    assert_eq!(attempts.causes, ["other programs"]);
    let flags = row(hello(&COMPARED), "bun").flags();
    assert!(
        flags.contains(&"4 trials were noisy, 3 re-run".to_owned()),
        "{flags:?}"
    );
    assert!(
        flags.contains(&"1 round rests on a noisy trial (other programs)".to_owned()),
        "{flags:?}"
    );
    let go = &row(hello(&COMPARED), "go-nethttp").figures;
    assert_eq!(go.attempts, prony_report::Attempts::default());
}

#[test]
fn if_every_attempt_at_a_round_was_noisy_the_last_one_counts() {
    // Whatever the others gave, and in whatever order they are on record.
    let rate = |of: fn(u32, u32) -> f64| {
        let (run, mut trials) = NOISY.clone();
        trials.retain(is_bun);
        trials.reverse();
        for record in &mut trials {
            let (round, attempt) = (record.trial.round, record.attempt);
            if let TrialResult::Measured(trial) = &mut record.result {
                trial.load.rate_per_s = of(round, attempt);
            }
        }
        row(hello(&RunSummary::of(&run, &trials)), "bun")
            .figures
            .rate
            .median
    };
    let noisy_first = |round: u32, attempt: u32| match BURSTS.contains(&round) && attempt == 1 {
        true => 1.0,
        false => 100.0,
    };
    assert_eq!(rate(noisy_first), 100.0);
    assert_eq!(rate(|_, attempt| f64::from(attempt)), 1.0); // Seven rounds of ten have one attempt.
    let (run, mut trials) = NOISY.clone();
    trials.retain(|record| is_bun(record) && record.trial.round == NEVER_QUIET);
    let last = trials.iter().find(|record| record.attempt == 2).unwrap();
    let TrialResult::Measured(last) = &last.result else {
        panic!("it was measured")
    };
    let only = RunSummary::of(&run, &trials);
    assert_eq!(
        row(hello(&only), "bun").figures.rate.median,
        last.load.rate_per_s
    );
}

#[test]
fn a_failure_without_noise_fails_its_round() {
    let comparison = compare(|record| {
        if is_bun(record) && record.trial.round == BURSTS[0] && record.attempt == 2 {
            record.result = TrialResult::Failed {
                kind: FailureKind::ServerExited,
                message: "gone".into(),
            };
        }
    });
    let bun = &row(hello(&comparison), "bun").figures;
    assert_eq!((bun.rate.n, bun.failed_rounds), (ROUNDS as usize - 1, 1));
}

#[test]
fn a_noisy_machine_is_reported() {
    let quiet = &COMPARED.quiet;
    assert!(quiet.disturbance.is_noisy());
    assert_eq!((quiet.disturbance.trials, quiet.noisy), (85, 8));
    assert_eq!(
        (quiet.by_other_programs, quiet.by_steal, quiet.by_warm_up),
        (8, 0, 0)
    );
    assert_eq!(quiet.again, 6);
    let foreign = quiet
        .seen
        .iter()
        .find(|seen| seen.kind == "used by other programs on the server's CPUs");
    let foreign = foreign.unwrap();
    assert_eq!(
        (foreign.median.as_str(), foreign.worst.as_str()),
        ("2.6 %", "40 %")
    );
    assert!(foreign.worst_in.as_ref().unwrap().starts_with("bun, "));
    assert_eq!(quiet.frequency_mhz, Some((1_800.0, 3_400.0)));
}

#[test]
fn a_quiet_machine_is_not_reported_as_noisy() {
    let quiet = (sample::run(), sample::trials());
    let comparison = RunSummary::of(&quiet.0, &quiet.1);
    assert!(!comparison.quiet.disturbance.is_noisy());
    assert_eq!(comparison.quiet.noisy, 0);
}

#[test]
fn a_trial_that_was_still_warming_up_does_not_make_the_machine_noisy() {
    let mut records = (sample::run(), sample::trials());
    for record in &mut records.1 {
        record.noisy = vec![NoiseCause::WarmUp { rise: 0.2 }];
    }
    let comparison = RunSummary::of(&records.0, &records.1);
    assert!(!comparison.quiet.disturbance.is_noisy());
    assert_eq!(
        comparison.quiet.by_warm_up,
        comparison.quiet.disturbance.trials
    );
}

#[test]
fn only_a_figure_that_follows_the_noise_is_flagged() {
    let lost = |round: u32| f64::from(round) / 100.0;
    let comparison = compare(|record| {
        record.noisy.clear();
        let round = record.trial.round;
        let server = record.trial.server.clone();
        if let TrialResult::Measured(trial) = &mut record.result {
            lose(trial, lost(round));
            trial.load.rate_per_s = 1_000.0
                * match server.as_str() {
                    "bun" => 1.0 - lost(round),
                    "mine" => 1.0 + lost(round), // Better with more noise, so not because of it.
                    _ => [1.0, 0.9, 1.1, 1.05, 0.95][round as usize % 5],
                };
        }
    });
    let follows = |server: &str| row(hello(&comparison), server).figures.follows_noise;
    assert!((follows("bun").unwrap() + 1.0).abs() < 1e-9);
    assert_eq!((follows("mine"), follows("go-nethttp")), (None, None));
    let flags = row(hello(&comparison), "bun").flags();
    assert!(
        flags.contains(&"follows the noise (rank correlation −1.00)".to_owned()),
        "{flags:?}"
    );
}

#[test]
fn trials_are_in_the_order_in_which_they_were_run() {
    let course = &hello(&COMPARED).course;
    assert_eq!(course.len(), 40 + BURSTS.len());
    let noisy: Vec<usize> = (0..course.len()).filter(|&i| course[i].noisy).collect();
    assert_eq!(noisy.len(), 4);
    for &i in &noisy {
        assert_eq!(course[i].server, "bun");
        assert!(course[i].relative.unwrap() < 0.8 && course[i].loss >= 0.3);
    }
    assert_eq!(
        course[noisy[0] + 1].server,
        "bun",
        "re-run at once in this sample"
    );
}

#[test]
fn ratios_refer_to_the_baseline_of_the_run() {
    let table = hello(&COMPARED);
    assert_eq!(table.baseline.as_deref(), Some("mine"));
    assert_eq!(row(table, "mine").of_baseline, None);
    let go = row(table, "go-nethttp").of_baseline.unwrap();
    let (low, high) = go.interval.unwrap();
    assert!(low < go.ratio && go.ratio < high && go.rounds == ROUNDS as usize);
    assert!((go.ratio - 0.48 / 0.7).abs() < 0.05, "{go:?}");
    assert!(row(table, "ceiling").of_baseline.unwrap().ratio > 1.0);
    let (mut run, trials) = NOISY.clone();
    for nobody in ["ceiling", "somebody-else"] {
        run.baseline = Some(nobody.into());
        let comparison = RunSummary::of(&run, &trials);
        assert_eq!(hello(&comparison).baseline, None);
        assert!(
            hello(&comparison)
                .rows
                .iter()
                .all(|row| row.of_baseline.is_none())
        );
    }
}

#[test]
fn without_rounds_in_common_there_is_no_ratio() {
    let (run, mut trials) = NOISY.clone();
    trials.retain(|record| (record.trial.round > 5) == (record.trial.server == "go-nethttp"));
    let go = row(hello(&RunSummary::of(&run, &trials)), "go-nethttp").clone();
    assert_eq!((go.share_of_ceiling, go.of_baseline), (None, None));
}

#[test]
fn the_reason_for_the_last_round_is_reported() {
    let enough = hello(&COMPARED).enough.unwrap();
    assert_eq!(
        (enough.reason, enough.widest),
        (EnoughRounds::Budget, Some(0.15))
    );
    assert!(
        RunSummary::of(&sample::run(), &sample::trials()).tables[0]
            .enough
            .is_none()
    );
}

#[test]
fn costs_are_per_request_or_per_connection() {
    let costs = &row(hello(&COMPARED), "mine").figures.costs;
    let growth = costs.growth_per_connection.unwrap().median;
    assert!(
        (growth - f64::from((1 << 20) + (11 << 15)) / 64.0).abs() < 1.0,
        "{growth}"
    );
    let instructions = costs.instructions_per_request.unwrap().median;
    assert!(
        (instructions / (31_000.0 / 0.7) - 1.0).abs() < 0.01,
        "{instructions}"
    );
    assert_eq!(costs.cycles_per_request, None);
    let old = compare(|record| {
        if let TrialResult::Measured(trial) = &mut record.result {
            trial.server.as_mut().unwrap().instructions = None;
            trial.noise.energy_j = None;
            let server = trial.server.as_mut().unwrap();
            server.memory_before_bytes = Some(server.peak_memory_bytes + 1); // It shrank.
        }
    });
    let costs = &row(hello(&old), "mine").figures.costs;
    assert_eq!(
        (
            costs.instructions_per_request,
            costs.joules_per_request,
            costs.growth_per_connection
        ),
        (None, None, None)
    );
}
