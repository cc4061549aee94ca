//! The rounds of one server under one load, an attempt each.

use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{Measurement, NoiseCause, TrialRecord, TrialResult, attempt_that_counts};

use crate::format;

/// What one server gave under one load, a round each.
pub(crate) struct Rounds<'a> {
    /// The rounds that gave figures, ascending.
    pub measured: Vec<MeasuredRound<'a>>,
    /// What every attempt gave, those at a round that do not count too.
    pub attempted: Vec<&'a Measurement>,
    /// Rounds that gave none.
    pub failed: usize,
    /// How often trials were noisy.
    pub attempts: Attempts,
}

/// A round that gave figures.
pub(crate) struct MeasuredRound<'a> {
    /// The round, from 1.
    pub round: u32,
    /// The figures of the attempt that counts.
    pub measurement: &'a Measurement,
}

/// How often the trials of a row were noisy, and what its figures rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Trials that were noisy, every attempt counted.
    pub noisy: usize,
    /// Trials that were re-run after a noisy one.
    pub again: usize,
    /// Rounds of which every attempt was noisy: their figures are those of the last one.
    pub rounds_on_noisy: usize,
    /// What noisy these, each cause once.
    pub causes: Vec<&'static str>,
    /// The longest warm-up of any attempt, where it was longer than the suite's.
    pub longer_warmup: Option<Duration>,
}

impl<'a> Rounds<'a> {
    /// Of all attempts of one server under one load, in any order.
    pub fn of(records: impl IntoIterator<Item = &'a TrialRecord>) -> Self {
        let mut by_round: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
        for record in records {
            by_round.entry(record.trial.round).or_default().push(record);
        }
        let mut rounds = Self {
            measured: Vec::new(),
            attempted: Vec::new(),
            failed: 0,
            attempts: Attempts::default(),
        };
        for (round, attempts) in by_round {
            rounds.attempts.count(&attempts);
            rounds
                .attempted
                .extend(attempts.iter().filter_map(|record| measurement(record)));
            match attempt_that_counts(attempts.iter().copied()).map(|record| &record.result) {
                Some(TrialResult::Measured(measurement)) => {
                    rounds.measured.push(MeasuredRound { round, measurement });
                }
                _ => rounds.failed += 1,
            }
        }
        rounds
    }

    /// The figures alone.
    pub fn measurements(&self) -> Vec<&'a Measurement> {
        self.measured
            .iter()
            .map(|round| round.measurement)
            .collect()
    }

    /// A figure by round, where it is a finite number.
    pub fn by_round(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> BTreeMap<u32, f64> {
        self.measured
            .iter()
            .filter_map(|round| Some((round.round, figure(round.measurement)?)))
            .filter(|(_, value)| value.is_finite())
            .collect()
    }
}

impl Attempts {
    /// Counts the attempts at one round.
    fn count(&mut self, attempts: &[&TrialRecord]) {
        let noisy = |record: &&&TrialRecord| !record.noisy.is_empty();
        self.noisy += attempts.iter().filter(noisy).count();
        let warmups = attempts.iter().filter_map(|record| longer_warmup(record));
        self.longer_warmup = warmups.chain(self.longer_warmup).max();
        self.again += attempts.len().saturating_sub(1);
        let counts = attempt_that_counts(attempts.iter().copied()).filter(|record| noisy(&record));
        let Some(record) = counts else { return };
        self.rounds_on_noisy += 1;
        for cause in record.noisy.iter().map(cause) {
            if !self.causes.contains(&cause) {
                self.causes.push(cause);
            }
        }
    }

    /// What the reader must know of them, a few words each.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if self.noisy > 0 {
            let noisy = match self.noisy {
                1 => "1 trial was noisy".to_owned(),
                n => format!("{n} trials were noisy"),
            };
            flags.push(match self.again {
                0 => format!("{noisy}, none re-run"),
                n => format!("{noisy}, {n} re-run"),
            });
        }
        if let Some(warmup) = self.longer_warmup {
            let time = format::duration(warmup.as_nanos() as f64);
            flags.push(format!("warmed up for {time}"));
        }
        let causes = self.causes.join(", ");
        match self.rounds_on_noisy {
            0 => {}
            1 => flags.push(format!("1 round rests on a noisy trial ({causes})")),
            n => flags.push(format!("{n} rounds rest on noisy trials ({causes})")),
        }
        flags
    }
}

fn measurement(record: &TrialRecord) -> Option<&Measurement> {
    match &record.result {
        TrialResult::Measured(measurement) => Some(measurement),
        TrialResult::Failed { .. } => None,
    }
}

/// The warm-up of a trial, where that of its suite was too short for its server.
fn longer_warmup(record: &TrialRecord) -> Option<Duration> {
    let TrialResult::Measured(measurement) = &record.result else {
        return None;
    };
    let used_s = measurement.load.load.warmup_s;
    (used_s > record.trial.load.warmup_s).then(|| Duration::from_secs_f64(used_s))
}

/// What noisy a trial, in a word or two.
pub(super) fn cause(cause: &NoiseCause) -> &'static str {
    match cause {
        NoiseCause::Steal { .. } => "steal",
        NoiseCause::OtherPrograms { .. } => "another program",
        NoiseCause::WarmUp { .. } => "still warming up",
    }
}
