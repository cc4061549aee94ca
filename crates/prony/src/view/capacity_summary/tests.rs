//! Tests: the words for each result.

use prony_capacity::{AttemptNoise, Purpose, ServerPlace};
use prony_model::{LatencyHistogram, LoadSpec, Schedule, Target};

use super::*;

fn attempt(rate_per_s: f64, judgement: Judgement, responses: u64) -> Attempt {
    let mut histogram = LatencyHistogram::new();
    (0..responses).for_each(|_| histogram.record(2_000_000));
    Attempt {
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
            address: "127.0.0.1:8080".into(),
        },
        load: LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, 750.0)),
            connections: 10,
            max_connections: Some(1000),
            ..LoadSpec::default()
        },
        slo: "p99<10ms".parse().unwrap(),
        precision: 0.1,
        resolution: 0.02,
        repeats: 6,
        budget_s: 300.0,
        seed: 42,
        guess_per_s: 1000.0,
        ended: Ended::Complete,
        found,
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

#[track_caller]
fn says(result: &CapacityResult, parts: &[&str]) {
    let text = text(result, None, 1000);
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_capacity_has_its_interval_and_its_conditions() {
    says(
        &result(capacity(&[1930.0, 1972.4])),
        &[
            "GET http://localhost:8080/ (127.0.0.1:8080)\n",
            "open loop, Poisson, 10 to 1,000 connections, 1 thread\n",
            "seed 42\n",
            "objective: p99<10ms,errors<0.1%\n",
            "Capacity: 1,950/s (95 % interval 1,930/s to 1,972/s, of 2 findings)\n",
            "1 rate tried in 150 s\n",
        ],
    );
    says(
        &result(capacity(&[1950.0])),
        &["(found once, so its spread is unknown)"],
    );
}

#[test]
fn what_is_no_capacity_is_not_called_one() {
    let mut limited = result(Found::AtLeast {
        per_s: Some(5000.0),
        limited_at_per_s: 5500.0,
    });
    let why = vec!["a worker was 99 % busy".into()];
    limited
        .attempts
        .push(attempt(5500.0, Judgement::Limited { why }, 100));
    says(
        &limited,
        &[
            "Capacity: at least 5,000/s\n",
            "The generator was the bottleneck at 5,500/s: a worker was 99 % busy. Give it more CPUs",
        ],
    );
    says(
        &result(Found::Nothing { tried_per_s: 1.0 }),
        &["Not even 1/s holds: p99 was 20.0 ms, not below 10ms"],
    );
    let mut between = result(Found::Between {
        held_per_s: Some(10.0),
        failed_per_s: Some(20.5),
    });
    between.ended = Ended::Budget;
    says(
        &between,
        &[
            "not found yet; 10/s held and 20.5/s did not",
            "The budget of 300 s ended the search after 0 of 6 findings;",
        ],
    );
    between.ended = Ended::Unsettled;
    says(
        &between,
        &["After the last rate the server sent no ok responses"],
    );
}

#[test]
fn the_curve_shows_what_its_responses_support() {
    let mut found = result(capacity(&[1950.0; 6]));
    found.curve = vec![
        attempt(195.0, Judgement::Held, 500),
        attempt(2145.0, failed(), 2000),
    ];
    found.knee_per_s = Some(1900.0);
    let text = text(&found, None, 80);
    let line = |start: &str| {
        text.lines()
            .find(|line| line.trim().starts_with(start))
            .unwrap()
    };
    assert_eq!(line("195/s").matches(number::NONE).count(), 1, "{text}");
    assert_eq!(line("2,145/s").matches(number::NONE).count(), 0, "{text}");
    assert!(text.contains("↳ does not hold"), "{text}");
    assert!(
        text.contains("Knee: latency rises steeply from 1,900/s on"),
        "{text}"
    );
    let columns = line("due").chars().count();
    assert_eq!(line("195/s").chars().count(), columns, "{text}");
}

fn noisy(attempt: Attempt, noisy: Vec<NoiseCause>) -> Attempt {
    let noise = AttemptNoise {
        steal_share: 0.0,
        foreign_share: 0.0,
        generator_wait_s: None,
        server_wait_s: None,
        server: ServerPlace::Seen,
        noisy,
    };
    Attempt {
        noise: Some(noise),
        ..attempt
    }
}

fn imprecise() -> CapacityResult {
    result(Found::Imprecise {
        low_per_s: Some(6_210.0),
        high_per_s: Some(39_504.0),
        findings_per_s: vec![6_400.0, 10_200.0, 39_500.0],
    })
}

#[test]
fn an_interval_that_is_too_wide_is_no_capacity() {
    let mut disturbed = imprecise();
    let steal = |share| NoiseCause::Steal { share };
    let others = NoiseCause::OtherPrograms { share: 0.31 };
    disturbed.attempts = vec![
        noisy(attempt(6_400.0, failed(), 100), vec![steal(0.12), others]),
        noisy(attempt(6_400.0, failed(), 100), vec![steal(0.07)]),
        noisy(attempt(6_400.0, Judgement::Held, 100), Vec::new()),
    ];
    says(
        &disturbed,
        &[
            "Capacity: too noisy to say: between 6,210/s and 39,504/s (target: within 10 %)\n",
            "Stop other programs, give server and generator their own CPUs",
            "2 of 3 attempts were noisy and did not count: 2 lost up to 12 % of the CPU to the hypervisor, 1 lost up to \
             31 % of the CPU to other programs\n",
        ],
    );
    says(
        &imprecise(),
        &[
            "too noisy to say: between",
            "Neither other programs nor the hypervisor disturbed it",
        ],
    );
    let mut short = imprecise();
    short.ended = Ended::Budget;
    says(
        &short,
        &[
            "Capacity: unknown after only 3 findings: between 6,210/s and 39,504/s",
            "The budget of 300 s ended the search after 3 of 6 findings; a longer --budget may find more.",
        ],
    );
}

#[test]
fn a_rate_that_failed_for_the_kernels_reasons_says_so() {
    let mut slow = result(capacity(&[1950.0; 6]));
    slow.attempts[0].slow_because = Some("37 SYNs were sent again".into());
    says(
        &slow,
        &["At 1,000/s, latency reached 2.00 ms: 37 SYNs were sent again\n"],
    );
}

#[test]
fn what_was_not_confirmed_says_so() {
    let mut found = capacity(&[1950.0; 6]);
    if let Found::Capacity { confirmed, .. } = &mut found {
        *confirmed = false;
    }
    says(&result(found), &["of 6 findings), not confirmed\n"]);
}
