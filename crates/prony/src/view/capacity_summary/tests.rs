//! Golden tests of search results.

use prony_model::{LatencyHistogram, LoadSpec, Protocol, RunFleet, Schedule, Target};
use prony_run::capacity::{AttemptNoise, Purpose, ServerPlace};

use super::*;
use crate::tests::golden;

pub(in crate::view) fn attempt(
    rate_per_s: f64,
    judgement: Judgement,
    responses: u64,
) -> RateAttempt {
    let mut histogram = LatencyHistogram::new();
    (0..responses).for_each(|_| histogram.record(2_000_000));
    RateAttempt {
        purpose: Purpose::Curve,
        run: 1,
        rate_per_s,
        seed: 1,
        duration_s: 5.0,
        cut_short: false,
        judgement,
        requests: responses,
        ok: responses,
        errors: 0.0,
        sent: 1.0,
        latency_ns: histogram.summary(),
        histogram: histogram.to_base64(),
        connections_opened: 10,
        waited_for_set_up: None,
        generator_busy: 0.1,
        noise: None,
        tcp: None,
        slow_because: None,
    }
}

fn failed() -> Judgement {
    Judgement::Failed {
        why: vec!["p99 was 20.0 ms, not below 10ms".into()],
    }
}

fn result(found: Found) -> CapacityResult {
    CapacityResult {
        target: Target {
            url: "http://localhost:8080/".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:8080".into(),
        },
        load: LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, 750.0)),
            connections: 10,
            max_connections: Some(1000),
            ..LoadSpec::default()
        },
        fleet: None,
        objectives: "p99<10ms".parse().unwrap(),
        precision: 0.1,
        resolution: 0.02,
        repeats: 6,
        budget_s: 300.0,
        seed: 42,
        guess_per_s: 1000.0,
        requests_per_flow: None,
        ended: Ended::Complete,
        best_per_s: found.best_per_s(),
        found,
        noisy_rates: 0,
        attempts: vec![attempt(1000.0, failed(), 100)],
        curve: Vec::new(),
        knee_per_s: None,
        duration_s: 150.4,
    }
}

fn capacity(findings_per_s: &[f64]) -> Found {
    Found::Capacity {
        per_s: 1950.0,
        low_per_s: 1930.0,
        high_per_s: 1972.4,
        coverage: 0.95,
        findings_per_s: findings_per_s.to_vec(),
        confirmed: true,
    }
}

pub(in crate::view) fn noisy(mut attempt: RateAttempt, noisy: Vec<NoiseCause>) -> RateAttempt {
    attempt.noise = Some(AttemptNoise {
        steal_share: 0.0,
        foreign_share: 0.0,
        generator_wait_s: None,
        server_wait_s: None,
        server: ServerPlace::Seen,
        noisy,
    });
    attempt
}

fn imprecise() -> CapacityResult {
    result(Found::Imprecise {
        low_per_s: Some(6_210.0),
        high_per_s: Some(39_504.0),
        findings_per_s: vec![6_400.0, 10_200.0, 39_500.0],
    })
}

#[test]
fn a_search_of_a_fleet_says_where_its_loads_came_from() {
    let mut result = result(capacity(&[1000.0]));
    let from = |result: &CapacityResult| text(result, None, 100).contains("from 3 agents on slurm");
    assert!(!from(&result));
    result.fleet = Some(RunFleet {
        on: "slurm".into(),
        agents: 3,
    });
    assert!(from(&result));
}

pub(in crate::view) fn generator_limited() -> Judgement {
    Judgement::Limited {
        why: vec!["a thread was 99 % busy".into()],
    }
}

fn with_curve() -> CapacityResult {
    let steal = vec![NoiseCause::Steal { share: 0.12 }];
    let mut result = result(capacity(&[1950.0; 6]));
    result.curve = vec![
        attempt(195.0, Judgement::Held, 500),
        noisy(attempt(1072.5, Judgement::Held, 20_000), steal),
        attempt(2145.0, failed(), 2000),
        attempt(2200.0, generator_limited(), 5),
    ];
    result.knee_per_s = Some(1900.0);
    result
}

/// Attempts that were disturbed, and one that failed because of TCP retransmissions.
fn disturbed() -> CapacityResult {
    let steal = |share| NoiseCause::Steal { share };
    let others = NoiseCause::OtherPrograms { share: 0.31 };
    let attempt = || attempt(6_400.0, failed(), 100);
    let mut late = attempt();
    late.latency_ns.as_mut().unwrap().max = 1_030_000_000;
    late.slow_because = Some("37 SYNs were sent again after waiting 1 s or longer".into());
    (late.connections_opened, late.waited_for_set_up) = (990, Some(0.12));
    CapacityResult {
        attempts: vec![
            noisy(attempt(), vec![steal(0.12), others]),
            noisy(attempt(), vec![steal(0.07)]),
            late,
        ],
        noisy_rates: 1,
        ..imprecise()
    }
}

/// A search with flows of 3 requests.
fn of_flows(mut result: CapacityResult) -> CapacityResult {
    result.load.flows = true;
    result.requests_per_flow = Some(3.0);
    result
}

fn limited() -> CapacityResult {
    let mut limited = result(Found::AtLeast {
        per_s: Some(5000.0),
        limited_at_per_s: 5500.0,
    });
    let last = attempt(5500.0, generator_limited(), 100);
    limited.attempts.push(last);
    limited
}

#[test]
fn summaries_are_the_golden_ones() {
    let mut unconfirmed = capacity(&[1950.0; 6]);
    if let Found::Capacity { confirmed, .. } = &mut unconfirmed {
        *confirmed = false;
    }
    let half_open = |low_per_s, high_per_s| Found::Imprecise {
        low_per_s,
        high_per_s,
        findings_per_s: vec![6_400.0],
    };
    // A search that did not end by itself.
    let ended = |ended, found| CapacityResult {
        ended,
        ..result(found)
    };
    let between = |why, held_per_s, failed_per_s| {
        let found = Found::Between {
            held_per_s,
            failed_per_s,
        };
        ended(why, found)
    };
    let nowhere = Found::AtLeast {
        per_s: None,
        limited_at_per_s: 5500.0,
    };
    let nothing = Found::Nothing { tried_per_s: 1.0 };
    let mut even = result(capacity(&[1930.0, 1972.4]));
    even.load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Even, 750.0));
    let mut short = with_curve();
    short.ended = Ended::Budget;
    let texts = [
        ("capacity, even arrivals", even),
        ("a single finding", result(capacity(&[1950.0]))),
        ("not confirmed", result(unconfirmed)),
        ("with its curve", with_curve()),
        ("with a part of its curve", short),
        ("the generator's limit", limited()),
        ("the generator's limit, from the first", result(nowhere)),
        ("flows", of_flows(with_curve())),
        ("the generator's limit of flows", of_flows(limited())),
        ("nothing holds", result(nothing)),
        ("disturbed", disturbed()),
        ("too wide an interval", imprecise()),
        ("too few findings", ended(Ended::Budget, imprecise().found)),
        ("half open", result(half_open(Some(6_210.0), None))),
        ("open the other way", result(half_open(None, Some(6_210.0)))),
        ("open", ended(Ended::Interrupted, half_open(None, None))),
        (
            "ended early",
            between(Ended::Budget, Some(10.0), Some(20.5)),
        ),
        (
            "ended with a rate that held",
            between(Ended::Interrupted, Some(10.0), None),
        ),
        (
            "ended with one that did not",
            between(Ended::Unsettled, None, Some(20.5)),
        ),
        ("ended at once", between(Ended::Interrupted, None, None)),
    ];
    let requests = Some("2 URLs, round-robin");
    let texts = texts.map(|(title, result)| (title, text(&result, requests, 80)));
    golden("capacity-summary", &texts);
}
