//! A table's trials in the order in which they were run, so that noise and figures can be seen side by side.

use prony_model::{CountedRounds, Measurement, TrialRecord};
use prony_stats::median;

/// An attempt at a trial in the course of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseTrial {
    /// The server's id.
    pub server: String,
    /// Its figure (the rate, in an open loop the median latency) as a ratio to the median of the row; `None` if the trial
    /// gave none.
    pub relative: Option<f64>,
    /// The share (0 to 1) of their CPU time that server or generator lost to others, whichever lost more.
    pub loss: f64,
    pub noisy: bool,
}

/// The trials of a table, every attempt, in the order in which they were run.
pub(crate) fn course(records: &[&TrialRecord]) -> Vec<CourseTrial> {
    let mut in_order = records.to_vec();
    in_order.sort_by_key(|record| (record.trial.sequence, record.attempt));
    let in_order = in_order.into_iter();
    in_order
        .map(|record| {
            let server = &record.trial.server;
            let figure = record.measurement().and_then(Measurement::headline);
            CourseTrial {
                server: server.clone(),
                relative: figure
                    .zip(middle(records, server))
                    .map(|(figure, middle)| figure / middle),
                loss: record.measurement().map_or(0.0, Measurement::loss),
                noisy: !record.noisy.is_empty(),
            }
        })
        .collect()
}

/// The median of a row.
fn middle(records: &[&TrialRecord], server: &str) -> Option<f64> {
    let own = records
        .iter()
        .filter(|record| record.trial.server == server);
    let rounds = CountedRounds::of(own.copied());
    let values = rounds.by_round(Measurement::headline);
    median(&values.into_values().collect::<Vec<_>>())
}
