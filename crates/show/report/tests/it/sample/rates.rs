//! A made-up run under every shape of load.

use prony_model::Seconds;
use prony_model::*;

use super::documents::{ALL, Records, made};
use super::{ROUNDS, spec};

/// The rate of the sample's Poisson load, in requests per second.
pub(crate) const RATE: f64 = 20_000.0;
/// The round in which Bun's load did not reach this rate.
pub(crate) const MISSED_ROUND: u32 = 2;
/// Why the generator was the limit for Go in the same round.
pub(crate) const EVIDENCE: &str =
    "it was 1.2 s behind schedule at the end, although connections were free";

/// One workload under four loads, and one whose events are counted beside streams that are held.
pub(crate) fn rates() -> Records {
    let rate = LoadSpec {
        shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, RATE)),
        max_connections: Some(500),
        deadline: Some(Seconds::from_secs(1)),
        ..spec(64)
    };
    let pipelined = LoadSpec {
        pipeline: 16,
        ..spec(64)
    };
    let users = LoadSpec {
        shape: LoadShape::UsersClosed {
            think_time: Seconds::from_millis(100),
        },
        connections: 500,
        ..spec(64)
    };
    let streams = LoadSpec {
        events: true,
        first_byte: true,
        streams: 1_000,
        ..spec(32)
    };
    let measures = vec![
        ("hello", spec(64), ROUNDS, 150_000.0, ALL),
        ("hello", pipelined, ROUNDS, 900_000.0, ALL),
        ("hello", rate, ROUNDS, RATE, ALL),
        ("hello", users, ROUNDS, 5_000.0, ALL),
        ("sse", streams, ROUNDS, 9_300.0, ALL),
    ];
    let (run, mut trials) = made(
        "rates",
        "Every shape of load",
        "ceiling go-nethttp bun",
        measures,
        vec![],
    );
    super::each(&mut trials, lose_requests);
    (run, trials)
}

/// In one round Bun's load did not reach the rate, and the generator limited Go's.
fn lose_requests(trial: &Trial, measured: &mut Measurement) {
    let Some(open) = &mut measured.load.open else {
        return;
    };
    if trial.round != MISSED_ROUND {
        return;
    }
    match trial.server.as_str() {
        "bun" => {
            open.sent = open.due * 973 / 1000;
            open.rate_ratio = open.sent as f64 / open.due as f64;
            open.bound_hits = open.due / 2;
            open.queued += open.bound_hits;
            open.most_connections = 500;
        }
        "go-nethttp" => {
            measured.load.generator.client_limited = true;
            measured.load.generator.client_limited_by = Some(EVIDENCE.into());
        }
        _ => {}
    }
}

/// The rates of [`curve`], in requests per second.
pub(crate) const CURVE: [f64; 5] = [4_000.0, 8_000.0, 12_000.0, 16_000.0, 20_000.0];

/// One workload at several rates. Go's latency rises steeply from the fourth on; Bun's does not, but it has errors at the last.
pub(crate) fn curve() -> Records {
    let load = |rate: f64| LoadSpec {
        shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, rate)),
        deadline: Some(Seconds::from_secs(1)),
        ..spec(64)
    };
    let measures = CURVE.map(|rate| ("hello", load(rate), ROUNDS, rate, ALL));
    let (run, mut trials) = made(
        "curve",
        "Several rates",
        "go-nethttp bun",
        measures.into(),
        vec![],
    );
    super::each(&mut trials, queue);
    (run, trials)
}

/// The latency of a server at a rate.
fn queue(trial: &Trial, measured: &mut Measurement) {
    let LoadShape::Rate(schedule) = &trial.load.shape else {
        return;
    };
    let rate = schedule.stages[0].to_per_s;
    let mean_ns = match trial.server.as_str() {
        "go-nethttp" if rate > CURVE[3] => 9e6,
        "go-nethttp" if rate > CURVE[2] => 1.2e6,
        "go-nethttp" => 1e6 + rate,
        _ => 2e6,
    };
    let mut histogram = LatencyHistogram::new();
    (1..2_000).for_each(|i| histogram.record((mean_ns * f64::from(i) / 1_000.0) as u64));
    measured.load.latency_ns = histogram.summary();
    measured.load.histogram = histogram.to_base64();
    if trial.server == "bun" && rate > CURVE[3] {
        measured.load.outcomes[Outcome::TimedOut] = 7;
    }
}
