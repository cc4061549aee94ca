//! Golden files of the chart of latency against rate, for each kind of result.
//!
//! `cargo insta test --review -p prony-run` shows what a change does (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-run --test golden` accepts all of it.

use prony_model::{LatencyHistogram, LoadSpec, Protocol, Target};
use prony_run::capacity::{
    CapacityResult, Ended, Found, Judgement, Purpose, RateAttempt, chart_svg,
};
use prony_testkit::golden;

fn at_least() -> Found {
    Found::AtLeast {
        per_s: Some(2_145.0),
        limited_at_per_s: 2_500.0,
    }
}

#[test]
fn latency_against_rate() {
    let capacity = Found::Capacity {
        per_s: 1_950.0,
        low_per_s: 1_930.0,
        high_per_s: 1_972.4,
        coverage: 0.97,
        findings_per_s: vec![1_930.0, 1_950.0, 1_972.4],
        confirmed: true,
    };
    let nothing = Found::Nothing { tried_per_s: 195.0 };
    for (name, found, objectives, knee_per_s) in [
        ("capacity", capacity, "p99<10ms", Some(1_755.0)),
        ("at-least", at_least(), "mean<2ms,max<1s,errors<1%", None),
        ("nothing", nothing, "p50<10us", None),
    ] {
        let mut result = result(found, objectives);
        result.knee_per_s = knee_per_s;
        golden(name, &result);
    }
}

/// A result with a rate below 100 and few responses; the address tries to be markup.
#[test]
fn few_responses() {
    let response = Found::Between {
        held_per_s: Some(10.0),
        failed_per_s: None,
    };
    let mut result = result(response, "p99<10ms");
    result.target.url = "http://localhost/?<script>&".into();
    result.curve = vec![point(12.3, 25), point(25.0, 1_500)];
    golden("few-responses", &result);
}

#[test]
fn flows() {
    let mut result = result(at_least(), "p99<10ms");
    result.load.flows = true;
    result.knee_per_s = Some(1_755.0);
    golden("flows", &result);
}

#[test]
fn without_a_curve_there_is_no_chart() {
    let mut result = result(Found::Nothing { tried_per_s: 1.0 }, "p99<10ms");
    result.curve.clear();
    assert_eq!(chart_svg(&result), None);
}

/// A result with a curve from a tenth of 1,950 requests per second to a tenth more.
fn result(found: Found, objectives: &str) -> CapacityResult {
    let rates = (1..=11).map(|tenth| 195.0 * f64::from(tenth));
    CapacityResult {
        target: Target {
            url: "http://localhost:8080/".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:8080".into(),
        },
        load: LoadSpec::default(),
        fleet: None,
        objectives: objectives.parse().unwrap(),
        precision: 0.1,
        resolution: 0.02,
        repeats: 3,
        budget_s: 60.0,
        seed: 1,
        guess_per_s: 2_000.0,
        requests_per_flow: None,
        ended: Ended::Complete,
        best_per_s: found.best_per_s(),
        found,
        noisy_rates: 0,
        attempts: Vec::new(),
        curve: rates.map(|rate| point(rate, 20_000)).collect(),
        knee_per_s: None,
        duration_s: 50.0,
    }
}

/// The nearer the rate is to 2,200, the longer its responses take.
fn point(rate_per_s: f64, responses: u64) -> RateAttempt {
    let mut histogram = LatencyHistogram::new();
    let mean_ns = 200_000.0 / (1.0 - rate_per_s / 2_200.0);
    for response in 0..responses {
        let tail = if response % 150 == 0 { 6.0 } else { 1.0 };
        histogram.record((mean_ns * tail * (1.0 + 0.1 * (response % 9) as f64)) as u64);
    }
    RateAttempt {
        purpose: Purpose::Curve,
        run: 1,
        rate_per_s,
        seed: 1,
        duration_s: 5.0,
        cut_short: false,
        judgement: Judgement::Held,
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

/// Splits the chart into about one element per line.
fn golden(name: &str, result: &CapacityResult) {
    let svg = chart_svg(result).unwrap();
    let lines = svg.replace("><", ">\n<").replace("\n</", "</");
    golden!(format!("{name}.svg"), lines);
}
