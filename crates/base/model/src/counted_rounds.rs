//! The rounds of one server under one load, each with the attempt that counts.

use std::collections::BTreeMap;

use crate::{FailureKind, LoadSpec, Measurement, TrialRecord, TrialResult, attempt_that_counts};

/// The rounds of one server with one workload under one load.
///
/// A noisy trial is re-run, and the record keeps every attempt. A round's figures are those of the attempt that counts.
#[derive(Clone, Debug, Default)]
pub struct CountedRounds<'a> {
    counted: BTreeMap<u32, &'a TrialRecord>,
    attempts: Vec<&'a TrialRecord>,
}

impl TrialRecord {
    /// What the trial measured; `None` if it failed.
    pub fn measurement(&self) -> Option<&Measurement> {
        match &self.result {
            TrialResult::Measured(measurement) => Some(measurement),
            TrialResult::Failed { .. } => None,
        }
    }

    /// Whether it is a trial of this server with this workload under this load.
    pub fn is_of(&self, server: &str, workload: &str, load: &LoadSpec) -> bool {
        let trial = &self.trial;
        trial.server == server && trial.workload == workload && trial.load.same_load(load)
    }
}

/// Each workload of these trials under each of its loads, in their order.
pub fn measures_of<'a>(
    records: impl IntoIterator<Item = &'a TrialRecord>,
) -> Vec<(&'a str, &'a LoadSpec)> {
    let mut measures: Vec<(&str, &LoadSpec)> = Vec::new();
    for TrialRecord { trial, .. } in records {
        let is_same = |(workload, load): &(&str, &LoadSpec)| {
            *workload == trial.workload && load.same_load(&trial.load)
        };
        if !measures.iter().any(is_same) {
            measures.push((&trial.workload, &trial.load));
        }
    }
    measures
}

impl<'a> CountedRounds<'a> {
    /// Groups all attempts of one server with one workload under one load, given in any order.
    pub fn of(records: impl IntoIterator<Item = &'a TrialRecord>) -> Self {
        let mut by_round: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        for record in records {
            by_round.entry(record.trial.round).or_default().push(record);
        }
        let mut rounds = Self::default();
        for (round, attempts) in by_round {
            rounds.attempts.extend(&attempts);
            let counts = attempt_that_counts(attempts);
            rounds.counted.extend(counts.map(|record| (round, record)));
        }
        rounds
    }

    /// The rounds of one server with one workload under one load, out of all trials of a run.
    pub fn among(
        records: &'a [TrialRecord],
        server: &str,
        workload: &str,
        load: &LoadSpec,
    ) -> Self {
        Self::of(records.iter().filter(|it| it.is_of(server, workload, load)))
    }

    /// Whether there is no round, not even a failed one.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    /// How many rounds there are, failed ones included.
    pub fn len(&self) -> usize {
        self.counted.len()
    }

    /// Every attempt, round by round.
    pub fn attempts(&self) -> &[&'a TrialRecord] {
        &self.attempts
    }

    /// Whether this attempt is the one that counts in its round.
    pub fn counts(&self, record: &TrialRecord) -> bool {
        let counted = self.counted.get(&record.trial.round);
        counted.is_some_and(|counted| counted.attempt == record.attempt)
    }

    /// What every attempt measured, those that do not count included.
    pub fn attempted(&self) -> impl Iterator<Item = &'a Measurement> + '_ {
        self.attempts
            .iter()
            .filter_map(|record| record.measurement())
    }

    /// The attempts that count although they were noisy, because every attempt at their round was.
    pub fn noisy(&self) -> impl Iterator<Item = &'a TrialRecord> + '_ {
        self.counted
            .values()
            .copied()
            .filter(|record| !record.noisy.is_empty())
    }

    /// Whether a round counts with a noisy attempt.
    pub fn is_noisy(&self, round: u32) -> bool {
        let counted = self.counted.get(&round);
        counted.is_some_and(|record| !record.noisy.is_empty())
    }

    /// The rounds with figures, ascending.
    pub fn measured(&self) -> impl Iterator<Item = (u32, &'a Measurement)> + '_ {
        let rounds = self.counted.iter();
        rounds.filter_map(|(round, record)| Some((*round, record.measurement()?)))
    }

    /// The figures of these rounds.
    pub fn measurements(&self) -> Vec<&'a Measurement> {
        self.measured()
            .map(|(_, measurement)| measurement)
            .collect()
    }

    /// Why the other rounds have none.
    pub fn failed(&self) -> impl Iterator<Item = (FailureKind, &'a str)> + '_ {
        self.counted
            .values()
            .filter_map(|record| match &record.result {
                TrialResult::Measured(_) => None,
                TrialResult::Failed { kind, message } => Some((*kind, message.as_str())),
            })
    }

    /// A figure by round, if it is a finite number.
    pub fn by_round(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> BTreeMap<u32, f64> {
        let figures = self
            .measured()
            .filter_map(|(round, one)| Some((round, figure(one)?)));
        figures.filter(|(_, value)| value.is_finite()).collect()
    }
}
