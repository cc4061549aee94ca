//! What the closed loop says about the rates to try.

use std::time::Duration;

use prony_model::{Flows, LoadResult};

/// What the closed loop at the beginning showed.
pub(super) struct Guess {
    /// The rate of ok requests or, if the load has a scenario, of ok flows; 0 if there was none.
    pub(crate) per_s: f64,
    /// How many requests a flow sends; `None` without a scenario.
    pub(crate) requests_per_flow: Option<f64>,
    /// How long most flows take, pauses included.
    flow: Duration,
}

impl Guess {
    /// What that load showed.
    pub(super) fn of(closed: &LoadResult) -> Self {
        let Some(flows) = &closed.flows else {
            return Self {
                per_s: closed.rate_per_s,
                requests_per_flow: None,
                flow: Duration::ZERO,
            };
        };
        let took = flows.duration_ns.as_ref().map_or(0, |took| took.p90);
        Self {
            per_s: flows.rate_per_s,
            requests_per_flow: Some(closed.requests as f64 / ended(flows).max(1) as f64),
            flow: Duration::from_nanos(took),
        }
    }

    /// How long the warm-up takes, if nothing else makes it longer: only once the first flows have ended does a rate of
    /// flows give the server all of its requests.
    pub(super) fn least_warmup(&self) -> Duration {
        self.flow
    }

    /// The requests per second at a rate of requests or flows.
    pub(super) fn requests_per_s(&self, rate: f64) -> f64 {
        rate * self.requests_per_flow.unwrap_or(1.0)
    }
}

/// What came instead, if nothing was ok.
pub(super) fn received_instead(load: &LoadResult) -> String {
    if let Some(wrong) = &load.first_wrong {
        return wrong.detail.clone();
    }
    if let Some(reason) = load.flows.as_ref().and_then(first_failure) {
        return reason;
    }
    let outcomes = load.outcomes.iter().filter(|(_, count)| *count > 0);
    let counted: Vec<String> = outcomes
        .map(|(outcome, count)| format!("{count} {}", outcome.name()))
        .collect();
    if counted.is_empty() {
        "no response came".into()
    } else {
        counted.join(", ")
    }
}

fn ended(flows: &Flows) -> u64 {
    flows.ok + flows.failed
}

fn first_failure(flows: &Flows) -> Option<String> {
    match &flows.first_failure {
        Some(reason) => Some(reason.clone()),
        None => (ended(flows) == 0).then(|| "no flow ended in time".into()),
    }
}
