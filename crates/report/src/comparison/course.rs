//! A table's trials in the order in which they were made, so that noise and figures can be seen side by side.

use prony_model::{Measurement, TrialRecord, TrialResult};
use prony_stats::median;

use super::noise::loss;
use super::rounds::Rounds;
use prony_stats::spearman;

/// A trial, one attempt, as it stands in the course of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseTrial {
    /// The server's id.
    pub server: String,
    /// The figure that rows are compared by, as a ratio to the median of the row: the rate, in an open
    /// loop the median latency. `None` where the trial gave none.
    pub relative: Option<f64>,
    /// The share (0 to 1) of their CPU time that server or generator, whichever lost more, lost to others.
    pub loss: f64,
    /// Whether it was noisy.
    pub noisy: bool,
}

/// The figure that rows are compared by.
pub(super) fn compared(round: &Measurement, open: bool) -> Option<f64> {
    let figure = match open {
        true => round.load.latency_ns.as_ref()?.p50 as f64,
        false => round.load.rate_per_s,
    };
    (figure.is_finite() && figure > 0.0).then_some(figure)
}

/// The trials of a table, every attempt, in the order in which they were made.
pub(super) fn course(records: &[&TrialRecord], open: bool) -> Vec<CourseTrial> {
    let mut in_order = records.to_vec();
    in_order.sort_by_key(|record| (record.trial.sequence, record.attempt));
    in_order
        .iter()
        .map(|record| {
            let trial = of(record, open);
            let middle = middle(records, &record.trial.server, open);
            CourseTrial {
                server: record.trial.server.clone(),
                relative: trial.0.zip(middle).map(|(figure, middle)| figure / middle),
                loss: trial.1,
                noisy: !record.noisy.is_empty(),
            }
        })
        .collect()
}

fn of(record: &TrialRecord, open: bool) -> (Option<f64>, f64) {
    match &record.result {
        TrialResult::Measured(trial) => (compared(trial, open), loss(trial)),
        TrialResult::Failed { .. } => (None, 0.0),
    }
}

/// The median of a row.
fn middle(records: &[&TrialRecord], server: &str, open: bool) -> Option<f64> {
    let own = records
        .iter()
        .filter(|record| record.trial.server == server);
    let rounds = Rounds::of(own.copied());
    let values = rounds.by_round(|round| compared(round, open));
    median(&values.into_values().collect::<Vec<_>>())
}

/// Below this chance a figure is said to follow the noise.
const FOLLOWS: f64 = 0.01;

/// How strongly a row's figure is the worse the more was lost to others: Spearman's rank correlation over its
/// rounds, where chance would seldom make it as strong.
pub(super) fn follows_noise(rounds: &Rounds, open: bool) -> Option<f64> {
    let pairs: Vec<(f64, f64)> = rounds
        .measured
        .iter()
        .filter_map(|round| {
            let figure = compared(round.measurement, open)?;
            Some((figure, loss(round.measurement)))
        })
        .collect();
    let (figures, losses): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let (rho, p) = spearman(&figures, &losses)?;
    let worse = (rho > 0.0) == open;
    (p < FOLLOWS && worse).then_some(rho)
}
