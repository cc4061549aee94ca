//! A made-up run under every shape of load.

use prony_model::*;

use super::documents::{BUN, CEILING, GO, Records, made};
use super::{ROUNDS, spec};

/// The rate of the sample's Poisson load, in requests per second.
pub const RATE: f64 = 20_000.0;
/// The round in which Bun's load did not reach this rate.
pub const MISSED_ROUND: u32 = 2;
/// Why the generator was the limit for Go in the same round.
pub const EVIDENCE: &str =
    "it was 1.2 s behind schedule at the end, although connections were free";

/// One workload under four loads, and one whose events are counted beside streams that are held.
pub fn rates() -> Records {
    let rate = LoadSpec {
        shape: LoadShape::Rate(Schedule::constant(Arrivals::Poisson, RATE)),
        max_connections: Some(500),
        deadline_s: Some(1.0),
        ..spec(64)
    };
    let pipelined = LoadSpec {
        pipeline: 16,
        ..spec(64)
    };
    let users = LoadSpec {
        shape: LoadShape::UsersClosed { think_time_s: 0.1 },
        connections: 500,
        ..spec(64)
    };
    let streams = LoadSpec {
        events: true,
        first_byte: true,
        streams: 1_000,
        ..spec(32)
    };
    let all = || vec!["ceiling", "go-nethttp", "bun"];
    let measures = vec![
        ("hello", spec(64), ROUNDS, 150_000.0, all()),
        ("hello", pipelined, ROUNDS, 900_000.0, all()),
        ("hello", rate, ROUNDS, RATE, all()),
        ("hello", users, ROUNDS, 5_000.0, all()),
        ("sse", streams, ROUNDS, 9_300.0, all()),
    ];
    let (mut run, mut trials) = made(
        "rates",
        "Every shape of load",
        &[CEILING, GO, BUN],
        measures,
        vec![],
    );
    run.published = None;
    trials.iter_mut().for_each(lose_requests);
    (run, trials)
}

/// In one round Bun's load did not reach the rate, and the generator limited Go's.
fn lose_requests(record: &mut TrialRecord) {
    let trial = &record.trial;
    let TrialResult::Measured(measured) = &mut record.result else {
        return;
    };
    if trial.round != MISSED_ROUND || !trial.load.shape.is_open() {
        return;
    }
    let Some(open) = &mut measured.load.open else {
        return;
    };
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
