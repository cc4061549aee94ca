//! What the rounds of one server under one load gave, an attempt a round.

use std::collections::BTreeMap;

use prony_model::{
    FailureKind, LoadSpec, Measurement, TrialRecord, TrialResult, attempt_that_counts,
};
use prony_stats::{common_rounds, median};

use crate::metric::Metric;

/// The rounds of one server with one workload under one load.
///
/// A noisy trial is re-run, and the record keeps every attempt. A round's figures are those of the attempt that counts.
#[derive(Clone, Debug, Default)]
pub struct Rounds<'a> {
    kept: BTreeMap<u32, &'a TrialRecord>,
    /// Whether any attempt, its warm-up included, had a wrong response: noise makes none.
    is_wrong: bool,
}

impl<'a> Rounds<'a> {
    pub fn of(trials: &'a [TrialRecord], server: &str, workload: &str, load: &LoadSpec) -> Self {
        let own = trials.iter().filter(|record| {
            let trial = &record.trial;
            trial.server == server && trial.workload == workload && trial.load.same_load(load)
        });
        let mut attempts: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        let mut is_wrong = false;
        for record in own {
            if let TrialResult::Measured(measurement) = &record.result {
                is_wrong |= measurement.wrong() > 0;
            }
            attempts.entry(record.trial.round).or_default().push(record);
        }
        let counts = |(round, attempts)| Some((round, attempt_that_counts::<'a>(attempts)?));
        let kept = attempts.into_iter().filter_map(counts).collect();
        Self { kept, is_wrong }
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many rounds there were, failed ones included.
    pub fn count(&self) -> usize {
        self.kept.len()
    }

    /// How many rounds rest on an attempt that was noisy.
    pub fn noisy(&self) -> usize {
        let kept = self.kept.values();
        kept.filter(|record| !record.noisy.is_empty()).count()
    }

    /// Whether responses were wrong, so that the figures are of something else.
    pub fn is_wrong(&self) -> bool {
        self.is_wrong
    }

    /// The rounds that gave figures.
    pub fn measured(&self) -> impl Iterator<Item = &'a Measurement> + '_ {
        self.kept
            .values()
            .filter_map(|record| match &record.result {
                TrialResult::Measured(measurement) => Some(measurement),
                TrialResult::Failed { .. } => None,
            })
    }

    /// Why the other rounds gave none.
    pub fn failed(&self) -> impl Iterator<Item = (FailureKind, &'a str)> + '_ {
        self.kept
            .values()
            .filter_map(|record| match &record.result {
                TrialResult::Measured(_) => None,
                TrialResult::Failed { kind, message } => Some((*kind, message.as_str())),
            })
    }

    /// The metric's value in each round that has one.
    pub fn values(&self, metric: Metric) -> Values {
        self.each(|measurement| metric.of(measurement))
    }

    /// A figure of each round that has it.
    pub fn each(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Values {
        let value = |record: &TrialRecord| match &record.result {
            TrialResult::Measured(measurement) => figure(measurement),
            TrialResult::Failed { .. } => None,
        };
        let rounds = self.kept.iter();
        Values(
            rounds
                .filter_map(|(round, record)| Some((*round, value(record)?)))
                .collect(),
        )
    }
}

/// A value for each of some rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<u32, f64>);

impl Values {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn median(&self) -> Option<f64> {
        median(&self.list())
    }

    pub fn list(&self) -> Vec<f64> {
        self.0.values().copied().collect()
    }

    /// The values of the rounds that both have: this one's, then the other's.
    pub fn in_common(&self, other: &Values) -> Vec<(f64, f64)> {
        common_rounds(&self.0, &other.0)
    }

    /// Each as a ratio to the other's of the same round.
    pub fn relative_to(&self, other: &Values) -> Values {
        let rounds = self.0.iter();
        Values(
            rounds
                .filter_map(|(round, value)| Some((*round, value / other.0.get(round)?)))
                .collect(),
        )
    }
}
