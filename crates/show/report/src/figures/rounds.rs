//! The attempts at the rounds of a row, one by one.

use prony_model::{CountedRounds, Measurement, Outcome, TrialRecord, TrialResult};
use prony_stats::supports_percentile;

use super::attempts::cause;

#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The round, from 1.
    pub round: u32,
    /// Which attempt at the round it was, from 1.
    pub attempt: u32,
    /// Whether the row's figures use it.
    pub counts: bool,
    /// What disturbed it; empty if nothing did.
    pub causes: Vec<&'static str>,
    /// What it measured, or why it failed.
    pub result: Result<RoundFigures, String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundFigures {
    /// Ok responses per second, or ok flows if the load has any.
    pub rate: f64,
    /// Their median latency in nanoseconds; `None` if there were too few.
    pub p50_ns: Option<f64>,
    /// The 99th percentile of their latency in nanoseconds; `None` if there were too few.
    pub p99_ns: Option<f64>,
    /// The share (0 to 1) of their CPU time that server or generator lost to others, whichever lost more.
    pub loss: f64,
}

impl RoundFigures {
    fn of(one: &Measurement) -> Self {
        let work = one.load.work();
        let count = match &one.load.flows {
            Some(flows) => flows.ok,
            None => one.load.outcomes[Outcome::Ok],
        };
        let latency = |beyond| {
            work.latency_ns
                .filter(|_| supports_percentile(count, beyond))
        };
        Self {
            rate: work.rate_per_s,
            p50_ns: latency(0.5).map(|latency| latency.p50 as f64),
            p99_ns: latency(0.01).map(|latency| latency.p99 as f64),
            loss: one.loss(),
        }
    }
}

/// Every attempt, in the order of the rounds.
pub(super) fn attempts(rounds: &CountedRounds<'_>) -> Vec<Attempt> {
    let attempt = |record: &&TrialRecord| Attempt {
        round: record.trial.round,
        attempt: record.attempt,
        counts: rounds.counts(record),
        causes: record.noisy.iter().map(cause).collect(),
        result: match &record.result {
            TrialResult::Measured(one) => Ok(RoundFigures::of(one)),
            TrialResult::Failed { message, .. } => Err(message.clone()),
        },
    };
    rounds.attempts().iter().map(attempt).collect()
}
