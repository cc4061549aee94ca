//! Whether the project's servers met the objectives of `prony.toml`.

use std::collections::BTreeMap;
use std::error::Error;

use prony_model::objective::{Judged, is_missed, judge_rounds};
use prony_model::{LoadResult, TrialRecord, TrialResult, attempt_that_counts};
use prony_run::ProjectFile;
use prony_run::run::Finished;

use crate::view::objectives;

/// A server under a load, and the verdicts on it.
struct Case {
    /// `shop × home, 64 connections, closed loop`.
    name: String,
    judged: Vec<Judged>,
}

/// The verdicts on each of the project's servers under each load.
pub struct Verdicts(Vec<Case>);

impl Verdicts {
    /// # Errors
    /// If the histogram of a trial cannot be read.
    pub fn of(file: Option<&ProjectFile>, finished: &Finished) -> Result<Self, Box<dyn Error>> {
        let mut cases = Vec::new();
        let Some((file, objectives)) =
            file.and_then(|file| Some((file, file.objectives.as_ref()?)))
        else {
            return Ok(Self(cases));
        };
        for server in &file.servers {
            let trials = finished.trials.iter();
            let own: Vec<_> = trials.filter(|one| one.trial.server == server.id).collect();
            let mut measures: Vec<&TrialRecord> = Vec::new();
            for trial in &own {
                if !measures.iter().any(|one| is_same_measure(one, trial)) {
                    measures.push(trial);
                }
            }
            for measure in &measures {
                let trials = own.iter().copied();
                let rounds = rounds(trials.filter(|one| is_same_measure(one, measure)));
                if rounds.is_empty() {
                    continue;
                }
                let trial = &measure.trial;
                let is_alone = measures
                    .iter()
                    .filter(|one| one.trial.workload == trial.workload)
                    .nth(1)
                    .is_none();
                let name = format!("{} × {}", server.id, trial.workload);
                cases.push(Case {
                    name: if is_alone {
                        name
                    } else {
                        format!("{name}, {}", prony_present::load::short(&trial.load))
                    },
                    judged: judge_rounds(objectives, &rounds)?,
                });
            }
        }
        Ok(Self(cases))
    }

    /// Whether any was missed.
    pub fn is_missed(&self) -> bool {
        self.0.iter().any(|case| is_missed(&case.judged))
    }

    /// For each case a heading and a line for each objective.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for case in &self.0 {
            text += &format!("\n{}\n", case.name);
            for line in objectives::lines(&case.judged) {
                text += &format!("  {line}\n");
            }
        }
        text
    }
}

/// Whether they are rounds of the same measure; the seed of the load differs from round to round.
fn is_same_measure(one: &TrialRecord, other: &TrialRecord) -> bool {
    let load = |record: &TrialRecord| {
        let mut load = record.trial.load.clone();
        load.seed = 0;
        load
    };
    one.trial.workload == other.trial.workload && load(one) == load(other)
}

/// The load of each round that was measured, by the attempt that counts.
fn rounds<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<&'a LoadResult> {
    let mut rounds: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    for trial in trials {
        if matches!(trial.result, TrialResult::Measured(_)) {
            rounds.entry(trial.trial.round).or_default().push(trial);
        }
    }
    let counts = rounds.into_values().filter_map(attempt_that_counts);
    counts
        .filter_map(|trial| match &trial.result {
            TrialResult::Measured(measurement) => Some(&measurement.load),
            _ => None,
        })
        .collect()
}
