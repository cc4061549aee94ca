//! Tests of the whole procedure on simulated servers, in simulated time.

use std::sync::LazyLock;

use super::*;
use crate::judge::Judgement;
use crate::search::Found;
use crate::tests::{load, of_flows};
use prony_model::{CpuNoise, MachineNoise, NoiseCause, OutsideServer};

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
    elapsed: Duration,
    tries: Vec<Planned>,
    /// How long each load waits for late responses.
    wait: Duration,
    /// How long a load above the capacity waits for them.
    wait_above: Duration,
    /// After how many loads the user stops the search.
    stops_after: usize,
    /// After how many loads the server stops responding.
    breaks_after: usize,
    /// Whether the machine disturbs the load with this number (from 1) and rate, so that the
    /// server breaks the objective.
    is_noisy: fn(usize, f64) -> bool,
    pauses: usize,
}

/// Conditions on a remote server, if the hypervisor took this share of the generator's CPUs.
fn outside(steal_share: f64) -> Outside {
    let load_cpus = Some(CpuNoise {
        steal_share,
        foreign_share: 0.0,
    });
    Outside {
        noise: MachineNoise {
            load_cpus,
            ..MachineNoise::default()
        },
        server: OutsideServer::Elsewhere,
    }
}

impl Simulated {
    fn new(capacity: f64) -> Self {
        Self {
            capacity,
            generator_limit: f64::INFINITY,
            elapsed: Duration::ZERO,
            tries: Vec::new(),
            wait: Duration::ZERO,
            wait_above: Duration::ZERO,
            stops_after: usize::MAX,
            breaks_after: usize::MAX,
            is_noisy: |_, _| false,
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
        self.elapsed += Duration::from_secs(1);
        Ok(Some(LoadResult {
            rate_per_s: self.capacity.min(self.generator_limit) * 0.9,
            ..load([MS; 100], 0)
        }))
    }

    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, Self::Error> {
        if self.tries.len() == self.stops_after {
            return Ok(Loaded::Stopped);
        }
        if self.tries.len() == self.breaks_after {
            return Ok(Loaded::Unsettled(load([], 1).into()));
        }
        self.tries.push(*planned);
        let over = planned.rate_per_s / self.capacity;
        let wait = match over > 1.0 {
            true => self.wait.max(self.wait_above),
            false => self.wait,
        };
        self.elapsed += planned.warmup + planned.measured + wait;
        if let Some(by) = planned.ends_by.filter(|by| *by < self.elapsed) {
            self.elapsed = by;
            return Ok(Loaded::OutOfTime);
        }
        let is_noisy = (self.is_noisy)(self.tries.len(), planned.rate_per_s);
        let [fast, slow] = &*RESPONSES;
        let mut load = if over > 1.0 || is_noisy { slow } else { fast }.clone();
        if planned.rate_per_s > self.generator_limit {
            load.open.as_mut().unwrap().rate_ratio = self.generator_limit / planned.rate_per_s;
        }
        let outside = Some(outside(if is_noisy { 0.3 } else { 0.0 }));
        let observed = Observed { load, outside }.into();
        Ok(match planned.may_be_cut() && over > 1.5 {
            true => Loaded::CutShort(observed),
            false => Loaded::Whole(observed),
        })
    }

    fn pause(&mut self, length: Duration) {
        self.elapsed += length;
        self.pauses += 1;
    }
}

fn question() -> Question {
    Question {
        slo: "p99<10ms".parse().unwrap(),
        precision: Precision {
            share: 0.1,
            repeats: 6,
        },
        lengths: Lengths {
            warmup: Duration::from_secs(1),
            measured: Duration::from_secs(5),
        },
        budget: Duration::from_secs(3600),
        curve_steps: 10,
        seed: 7,
    }
}

fn found(question: &Question, server: &mut Simulated) -> CapacityResult {
    find(question, server, &mut |_| {}).unwrap().unwrap()
}

#[test]
fn it_finds_the_capacity_and_measures_the_curve() {
    let mut server = Simulated::new(2000.0);
    let result = found(&question(), &mut server);
    let Found::Capacity {
        per_s,
        findings_per_s,
        coverage,
        ..
    } = &result.found
    else {
        panic!("{:?}", result.found);
    };
    assert!((per_s / 2000.0 - 1.0).abs() < 0.011);
    assert!(findings_per_s.len() == 6 && *coverage >= 0.95);
    assert_eq!(result.ended, Ended::Complete);
    assert_eq!(result.curve.len(), 10);
    assert!(result.curve[9].rate_per_s > 2000.0 && !result.curve[9].cut_short);
    assert_eq!(result.attempts.len() + 10, server.tries.len());
    let mut seeds: Vec<u64> = server.tries.iter().map(|planned| planned.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), server.tries.len(), "the seeds differ");
}

#[test]
fn a_search_that_runs_out_of_budget_keeps_its_results_and_stays_within_it() {
    let mut question = question();
    question.budget = Duration::from_secs(180);
    let mut server = Simulated::new(2000.0);
    let result = found(&question, &mut server);
    assert_eq!(result.ended, Ended::Budget);
    assert!(server.elapsed <= question.budget);
    let Found::Capacity { findings_per_s, .. } = &result.found else {
        panic!("{:?}", result.found);
    };
    assert!((1..6).contains(&findings_per_s.len()));
    assert!(result.curve.len() >= 9, "time was reserved for the curve");

    question.budget = Duration::from_secs(1);
    let result = found(&question, &mut Simulated::new(2000.0));
    assert_eq!(result.attempts.len(), 1, "the first rate is always tried");
    assert!(matches!(
        result.found,
        Found::Between {
            held_per_s: Some(_),
            failed_per_s: None
        }
    ));
    assert!(result.curve.is_empty());
}

#[test]
fn waits_for_late_responses_count_towards_the_budget() {
    let mut question = question();
    question.budget = Duration::from_secs(120);
    let mut server = Simulated::new(2000.0);
    server.wait = Duration::from_secs(3);
    let result = found(&question, &mut server);
    assert_eq!(result.ended, Ended::Budget);
    assert!(server.elapsed <= question.budget);
    let completed = result.attempts.len() + result.curve.len();
    assert_eq!(
        completed,
        server.tries.len(),
        "every load that began also ended"
    );

    // A wait longer than all before cannot be foreseen, so the load is cut off at the deadline.
    for seconds in (10..150).step_by(3) {
        question.budget = Duration::from_secs(seconds);
        let mut server = Simulated::new(2000.0);
        server.wait_above = Duration::from_secs(20);
        found(&question, &mut server);
        assert!(server.elapsed <= question.budget, "{seconds}");
    }
}

#[test]
fn the_approach_gives_bounds_before_the_first_finding() {
    let mut ended_between = 0;
    for seconds in (20..100).step_by(3) {
        let mut question = question();
        question.budget = Duration::from_secs(seconds);
        let result = found(&question, &mut Simulated::new(2000.0));
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
                assert!(
                    result.duration_s > question.budget.as_secs_f64() - 6.0,
                    "the whole budget was used"
                );
            }
            ref other => assert!(!has_begun, "{seconds}: {other:?}"),
        }
    }
    assert!(ended_between > 0);
}

#[test]
fn a_server_that_does_not_recover_ends_the_search_without_failing_a_rate() {
    let mut server = Simulated::new(2000.0);
    server.breaks_after = 9;
    let mut received = Vec::new();
    let result = find(&question(), &mut server, &mut |event| {
        if let Event::Unsettled(what) = event {
            received.push(what.to_owned());
        }
    });
    let result = result.unwrap().unwrap();
    assert_eq!(result.ended, Ended::Unsettled);
    assert_eq!(received, ["1 timed_out"]);
    assert_eq!((result.attempts.len(), result.curve.len()), (9, 0));

    let mut server = Simulated::new(2000.0);
    server.breaks_after = 0;
    let error = find(&question(), &mut server, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no response was as expected: 1 timed_out"
    );
}

#[test]
fn a_search_that_the_user_stops_keeps_its_results() {
    for stops_after in [0, 1, 8, 30] {
        let mut server = Simulated::new(2000.0);
        server.stops_after = stops_after;
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
    server.generator_limit = 3000.0;
    let result = found(&question(), &mut server);
    let Found::AtLeast {
        per_s: Some(held), ..
    } = result.found
    else {
        panic!("{:?}", result.found);
    };
    assert!(held <= 3040.0, "{held}");
    let last = result.curve.last().unwrap();
    assert!((last.rate_per_s / held - 1.0).abs() < 1e-9);
    let limited = |attempt: &&RateAttempt| matches!(attempt.judgement, Judgement::Limited { .. });
    assert!(result.attempts.iter().filter(limited).count() >= 2);
}

#[test]
fn a_low_rate_is_tried_for_as_long_as_its_percentile_needs() {
    let mut server = Simulated::new(100.0);
    found(&question(), &mut server);
    let search = server.tries.iter().filter(|planned| planned.may_be_cut());
    for planned in search {
        let responses = planned.rate_per_s * planned.measured.as_secs_f64();
        assert!(responses > 999.0, "{planned:?}");
    }
}

/// A server with a capacity of 100 flows per second, each of which sends 4 requests and takes 3 s.
struct OfFlows(Simulated);

impl Generator for OfFlows {
    type Error = std::convert::Infallible;

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn closed_loop(&mut self) -> Result<Option<LoadResult>, Self::Error> {
        self.0.elapsed += Duration::from_secs(3);
        let closed = LoadResult {
            duration_s: 3.0,
            ..load([MS; 120], 0)
        };
        Ok(Some(of_flows(closed, 30, 3000 * MS)))
    }

    fn open_loop(&mut self, planned: &Planned) -> Result<Loaded, Self::Error> {
        Ok(match self.0.open_loop(planned)? {
            Loaded::Whole(observed) => Loaded::Whole(flows_of(*observed)),
            Loaded::CutShort(observed) => Loaded::CutShort(flows_of(*observed)),
            other => other,
        })
    }

    fn pause(&mut self, length: Duration) {
        self.0.pause(length);
    }
}

fn flows_of(observed: Observed) -> Box<Observed> {
    let load = of_flows(observed.load, 500, 3000 * MS);
    Observed { load, ..observed }.into()
}

#[test]
fn the_rates_of_a_scenario_are_those_of_flows() {
    let mut server = OfFlows(Simulated::new(100.0));
    let mut guessed = Vec::new();
    let result = find(&question(), &mut server, &mut |event| {
        if let Event::Guessed(rate) = event {
            guessed.push(rate);
        }
    });
    let result = result.unwrap().unwrap();
    assert_eq!(guessed, [10.0]);
    assert_eq!(
        (result.requests_per_flow, result.load.flows),
        (Some(4.0), true)
    );
    let Found::Capacity { per_s, .. } = result.found else {
        panic!("{:?}", result.found);
    };
    assert!((per_s / 100.0 - 1.0).abs() < 0.011, "{per_s}");
    for planned in &server.0.tries {
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
fn a_scenario_none_of_whose_flows_is_ok_has_no_capacity() {
    struct Failing(Option<&'static str>);
    impl Generator for Failing {
        type Error = std::convert::Infallible;
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
        fn closed_loop(&mut self) -> Result<Option<LoadResult>, Self::Error> {
            let mut closed = of_flows(load([MS; 10], 0), 0, 0);
            let flows = closed.flows.as_mut().unwrap();
            flows.failed = u64::from(self.0.is_some()) * 10;
            flows.first_failure = self.0.map(str::to_owned);
            Ok(Some(closed))
        }
        fn open_loop(&mut self, _: &Planned) -> Result<Loaded, Self::Error> {
            panic!("a search began without a first guess")
        }
        fn pause(&mut self, _: Duration) {}
    }
    for (reason, told) in [
        (Some("`id` is not defined"), "`id` is not defined"),
        (None, "no flow ended in time"),
    ] {
        let error = find(&question(), &mut Failing(reason), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), format!("no flow was ok: {told}"));
    }
}

#[test]
fn without_an_expected_response_the_error_lists_the_outcomes() {
    struct Wrong;
    impl Generator for Wrong {
        type Error = std::convert::Infallible;
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
        fn closed_loop(&mut self) -> Result<Option<LoadResult>, Self::Error> {
            Ok(Some(load([], 5)))
        }
        fn open_loop(&mut self, _: &Planned) -> Result<Loaded, Self::Error> {
            panic!("a search began without a first guess")
        }
        fn pause(&mut self, _: Duration) {}
    }
    let error = find(&question(), &mut Wrong, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no response was as expected: 5 timed_out"
    );
}

#[test]
fn the_same_seed_gives_the_same_loads() {
    let rates = || {
        let mut server = Simulated::new(2000.0);
        found(&question(), &mut server);
        server.tries
    };
    assert_eq!(rates(), rates());
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
    let Found::Capacity { per_s, .. } = result.found else {
        panic!("{:?}", result.found);
    };
    assert!((per_s / 2000.0 - 1.0).abs() < 0.011, "{per_s}");
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
fn a_rate_that_stays_noisy_is_undecided_and_widens_the_interval() {
    let mut server = Simulated::new(2000.0);
    // Rates between 1950 and 2300 always stay noisy, so they remain undecided.
    server.is_noisy = |_, rate| (1950.0..2300.0).contains(&rate);
    let result = found(&question(), &mut server);
    let Found::Imprecise {
        low_per_s: Some(low),
        high_per_s: Some(high),
        ..
    } = result.found
    else {
        panic!("{:?}", result.found);
    };
    assert!(low < 1950.0 && 2300.0 <= high, "{low} to {high}");
    assert_eq!(result.ended, Ended::Complete);
    assert!(
        result.curve.is_empty(),
        "without a capacity there is no curve"
    );
    let given_up = count(&result, |attempt| attempt.run == MOST_RUNS);
    assert!(given_up > 1 && result.attempts.len() < 120, "{given_up}");
}

#[test]
fn a_search_on_a_machine_that_is_always_noisy_ends_without_a_capacity() {
    let mut server = Simulated::new(2000.0);
    server.is_noisy = |_, _| true;
    let result = found(&question(), &mut server);
    let unknown = Found::Imprecise {
        low_per_s: None,
        high_per_s: None,
        findings_per_s: Vec::new(),
    };
    assert_eq!((result.ended, &result.found), (Ended::Complete, &unknown));
    assert_eq!(count(&result, RateAttempt::is_noisy), result.attempts.len());
    assert!(result.attempts.len() <= 12, "{}", result.attempts.len());
    // And it stays within the budget.
    let mut question = question();
    question.budget = Duration::from_secs(30);
    let mut server = Simulated::new(2000.0);
    server.is_noisy = |_, _| true;
    let result = found(&question, &mut server);
    assert_eq!(result.ended, Ended::Budget);
    assert!(server.elapsed <= question.budget);
}
