//! Whether the project's servers met the objectives of `prony.toml`.

use std::error::Error;

use prony_model::objective::{Judged, is_missed, judge_rounds};
use prony_model::{CountedRounds, LoadResult, Trial, TrialRecord};
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
            let is_same = |one: &TrialRecord, other: &Trial| {
                one.is_of(&server.id, &other.workload, &other.load)
            };
            let mut measures: Vec<&Trial> = Vec::new();
            for one in &finished.trials {
                let is_known = measures.iter().any(|trial| is_same(one, trial));
                if one.trial.server == server.id && !is_known {
                    measures.push(&one.trial);
                }
            }
            for &trial in &measures {
                let trials = finished.trials.iter().filter(|one| is_same(one, trial));
                let measured = trials.filter(|one| one.measurement().is_some());
                let rounds = CountedRounds::of(measured).measurements();
                if rounds.is_empty() {
                    continue;
                }
                let loads: Vec<&LoadResult> = rounds.iter().map(|one| &one.load).collect();
                let mut alike = measures.iter().filter(|one| one.workload == trial.workload);
                let name = format!("{} × {}", server.id, trial.workload);
                cases.push(Case {
                    name: if alike.nth(1).is_none() {
                        name
                    } else {
                        format!("{name}, {}", prony_present::load::short(&trial.load))
                    },
                    judged: judge_rounds(objectives, &loads)?,
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
