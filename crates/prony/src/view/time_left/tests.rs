use super::*;
use prony_model::{Arrivals, parse_stages};
use prony_suite::{Measure, Plan};

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

fn trials(load: LoadSpec, rounds: u32) -> Vec<Trial> {
    let measure = Measure {
        workload: "byte".into(),
        load,
        rounds,
        warmup_limit_s: 0.0,
    };
    let servers = ["a".to_owned(), "b".to_owned()];
    Plan::interleaved(&servers, &[measure], |_, _| true, 1).trials(rounds)
}

fn time_left(trials: &[Trial]) -> TimeLeft {
    let mut left = TimeLeft::default();
    trials.iter().for_each(|trial| left.expect(trial));
    left
}

#[test]
fn a_load_of_known_length_is_known_before_the_first_trial() {
    let closed = load(LoadShape::Closed, Some(2.0), None);
    assert_eq!(
        time_left(&trials(closed, 2)).left(),
        Duration::from_secs(12)
    );
    let open = LoadShape::UsersOpen { think_time_s: 1.0 };
    let open = load(open, None, Some(10_000));
    assert_eq!(planned(&open), Some(Duration::from_millis(20_500)));
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
    let by_time = load(rate("1k/s"), Some(2.0), Some(5_000));
    assert_eq!(planned(&by_time), Some(Duration::from_millis(2_500)));
    let by_time_alone = load(rate("1k/s"), Some(2.0), None);
    assert_eq!(planned(&by_time_alone), Some(Duration::from_millis(2_500)));
}

#[test]
fn the_time_of_closed_loop_users_depends_on_the_server() {
    let users = || LoadShape::UsersClosed { think_time_s: 1.0 };
    assert_eq!(planned(&load(users(), None, Some(10_000))), None);
    let by_time = planned(&load(users(), Some(2.0), None));
    assert_eq!(by_time, Some(Duration::from_millis(2_500)));
}

#[test]
fn rounds_differ_only_in_their_seeds() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 3);
    let seeds: Vec<u64> = trials.iter().map(|trial| trial.load.seed).collect();
    assert_ne!(seeds.first(), seeds.last());
    let mut left = time_left(&trials);
    left.done(&trials[0], Duration::from_secs(9));
    assert_eq!(left.left(), Duration::from_secs(45));
}

#[test]
fn trials_like_a_long_one_are_expected_to_take_long() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 3);
    let mut left = time_left(&trials);
    let seconds = |trial: &Trial| if trial.server == "a" { 9 } else { 1 };
    let of_round_1 = |id: &'static str| trials.iter().find(move |one| one.server == id);
    let first = of_round_1("a").unwrap();
    left.done(first, Duration::from_secs(seconds(first)));
    // The other server's first trial is taken to be like this one's.
    assert_eq!(left.left(), Duration::from_secs(45));
    let second = of_round_1("b").unwrap();
    left.done(second, Duration::from_secs(seconds(second)));
    assert_eq!(left.left(), Duration::from_secs(20));
    for trial in &trials[2..] {
        left.done(trial, Duration::from_secs(seconds(trial)));
    }
    assert_eq!(left.left(), Duration::ZERO);
}

#[test]
fn a_trial_that_is_re_run_is_one_more() {
    let trials = trials(load(LoadShape::Closed, None, Some(1_000)), 1);
    let mut left = time_left(&trials);
    for trial in &trials {
        left.done(trial, Duration::from_secs(5));
    }
    left.expect(&trials[0]);
    assert_eq!(left.left(), Duration::from_secs(5));
    left.done(&trials[0], Duration::from_secs(7));
    assert_eq!(left.left(), Duration::ZERO);
}

#[test]
fn durations_from_one_minute_on_are_in_minutes() {
    assert_eq!(minutes(Duration::from_millis(59_400)), "59 s");
    assert_eq!(minutes(Duration::from_millis(59_600)), "1 min 00 s");
}
