//! The two sides of a comparison.

use std::collections::BTreeMap;

use prony_model::{CountedRounds, Run, ServerRecord, ServerStatus, TrialRecord, VerifyVerdict};
use prony_stats::median;
use serde::Serialize;

use crate::compare::row::Case;

/// A run, or one server of it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    pub run: &'a Run,
    pub trials: &'a [TrialRecord],
    /// The server; `None` for all servers that both runs have.
    pub server: Option<&'a str>,
}

/// The name of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Named {
    /// The run's id.
    pub run: String,
    /// The server, if the side names one.
    pub server: Option<String>,
    /// When the run started: RFC 3339, UTC.
    pub started_at: String,
}

impl<'a> Side<'a> {
    pub(crate) fn rounds(&self, server: &str, case: &Case) -> CountedRounds<'a> {
        CountedRounds::among(self.trials, server, &case.workload, &case.load)
    }

    pub fn named(&self) -> Named {
        Named {
            run: self.run.id.clone(),
            server: self.server.map(str::to_owned),
            started_at: self.run.started_at.clone(),
        }
    }
}

/// Why a server cannot serve a workload, in a few words, if that is the server's own fault.
pub(crate) fn fault(server: &ServerRecord, workload: &str) -> Option<String> {
    let first_line = |text: &str| {
        let line = text.trim().lines().next().unwrap_or_default();
        line.trim_end_matches(':').to_owned()
    };
    match &server.status {
        ServerStatus::BuildFailed { output } => {
            return Some(format!("its build failed: {}", first_line(output)));
        }
        ServerStatus::StartFailed { reason } => {
            return Some(format!("it could not be started: {}", first_line(reason)));
        }
        ServerStatus::Unreachable { reason } => {
            return Some(format!("it did not respond: {}", first_line(reason)));
        }
        ServerStatus::Ready | ServerStatus::Skipped { .. } => {}
    }
    let mut verified = server.verified.iter();
    let result = verified.find(|result| result.workload == workload)?;
    match &result.verdict {
        VerifyVerdict::Right => None,
        VerifyVerdict::Wrong { expected, received } => Some(format!(
            "its response is wrong: expected {}; received {}",
            first_line(expected),
            first_line(received)
        )),
    }
}

/// Whether any attempt had a wrong response, its warm-up included: noise does not cause any.
pub(crate) fn is_wrong(rounds: &CountedRounds<'_>) -> bool {
    rounds.attempted().any(|one| one.wrong() > 0)
}

/// The figures by round: a value for each round that has one.
pub(crate) type Values = BTreeMap<u32, f64>;

pub(crate) fn list(values: &Values) -> Vec<f64> {
    values.values().copied().collect()
}

pub(crate) fn middle(values: &Values) -> Option<f64> {
    median(&list(values))
}

/// Each value as a ratio to the other's value of the same round.
pub(crate) fn relative(values: &Values, to: &Values) -> Values {
    let ratio = |(round, value): (&u32, &f64)| Some((*round, value / to.get(round)?));
    values.iter().filter_map(ratio).collect()
}

pub(super) fn load_from(run: &Run) -> String {
    match &run.fleet {
        None => "from this machine".to_owned(),
        Some(fleet) => format!("from {fleet}"),
    }
}
