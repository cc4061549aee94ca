//! Tests of the whole procedure on simulated servers, in simulated time.

use std::sync::LazyLock;

use super::*;
use crate::capacity::judge::Judgement;
use crate::capacity::search::Found;
use crate::capacity::tests::{self, load, of_flows, outside};
use prony_model::{NoiseCause, OutsideServer};

const MS: u64 = 1_000_000;

/// Loads of a server that responds in time, and of one that does not. A search has hundreds, and each has a histogram.
static RESPONSES: LazyLock<[LoadResult; 2]> =
    LazyLock::new(|| [2 * MS, 500 * MS].map(|latency| load([latency; 2000], 0)));

/// A server that responds after 2 ms up to its capacity, and after 500 ms above it. Loads, waits for late responses
/// and pauses take simulated time.
struct Simulated {
    capacity: f64,
    /// The highest rate that the generator reaches.
    generator_limit: f64,
    /// The closed loop at the beginning.
    closed: LoadResult,
    elapsed: Duration,
    tries: Vec<Planned>,
    /// How long a load waits for late responses, in seconds, at a share of the capacity.
    wait_s: fn(f64) -> u64,
    /// After how many loads no more are sent, and what happens instead.
    ends: (usize, fn() -> Loaded),
    /// Whether the machine disturbs the load with this number (from 1) and rate.
    is_noisy: fn(usize, f64) -> bool,
    /// Whether that breaks the objective.
    noise_breaks: bool,
    pauses: usize,
}

/// The server has stopped responding.
fn unsettled() -> Loaded {
    Loaded::Unsettled(load([], 1).into())
}

impl Simulated {
    fn new(capacity: f64) -> Self {
        Self {
            capacity,
            generator_limit: f64::INFINITY,
            closed: LoadResult {
                rate_per_s: capacity * 0.9,
                ..load([MS; 100], 0)
            },
            elapsed: Duration::ZERO,
            tries: Vec::new(),
            wait_s: |_| 0,
            ends: (usize::MAX, unsettled),
            is_noisy: |_, _| false,
            noise_breaks: true,
            pauses: 0,
        }
    }
}

impl Generator for Simulated {
    type Error = std::convert::Infallible;

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn closed_loop(&mut self) -> Result<Option<LoadResult>, Self::Error> {
        self.elapsed += Duration::from_secs_f64(self.closed.duration_s);
        Ok(Some(self.closed.clone()))
    }

    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, Self::Error> {
        if self.tries.len() == self.ends.0 {
            return Ok((self.ends.1)());
        }
        self.tries.push(*planned);
        let over = planned.rate_per_s / self.capacity;
        let wait = Duration::from_secs((self.wait_s)(over));
        self.elapsed += planned.warmup + planned.measured + wait;
        if let Some(by) = planned.ends_by.filter(|by| *by < self.elapsed) {
            self.elapsed = by;
            return Ok(Loaded::OutOfTime);
        }
        let is_noisy = (self.is_noisy)(self.tries.len(), planned.rate_per_s);
        let [fast, slow] = &*RESPONSES;
        let is_slow = over > 1.0 || (is_noisy && self.noise_breaks);
        let mut load = if is_slow { slow } else { fast }.clone();
        if planned.rate_per_s > self.generator_limit {
            load.open.as_mut().unwrap().rate_ratio = self.generator_limit / planned.rate_per_s;
            load.generator.limited_by("a thread was 99 % busy");
        }
        if self.closed.flows.is_some() {
            load = of_flows(load, 500, 3000 * MS);
        }
        let steal_share = if is_noisy { 0.3 } else { 0.0 };
        let outside = Some(outside(steal_share, 0.0, OutsideServer::Elsewhere));
        let observed = Observed { load, outside }.into();
        Ok(if planned.may_be_cut() && over > 1.5 {
            Loaded::CutShort(observed)
        } else {
            Loaded::Whole(observed)
        })
    }

    fn pause(&mut self, length: Duration) {
        self.elapsed += length;
        self.pauses += 1;
    }
}

fn question() -> Question {
    Question {
        objectives: "p99<10ms".parse().unwrap(),
        precision: tests::PRECISION,
        lengths: Lengths {
            warmup: Duration::from_secs(1),
            measured: Duration::from_secs(5),
        },
        budget: Duration::from_secs(3600),
        curve_steps: 10,
        seed: 7,
    }
}

fn within(seconds: u64) -> Question {
    Question {
        budget: Duration::from_secs(seconds),
        ..question()
    }
}

fn found(question: &Question, server: &mut Simulated) -> CapacityResult {
    find(question, server, &mut |_| {}).unwrap().unwrap()
}

/// The result, and what else than loads was reported.
fn watched(server: &mut Simulated) -> (CapacityResult, Vec<String>) {
    let mut events = Vec::new();
    let result = find(&question(), server, &mut |event| match event {
        Event::Guessed(rate) => events.push(format!("guessed {rate}")),
        Event::Unsettled(received) => events.push(received.to_owned()),
        Event::Trying(_) | Event::Tried(_) => {}
    });
    (result.unwrap().unwrap(), events)
}

/// Why there is no result.
fn failure(server: &mut Simulated) -> String {
    let error = find(&question(), server, &mut |_| {}).unwrap_err();
    assert!(server.tries.is_empty());
    error.to_string()
}

#[track_caller]
fn finds(capacity: f64, result: &CapacityResult) {
    let (per_s, ..) = tests::capacity(&result.found);
    assert!((per_s / capacity - 1.0).abs() < 0.011, "{per_s}");
}

#[test]
fn it_finds_the_capacity_and_measures_the_curve() {
    let mut server = Simulated::new(2000.0);
    let result = found(&question(), &mut server);
    finds(2000.0, &result);
    assert!(
        matches!(&result.found, Found::Capacity { findings_per_s, coverage, .. }
        if findings_per_s.len() == 6 && *coverage >= 0.95)
    );
    assert_eq!((result.ended, result.curve.len()), (Ended::Complete, 10));
    assert!(result.curve[9].rate_per_s > 2000.0 && !result.curve[9].cut_short);
    assert_eq!(result.attempts.len() + 10, server.tries.len());
    let mut seeds: Vec<u64> = server.tries.iter().map(|planned| planned.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), server.tries.len(), "the seeds differ");
    let mut again = Simulated::new(2000.0);
    found(&question(), &mut again);
    assert_eq!(server.tries, again.tries, "the seed decides the loads");
}

#[test]
fn a_search_that_runs_out_of_budget_keeps_its_results_and_stays_within_it() {
    let mut server = Simulated::new(2000.0);
    let result = found(&within(180), &mut server);
    assert_eq!(result.ended, Ended::Budget);
    assert!(server.elapsed <= Duration::from_secs(180));
    let findings = match &result.found {
        Found::Capacity { findings_per_s, .. } => findings_per_s.len(),
        other => panic!("{other:?}"),
    };
    assert!((1..6).contains(&findings), "{findings}");
    assert!(result.curve.len() >= 9, "time was reserved for the curve");

    let result = found(&within(1), &mut Simulated::new(2000.0));
    assert_eq!(result.attempts.len(), 1, "the first rate is always tried");
    let Found::Between {
        held_per_s: Some(_),
        failed_per_s: None,
    } = result.found
    else {
        panic!("{:?}", result.found);
    };
    assert!(result.curve.is_empty());
}

#[test]
fn waits_for_late_responses_count_towards_the_budget() {
    let mut server = Simulated::new(2000.0);
    server.wait_s = |_| 3;
    let result = found(&within(120), &mut server);
    assert_eq!(result.ended, Ended::Budget);
    assert!(server.elapsed <= Duration::from_secs(120));
    // Every load that began also ended.
    let completed = result.attempts.len() + result.curve.len();
    assert_eq!(completed, server.tries.len());

    // A wait longer than all before cannot be foreseen, so the load is cut off at the deadline.
    for seconds in (10..150).step_by(3) {
        let mut server = Simulated::new(2000.0);
        server.wait_s = |share| if share > 1.0 { 20 } else { 0 };
        found(&within(seconds), &mut server);
        assert!(server.elapsed <= Duration::from_secs(seconds), "{seconds}");
    }
}

#[test]
fn the_approach_gives_bounds_before_the_first_finding() {
    let mut ended_between = 0;
    for seconds in (20..100).step_by(3) {
        let result = found(&within(seconds), &mut Simulated::new(2000.0));
        let is_finding = |attempt: &RateAttempt| matches!(attempt.purpose, Purpose::Finding { .. });
        let has_begun = result.attempts.iter().any(is_finding);
        match result.found {
            Found::Capacity { .. } => {}
            Found::Imprecise {
                low_per_s: Some(low),
                high_per_s: Some(high),
                ref findings_per_s,
            } => assert!(findings_per_s.len() > 1 && low <= 2000.0 && 2000.0 < high),
            Found::Between {
                held_per_s: Some(held),
                failed_per_s: Some(failed),
            } if has_begun => {
                ended_between += 1;
                assert!(held <= 2000.0 && 2000.0 < failed && failed / held < 1.11);
                // The whole budget was used.
                assert!(result.duration_s > seconds as f64 - 6.0);
            }
            ref other => assert!(!has_begun, "{seconds}: {other:?}"),
        }
    }
    assert!(ended_between > 0);
}

#[test]
fn a_server_that_does_not_recover_ends_the_search_without_failing_a_rate() {
    let mut server = Simulated::new(2000.0);
    server.ends = (9, unsettled);
    let (result, events) = watched(&mut server);
    assert_eq!(result.ended, Ended::Unsettled);
    assert_eq!(events, ["guessed 1800", "1 timed_out"]);
    assert_eq!((result.attempts.len(), result.curve.len()), (9, 0));
}

#[test]
fn a_search_that_the_user_stops_keeps_its_results() {
    for stops_after in [0, 1, 8, 30] {
        let mut server = Simulated::new(2000.0);
        server.ends = (stops_after, || Loaded::Stopped);
        let result = find(&question(), &mut server, &mut |_| {}).unwrap();
        assert_eq!(result.is_some(), stops_after > 0);
        if let Some(result) = result {
            assert_eq!(result.ended, Ended::Interrupted);
            assert_eq!(result.attempts.len() + result.curve.len(), stops_after);
        }
    }
}

#[test]
fn if_the_generator_is_the_limit_the_capacity_is_a_lower_bound() {
    let mut server = Simulated::new(1e6);
    (server.generator_limit, server.closed.rate_per_s) = (3000.0, 2700.0);
    let result = found(&question(), &mut server);
    let Found::AtLeast {
        per_s: Some(held),
        limited_at_per_s: at,
    } = result.found
    else {
        panic!("{:?}", result.found);
    };
    // It counts as reached if 99 % of it was sent.
    assert!(
        held <= 3040.0 && held < at && at / held < 1.101,
        "{held} to {at}"
    );
    let last = result.curve.last().unwrap();
    assert!((last.rate_per_s / held - 1.0).abs() < 1e-9);
    let is_limited = |attempt: &RateAttempt| matches!(attempt.judgement, Judgement::Limited { .. });
    assert!(count(&result, is_limited) >= 2);
}

/// A closed loop of flows, each of which sends 4 requests and takes 3 s.
fn closed_loop_of_flows() -> LoadResult {
    let closed = LoadResult {
        duration_s: 3.0,
        ..load([MS; 120], 0)
    };
    of_flows(closed, 30, 3000 * MS)
}

#[test]
fn the_rates_of_a_scenario_are_those_of_flows() {
    let mut server = Simulated::new(100.0);
    server.closed = closed_loop_of_flows();
    let (result, events) = watched(&mut server);
    assert_eq!(events, ["guessed 10"]);
    assert_eq!(result.requests_per_flow, Some(4.0));
    assert!(result.load.flows);
    finds(100.0, &result);
    for planned in &server.tries {
        // The server does not have all of the load before the first flows have ended.
        let late = planned.warmup.as_secs_f64() - 3.0;
        assert!((0.0..0.01).contains(&late), "{planned:?}");
        let seconds = planned.measured.as_secs_f64();
        let requests = 4.0 * planned.rate_per_s * seconds;
        assert!((planned.requests / requests - 1.0).abs() < 1e-9);
        // The bound is on p99, and 1000 requests have 10 beyond it.
        if planned.may_be_cut() {
            let needed = (250.0 / planned.rate_per_s).clamp(5.0, 30.0);
            assert!((seconds - needed).abs() < 1e-6, "{planned:?}");
        }
    }
}

#[test]
fn without_a_first_guess_the_error_says_what_came_instead() {
    let mut server = Simulated::new(2000.0);
    for (reason, shown) in [
        (Some("`id` is not defined"), "`id` is not defined"),
        (None, "no flow ended in time"),
    ] {
        server.closed = of_flows(load([MS; 10], 0), 0, 0);
        let flows = server.closed.flows.as_mut().unwrap();
        flows.failed = u64::from(reason.is_some()) * 10;
        flows.first_failure = reason.map(str::to_owned);
        assert_eq!(failure(&mut server), format!("no flow was ok: {shown}"));
    }
    server.closed = load([], 5);
    let outcomes = "no response was as expected: 5 timed_out";
    assert_eq!(failure(&mut server), outcomes);
    let mut broken = Simulated::new(2000.0);
    broken.ends = (0, unsettled);
    let outcomes = "no response was as expected: 1 timed_out";
    assert_eq!(failure(&mut broken), outcomes);
}

/// The number of attempts for which `is` is true.
fn count(result: &CapacityResult, is: impl Fn(&RateAttempt) -> bool) -> usize {
    result.attempts.iter().filter(|attempt| is(attempt)).count()
}

#[test]
fn a_noisy_rate_is_re_run() {
    let mut server = Simulated::new(2000.0);
    // Every fourth load is noisy, whatever its rate.
    server.is_noisy = |number, _| number % 4 == 1;
    let result = found(&question(), &mut server);
    finds(2000.0, &result);
    let noisy = count(&result, RateAttempt::is_noisy);
    assert!(noisy > 3);
    assert_eq!(count(&result, |attempt| attempt.run == 2), noisy);
    assert_eq!(server.pauses, noisy);
    for pair in result.attempts.windows(2).filter(|pair| pair[0].is_noisy()) {
        assert_eq!(pair[0].rate_per_s, pair[1].rate_per_s);
        let noise = pair[0].noise.as_ref().unwrap();
        assert_eq!(noise.noisy, [NoiseCause::Steal { share: 0.3 }]);
    }
}

#[test]
fn if_every_run_of_a_rate_is_noisy_the_least_disturbed_one_counts() {
    let mut server = Simulated::new(2000.0);
    // A tenth of the rates, whose loads are not slower for it.
    server.is_noisy = |_, rate| (1990.0..2030.0).contains(&rate);
    server.noise_breaks = false;
    let result = found(&question(), &mut server);
    finds(2000.0, &result);
    assert!(result.noisy_rates > 0 && result.ended == Ended::Complete);
    let runs = |run| count(&result, |attempt| attempt.run == run && attempt.is_noisy());
    // The first rate that stays noisy has three runs, the second two, and from then on each has one.
    assert_eq!((runs(3), runs(2)), (1, 2));
    assert_eq!(runs(1), result.noisy_rates as usize);
}

#[test]
fn a_search_on_a_machine_that_is_always_noisy_gives_its_best_estimate() {
    for (seconds, ended) in [(3600, Ended::Complete), (90, Ended::Budget)] {
        let mut server = Simulated::new(2000.0);
        server.is_noisy = |_, _| true;
        server.noise_breaks = false;
        let result = found(&within(seconds), &mut server);
        assert_eq!((result.ended, result.curve.len()), (ended, 0));
        assert!(server.elapsed <= Duration::from_secs(seconds));
        let best = result.best_per_s.unwrap();
        assert!(
            (best / 2000.0 - 1.0).abs() < 0.2,
            "{best}: {:?}",
            result.found
        );
        // It is not a capacity.
        let is_known = matches!(result.found, Found::Capacity { .. } | Found::Nothing { .. });
        assert!(!is_known, "{:?}", result.found);
        let at = |rate: f64| count(&result, |attempt| attempt.rate_per_s == rate);
        assert!(result.attempts.iter().all(|one| at(one.rate_per_s) <= 6));
    }
}

#[test]
fn if_noise_alone_fails_every_rate_nothing_is_known() {
    let mut server = Simulated::new(2000.0);
    server.is_noisy = |_, _| true;
    let result = found(&question(), &mut server);
    let unknown = Found::Imprecise {
        low_per_s: None,
        high_per_s: Some(1.0),
        findings_per_s: Vec::new(),
    };
    assert_eq!((result.found, result.noisy_rates > 0), (unknown, true));
}

#[test]
fn by_default_a_search_takes_at_most_90_s_with_its_curve() {
    for (capacity, of_closed_loop, is_complete) in [
        (2000.0, 0.9, true),
        (40_000.0, 2.0, true),
        // Each rate takes longer, and the guess is far off.
        (700.0, 0.2, false),
    ] {
        let mut server = Simulated::new(capacity);
        server.closed.rate_per_s = capacity * of_closed_loop;
        server.closed.duration_s = 2.0;
        let question = Question {
            lengths: Lengths::USUAL,
            budget: Lengths::USUAL_BUDGET,
            ..question()
        };
        let result = found(&question, &mut server);
        finds(capacity, &result);
        assert!(server.elapsed <= Lengths::USUAL_BUDGET);
        let is_whole = (result.ended, result.curve.len()) == (Ended::Complete, 10);
        assert_eq!(is_whole, is_complete, "{capacity}: {:?}", server.elapsed);
    }
}

#[test]
fn a_noisy_rate_makes_no_knee() {
    let mut server = Simulated::new(2000.0);
    // The machine is noisy only while the curve is measured.
    server.is_noisy = |_, rate| (840.0..890.0).contains(&rate);
    let result = found(&question(), &mut server);
    let noisy = result.curve.iter().filter(|one| one.is_noisy());
    assert_eq!(noisy.count(), 1);
    assert!(
        result.knee_per_s.unwrap() > 1500.0,
        "{:?}",
        result.knee_per_s
    );
}
