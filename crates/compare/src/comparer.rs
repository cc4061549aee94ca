//! Goes through what two sides have: case by case, and then all of it together.

use prony_model::{LoadSpec, ServerStatus};
use prony_stats::holm;

use crate::case::{CaseRounds, OpenCase};
use crate::comparison::{Comparison, Question, Sessions, tally};
use crate::conditions;
use crate::failures;
use crate::finding::Finding;
use crate::metric::Metric;
use crate::noise::Noise;
use crate::row::Case;
use crate::side::{Side, fault};
use crate::text;

/// Corrects the p-values for all comparisons together, and says what comes of each.
fn settle(mut cases: Vec<OpenCase>) -> Vec<Case> {
    let p_values: Vec<f64> = cases
        .iter_mut()
        .flat_map(|case| case.changes().map(|change| change.p).collect::<Vec<_>>())
        .collect();
    let changes = cases.iter_mut().flat_map(OpenCase::changes);
    for (change, p) in changes.zip(holm(&p_values)) {
        change.p_corrected = p;
    }
    cases.into_iter().map(OpenCase::settle).collect()
}

/// A case of which nothing is said yet.
pub fn empty_case((base, new): (&str, &str), workload: &str, load: &LoadSpec) -> Case {
    Case {
        base: base.to_owned(),
        new: new.to_owned(),
        workload: workload.to_owned(),
        load: LoadSpec {
            seed: 0,
            ..load.clone()
        },
        rows: Vec::new(),
    }
}

/// What there is of all pairs of servers.
#[derive(Default)]
pub struct Found {
    pub cases: Vec<OpenCase>,
    pub left_out: Vec<String>,
    pub only_new: Vec<String>,
}

/// Two sides, and what is asked of them.
pub struct Comparer<'a> {
    pub base: Side<'a>,
    pub new: Side<'a>,
    pub question: &'a Question,
    pub sessions: Sessions,
}

impl<'a> Comparer<'a> {
    /// The cases of a pair of servers.
    pub fn server(&self, base_id: &str, new_id: &str, found: &mut Found) {
        for (workload, load) in self.measures(base_id, new_id) {
            let case = empty_case((base_id, new_id), workload, load);
            let rounds = self.rounds(&case);
            let absent = |finding, side, why: &str| {
                OpenCase::settled(Case {
                    rows: vec![failures::absent(finding, side, why)],
                    ..case.clone()
                })
            };
            match (rounds.base.is_empty(), rounds.new.is_empty()) {
                (false, false) => match self.both(case, &rounds) {
                    Ok(case) => found.cases.push(case),
                    Err(why) => found.left_out.push(why),
                },
                (false, true) => match self.fault(&self.new, new_id, workload) {
                    Some(why) => found.cases.push(absent(Finding::Worse, "new", &why)),
                    None => found
                        .left_out
                        .push(why_not(&self.new, "NEW", new_id, &case)),
                },
                (true, _) => match self.fault(&self.base, base_id, workload) {
                    Some(why) => found.cases.push(absent(Finding::Improved, "base", &why)),
                    None => {
                        let why = why_not(&self.base, "BASE", base_id, &case);
                        found.only_new.push(why);
                    }
                },
            }
        }
    }

    /// The lines of a case that both sides have rounds of; why there are none, where there are none.
    fn both(&self, case: Case, rounds: &CaseRounds<'_>) -> Result<OpenCase, String> {
        let place = place(&case.new, &case);
        if !rounds.has_figures() {
            let mut failed = rounds.new.failed();
            let kind = failed.next().map_or("failed", |(kind, _)| kind.name());
            return Err(format!("{place}: every round of both failed ({kind})"));
        }
        let open = rounds.compare(case, self.question, self.sessions);
        match open.case.rows.is_empty() {
            false => Ok(open),
            true => Err(format!(
                "{place}: what is asked for says nothing under this load"
            )),
        }
    }

    fn rounds(&self, case: &Case) -> CaseRounds<'a> {
        let sides = (&self.base, &self.new);
        CaseRounds::of(sides, (&case.base, &case.new), &case.workload, &case.load)
    }

    /// The workloads and loads of a pair of servers, those of BASE first.
    fn measures(&self, base_id: &str, new_id: &str) -> Vec<(&'a str, &'a LoadSpec)> {
        let of = |side: &Side<'a>, id: &str| {
            let id = id.to_owned();
            let trials = side.trials.iter().map(|record| &record.trial);
            trials.filter(move |trial| trial.server == id)
        };
        let mut measures: Vec<(&str, &LoadSpec)> = Vec::new();
        for trial in of(&self.base, base_id).chain(of(&self.new, new_id)) {
            let is_there = measures
                .iter()
                .any(|(workload, load)| *workload == trial.workload && load.same_load(&trial.load));
            if !is_there {
                measures.push((&trial.workload, &trial.load));
            }
        }
        measures
    }

    fn fault(&self, side: &Side<'_>, id: &str, workload: &str) -> Option<String> {
        fault(side.record(id)?, workload)
    }

    /// All of it together.
    pub fn conclude(&self, found: Found) -> Comparison {
        let cases = settle(found.cases);
        Comparison {
            base: self.base.named(),
            new: self.new.named(),
            sessions: self.sessions,
            tally: tally(&cases),
            left_out: found.left_out,
            only_new: found.only_new,
            new_is_wrong: !self.wrong(&cases).is_empty(),
            warnings: self.warnings(&cases),
            differences: self.differences(&cases),
            noise: self.noise(&cases),
            cases,
        }
    }

    fn warnings(&self, cases: &[Case]) -> Vec<String> {
        let mut warnings = Vec::new();
        let wrong = self.wrong(cases);
        if !wrong.is_empty() {
            warnings.push(format!(
                "NEW sent wrong responses ({}): its figures are not compared there, and the exit status is 1 whatever BASE \
                 sent",
                wrong.join("; ")
            ));
        }
        warnings.extend(conditions::unfinished("BASE", self.base.run));
        if self.sessions == Sessions::Two {
            warnings.extend(conditions::unfinished("NEW", self.new.run));
            warnings.extend(self.other_ceilings(cases));
        }
        let mut metrics: Vec<Metric> = cases
            .iter()
            .flat_map(|case| self.question.metrics(&case.load))
            .collect();
        metrics.sort();
        metrics.dedup();
        let narrow = metrics.into_iter().filter(|metric| {
            let thresholds = &self.question.thresholds;
            thresholds.too_narrow(*metric, self.sessions).is_some()
        });
        let narrow: Vec<&str> = narrow.map(Metric::name).collect();
        if !narrow.is_empty() {
            warnings.push(format!(
                "the threshold of {} is narrower than two sessions of the same code may differ by; measure both in \
                 one run (`prony ab`) to trust it",
                narrow.join(", ")
            ));
        }
        warnings
    }

    /// The cases in which NEW sent wrong responses.
    fn wrong(&self, cases: &[Case]) -> Vec<String> {
        let wrong = cases.iter().filter(|case| self.rounds(case).new.is_wrong());
        wrong.map(|case| place(&case.new, case)).collect()
    }

    fn differences(&self, cases: &[Case]) -> Vec<String> {
        if self.sessions == Sessions::One {
            return Vec::new();
        }
        let mut lines = conditions::differences(self.base.run, self.new.run);
        let generators = cases.iter().filter_map(|case| {
            let rounds = self.rounds(case);
            conditions::generators(&rounds.base, &rounds.new)
        });
        lines.extend(generators);
        lines.dedup();
        let mut drifts: Vec<String> = cases
            .iter()
            .filter_map(|case| conditions::drift(&self.rounds(case).ceilings, case))
            .collect();
        drifts.dedup();
        lines.extend(drifts);
        lines
    }

    /// Why the ceilings of two sessions tell nothing of the machine, where they do not.
    fn other_ceilings(&self, cases: &[Case]) -> Vec<String> {
        let why = |case| {
            let rounds = self.rounds(case);
            let why = rounds.ceilings.unlike()?;
            Some(format!(
                "the ceiling of NEW is not that of BASE ({why}), so nothing is held against it: what the machine did is \
                 in the changes"
            ))
        };
        let mut told: Vec<String> = cases.iter().filter_map(why).collect();
        told.dedup();
        told
    }

    fn noise(&self, cases: &[Case]) -> Noise {
        let of = |side: &Side<'a>, id: fn(&Case) -> &String| {
            side.trials.iter().filter(move |record| {
                let trial = &record.trial;
                cases.iter().any(|case| {
                    trial.server == *id(case)
                        && trial.workload == case.workload
                        && trial.load.same_load(&case.load)
                })
            })
        };
        Noise::of(of(&self.base, |case| &case.base).chain(of(&self.new, |case| &case.new)))
    }
}

/// Why a side has no rounds of a case.
fn why_not(side: &Side<'_>, name: &str, id: &str, case: &Case) -> String {
    let missing = match side.record(id).map(|server| &server.status) {
        Some(ServerStatus::Skipped { missing, .. }) => Some(missing),
        _ => None,
    };
    let mut trials = side.trials.iter().map(|record| &record.trial);
    let other_load = trials.any(|trial| trial.server == id && trial.workload == case.workload);
    let why = match (missing, other_load) {
        (Some(missing), _) => format!("its toolchain is not there: {missing}"),
        (None, true) => "it was measured under another load".to_owned(),
        (None, false) => "it was not measured".to_owned(),
    };
    format!("{}: in {name} {why}", place(id, case))
}

fn place(id: &str, case: &Case) -> String {
    let load = text::workload_and_load(&case.workload, &case.load);
    format!("{id} × {load}")
}
