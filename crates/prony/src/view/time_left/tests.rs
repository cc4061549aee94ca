use super::*;
use prony_model::{
    Arrivals, FailureKind, LatencyHistogram, LoadResult, Measurement, Trial, TrialResult, WarmUp,
    parse_stages, sample,
};
use prony_run::{Plan, Warming};
use proptest::prelude::*;
use std::sync::LazyLock;

fn load(shape: LoadShape, duration_s: Option<f64>, requests: Option<u64>) -> LoadSpec {
    LoadSpec {
        shape,
        connections: 500,
        threads: 1,
        duration_s,
        requests,
        warmup_s: 0.5,
        timeout_s: 5.0,
        ..LoadSpec::default()
    }
}

/// A measure without a search for the end of warm-ups.
fn measure(load: LoadSpec, rounds: u32) -> Measure {
    Measure {
        workload: "byte".into(),
        load,
        rounds,
        warmup_limit_s: 0.0,
    }
}

fn trials(load: LoadSpec, rounds: u32) -> Vec<Trial> {
    let servers = ["a".to_owned(), "b".to_owned()];
    Plan::interleaved(&servers, &[measure(load, rounds)], |_, _| true, 1).trials(rounds)
}

/// Servers are called `a` and `b`, or `s0` and so on.
fn cell(trial: &Trial) -> CellId {
    let server = match trial.server.as_str() {
        "a" => 0,
        "b" => 1,
        other => other[1..].parse().unwrap(),
    };
    CellId { server, column: 0 }
}

fn time_left(trials: &[Trial]) -> TimeLeft {
    expecting(measure(trials[0].load.clone(), 0), trials)
}

fn expecting(measure: Measure, trials: &[Trial]) -> TimeLeft {
    let mut left = TimeLeft::new(vec![measure]);
    trials.iter().for_each(|trial| left.expect(cell(trial)));
    left
}

#[test]
fn a_load_of_known_length_is_known_before_the_first_trial() {
    let closed = trials(load(LoadShape::Closed, Some(2.0), None), 2);
    assert_eq!(time_left(&closed).left(None), Duration::from_secs(12));
    let open = LoadShape::UsersOpen { think_time_s: 1.0 };
    let open = load(open, None, Some(10_000));
    assert_eq!(planned(&open), Some(Duration::from_millis(20_500)));
}

#[test]
fn the_first_trial_of_each_server_warms_it_up() {
    let spec = load(LoadShape::Closed, Some(2.0), None);
    let closed = trials(spec.clone(), 3);
    let searched = Measure {
        warmup_limit_s: 2.0,
        ..measure(spec, 3)
    };
    let mut left = expecting(searched, &closed);
    assert_eq!(left.left(None), Duration::from_secs(18 + 4));
    // What the first one took is known from then on.
    done(&mut left, &closed[0], 9, false);
    assert_eq!(left.left(None), Duration::from_secs(45));

    let measure = |warmup_s, warmup_limit_s| Measure {
        workload: "byte".into(),
        load: LoadSpec {
            warmup_s,
            ..load(LoadShape::Closed, Some(2.0), None)
        },
        rounds: 3,
        warmup_limit_s,
    };
    for (measure, seconds) in [
        (measure(0.5, 20.0), LEAST_WARM_UP_S),
        (measure(0.5, 1.0), 1.0),
        (measure(0.5, 0.0), 0.0),
        (measure(0.0, 20.0), 0.0),
    ] {
        assert_eq!(least_search(&measure).as_secs_f64(), seconds);
    }
}

#[test]
fn a_server_is_explained_in_two_loads_a_round_after_two_warm_ups() {
    let plan = ExplainPlan {
        rounds: 5,
        duration: Duration::from_secs(1),
        profile: None,
    };
    assert_eq!(explaining(&plan, 0), Duration::ZERO);
    assert_eq!(explaining(&plan, 2), Duration::from_secs(2 * 15 + 9));
}

#[test]
fn a_trial_that_counts_instructions_takes_as_long_as_it_may() {
    let counted = LoadSpec {
        requests: Some(1000),
        by: MeasuredBy::Instructions,
        ..LoadSpec::default()
    };
    let trials = trials(counted, 3);
    let mut left = time_left(&trials);
    left.counted_trial = Some(Duration::from_secs(10));
    // Six trials, each with half a second beside the load.
    assert_eq!(left.left(None), Duration::from_secs(63));
}

fn rate(stages: &str) -> LoadShape {
    LoadShape::Rate(Schedule {
        arrivals: Arrivals::Poisson,
        burst: 1,
        stages: parse_stages(stages).unwrap(),
    })
}

#[test]
fn a_number_of_requests_at_a_rate_ends_when_the_last_one_is_due() {
    for (stages, requests, seconds) in [
        ("1k/s", 5_000, 5.0),
        ("1k/s:10s", 20_000, 20.0), // The last rate goes on.
        ("1k/s:10s,3k/s", 16_000, 12.0),
        ("0..2k/s:10s,2k/s", 10_000, 10.0),
        ("0..2k/s:10s,2k/s", 2_500, 5.0),
        ("2k/s..0:10s,1k/s", 7_500, 5.0),
        ("2k/s..0:10s,1k/s", 11_000, 11.0),
        ("0:10s,1k/s", 1_000, 11.0),
    ] {
        let planned = planned(&load(rate(stages), None, Some(requests))).unwrap();
        let expected = seconds + 0.5; // With the warm-up.
        let off = (planned.as_secs_f64() - expected).abs();
        assert!(off < 1e-6, "{stages}, {requests}: {planned:?}");
    }
    let never = load(rate("2k/s..0:10s"), None, Some(10_001));
    assert_eq!(planned(&never), None);
    for requests in [Some(5_000), None] {
        let by_time = load(rate("1k/s"), Some(2.0), requests);
        assert_eq!(planned(&by_time), Some(Duration::from_millis(2_500)));
    }
}

#[test]
fn the_time_of_closed_loop_users_depends_on_the_server() {
    let users = || LoadShape::UsersClosed { think_time_s: 1.0 };
    assert_eq!(planned(&load(users(), None, Some(10_000))), None);
    let by_time = planned(&load(users(), Some(2.0), None));
    assert_eq!(by_time, Some(Duration::from_millis(2_500)));
}

fn attempt(trial: &Trial) -> TrialAttempt {
    TrialAttempt {
        trial: trial.clone(),
        number: 1,
        measure: 0,
        warming: Warming::Fixed,
        warmup_limit_s: 0.0,
        warmup_s: trial.load.warmup_s,
        allowed: None,
    }
}

/// To encode a histogram takes longer than what a simulation does with it.
static MEASURED: LazyLock<LoadResult> =
    LazyLock::new(|| sample::plain_load(LoadSpec::default(), 500.0, &LatencyHistogram::new()));

/// A measured trial whose server started at once.
fn record(trial: &Trial) -> TrialRecord {
    let measurement = Measurement {
        startup_ns: None,
        ..sample::plain_measurement(LoadResult {
            load: trial.load.clone(),
            ..MEASURED.clone()
        })
    };
    sample::plain_trial(trial.clone(), TrialResult::Measured(measurement))
}

fn done(left: &mut TimeLeft, trial: &Trial, seconds: u64, again: bool) {
    let took = Duration::from_secs(seconds);
    left.done(cell(trial), &attempt(trial), &record(trial), took, again);
}

#[test]
fn rounds_differ_only_in_their_seeds() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 3);
    let seeds: Vec<u64> = trials.iter().map(|trial| trial.load.seed).collect();
    assert_ne!(seeds.first(), seeds.last());
    let mut left = time_left(&trials);
    done(&mut left, &trials[0], 9, false);
    assert_eq!(left.left(None), Duration::from_secs(45));
}

#[test]
fn trials_like_a_long_one_are_expected_to_take_long() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 3);
    let mut left = time_left(&trials);
    let seconds = |trial: &Trial| if trial.server == "a" { 9 } else { 1 };
    let of_round_1 = |id: &'static str| trials.iter().find(move |one| one.server == id);
    let first = of_round_1("a").unwrap();
    done(&mut left, first, seconds(first), false);
    // The other server's first trial is expected to be like this one's.
    assert_eq!(left.left(None), Duration::from_secs(45));
    let second = of_round_1("b").unwrap();
    done(&mut left, second, seconds(second), false);
    assert_eq!(left.left(None), Duration::from_secs(20));
    for trial in &trials[2..] {
        done(&mut left, trial, seconds(trial), false);
    }
    assert_eq!(left.left(None), Duration::ZERO);
}

#[test]
fn a_trial_that_is_re_run_is_one_more() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 1);
    let mut left = time_left(&trials);
    done(&mut left, &trials[0], 5, false);
    done(&mut left, &trials[1], 5, true);
    assert_eq!(left.left(None), Duration::from_secs(5));
    let again = TrialAttempt {
        number: 2,
        ..attempt(&trials[1])
    };
    let record = record(&trials[1]);
    left.done(
        cell(&trials[1]),
        &again,
        &record,
        Duration::from_secs(7),
        false,
    );
    assert_eq!(left.left(None), Duration::ZERO);
}

#[test]
fn a_trial_that_takes_longer_takes_no_time_from_the_others() {
    let trials = trials(load(LoadShape::Closed, Some(2.0), None), 1);
    let left = time_left(&trials);
    assert_eq!(left.left(None), Duration::from_secs(6));
    let after = |seconds| left.left(Some((cell(&trials[0]), Duration::from_secs(seconds))));
    assert_eq!(after(1), Duration::from_secs(5));
    assert_eq!(after(60), Duration::from_secs(3));
}

/// A server as the simulation knows it, in milliseconds.
#[derive(Clone, Debug)]
struct Simulated {
    start: u64,
    /// How long it takes to warm up; it is kept running if that is more than a second.
    to_warm: u64,
    stop: u64,
    fails: bool,
}

impl Simulated {
    /// One trial as the runner runs it: how long it takes, and what its record says.
    fn trial(&self, trial: &Trial, is_first: bool) -> (TrialAttempt, TrialRecord, Duration) {
        let millis = Duration::from_millis;
        let (start, to_warm) = (millis(self.start), millis(self.to_warm));
        let is_kept = self.to_warm > 1000;
        let starts = is_first || !is_kept;
        let measured = Duration::from_secs_f64(trial.load.duration_s.unwrap());
        let own = Duration::from_secs_f64(trial.load.warmup_s);
        // A search goes on until it has seen that the server is steady.
        let search = millis(if is_first { 2 * self.to_warm + 300 } else { 0 });
        let warm_up = if is_first || is_kept {
            own
        } else {
            own.max(to_warm)
        };
        let started = starts.then_some(start);
        let stop = millis(if is_kept { 0 } else { self.stop });
        let took = started.unwrap_or_default() + search + warm_up + measured + stop;
        let attempt = TrialAttempt {
            warmup_s: warm_up.as_secs_f64(),
            ..attempt(trial)
        };
        let mut record = record(trial);
        if self.fails {
            let (kind, message) = (FailureKind::ServerExited, String::new());
            record.result = TrialResult::Failed { kind, message };
            return (attempt, record, started.unwrap_or(start) + millis(100));
        }
        if let TrialResult::Measured(measurement) = &mut record.result {
            measurement.startup_ns = started.map(|it| it.as_nanos() as u64);
            measurement.warm_up = Some(WarmUp {
                process: if starts {
                    ProcessStart::New
                } else {
                    ProcessStart::Kept
                },
                loaded_s: search.as_secs_f64(),
                searched_s: search.as_secs_f64(),
                limit_s: 20.0,
                time_to_warm_s: is_first.then_some(to_warm.as_secs_f64()),
                still_improving: false,
            });
        }
        (attempt, record, took)
    }
}

fn simulated() -> impl Strategy<Value = Simulated> {
    let fields = (1u64..3000, 0u64..8000, 1u64..500, prop::bool::weighted(0.1));
    fields.prop_map(|(start, to_warm, stop, fails)| Simulated {
        start,
        to_warm,
        stop,
        fails,
    })
}

proptest! {
    /// After the first round of servers that start, warm up and stop in all kinds of ways, of which some are re-run, the
    /// time left is within 20 % of what the rest then takes.
    #[test]
    fn after_the_first_round_the_time_left_is_right_within_a_fifth(
        servers in prop::collection::vec(simulated(), 2..8),
        rounds in 2u32..8,
        duration_s in 0.3..3.0_f64,
        every in prop::option::of(3usize..9),
    ) {
        let measure = Measure {
            workload: "byte".into(),
            load: LoadSpec { warmup_s: 0.2, ..load(LoadShape::Closed, Some(duration_s), None) },
            rounds,
            warmup_limit_s: 20.0,
        };
        let ids: Vec<String> = (0..servers.len()).map(|at| format!("s{at}")).collect();
        let plan = Plan::interleaved(&ids, &[measure], |_, _| true, 1);
        let trials = plan.trials(rounds);
        let mut left = time_left(&trials);
        let (mut predicted, mut rest, mut count, mut re_runs) = (None, Duration::ZERO, 0, 0);
        for round in trials.chunk_by(|one, other| one.round == other.round) {
            let mut again = Vec::new();
            for trial in round {
                let at = ids.iter().position(|id| *id == trial.server).unwrap();
                let (attempt, mut record, took) = servers[at].trial(trial, trial.round == 1);
                count += 1;
                let most = most_re_runs(round.len() * trial.round as usize);
                let disturbs = every.is_some_and(|every| count % every == 0);
                let is_again = disturbs && record.measurement().is_some() && re_runs < most;
                if is_again {
                    record.noisy = vec![NoiseCause::Steal { share: 0.3 }];
                    re_runs += 1;
                    again.push((at, trial));
                }
                rest += took;
                left.done(cell(trial), &attempt, &record, took, is_again);
            }
            for (at, trial) in again {
                let (mut attempt, record, took) = servers[at].trial(trial, false);
                attempt.number = 2;
                rest += took;
                left.done(cell(trial), &attempt, &record, took, false);
            }
            if predicted.is_none() {
                predicted = Some(left.left(None));
                rest = Duration::ZERO;
            }
        }
        let (predicted, rest) = (predicted.unwrap().as_secs_f64(), rest.as_secs_f64());
        // Which trial something will disturb, and whether it is a long one, cannot be known.
        let longest = servers.iter().map(|one| one.start + one.stop + one.to_warm.min(1000));
        let longest = longest.max().unwrap() as f64 / 1000.0 + duration_s + 0.2;
        let slack = every.map_or(0.01, |_| 2.0 * longest);
        prop_assert!(
            (predicted - rest).abs() <= 0.2 * rest + slack,
            "predicted {predicted} s, it took {rest} s"
        );
        prop_assert_eq!(left.left(None), Duration::ZERO);
    }
}
