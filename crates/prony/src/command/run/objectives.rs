//! Whether the project's servers met the objectives of `prony.toml`.

use std::error::Error;

use prony_model::objective::{Judged, is_missed, judge_rounds};
use prony_model::{CountedRounds, LoadResult, measures_of};
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
pub(super) struct Verdicts(Vec<Case>);

impl Verdicts {
    /// # Errors
    /// If the histogram of a trial cannot be read.
    pub(super) fn of(
        file: Option<&ProjectFile>,
        finished: &Finished,
    ) -> Result<Self, Box<dyn Error>> {
        let mut cases = Vec::new();
        let Some((file, objectives)) =
            file.and_then(|file| Some((file, file.objectives.as_ref()?)))
        else {
            return Ok(Self(cases));
        };
        let measured = finished
            .trials
            .iter()
            .filter(|one| one.measurement().is_some());
        for server in &file.servers {
            let own = measured.clone().filter(|one| one.trial.server == server.id);
            let measures = measures_of(own.clone());
            for (workload, load) in &measures {
                let own = own
                    .clone()
                    .filter(|it| it.is_of(&server.id, workload, load));
                let rounds = CountedRounds::of(own).measurements().into_iter();
                let rounds: Vec<&LoadResult> = rounds.map(|one| &one.load).collect();
                let mut name = format!("{} × {workload}", server.id);
                if measures
                    .iter()
                    .filter(|(other, _)| other == workload)
                    .count()
                    > 1
                {
                    name += &format!(", {}", prony_present::load::short(load));
                }
                let judged = judge_rounds(objectives, &rounds)?;
                cases.push(Case { name, judged });
            }
        }
        Ok(Self(cases))
    }

    pub(super) fn is_missed(&self) -> bool {
        self.0.iter().any(|case| is_missed(&case.judged))
    }

    /// For each case a heading and a line for each objective.
    pub(super) fn text(&self) -> String {
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
