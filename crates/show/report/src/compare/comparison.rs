//! The comparison of two sides.

use std::collections::BTreeSet;

use prony_model::{
    LoadSpec, MeasuredBy, Run, ServerRecord, ServerStatus, TrialRecord, measures_of,
};
use prony_present::words::{Joined, non_empty};
use prony_stats::holm;
use serde::Serialize;

use crate::compare::case::{CaseRounds, OpenCase};
use crate::compare::conditions;
use crate::compare::failures;
use crate::compare::finding::{Finding, Tally};
use crate::compare::instructions::InstructionDetails;
use crate::compare::metric::Metric;
use crate::compare::noise::Noise;
use crate::compare::question::{Question, Sessions};
use crate::compare::row::Case;
use crate::compare::side::{Named, Side, fault, is_wrong};

/// The result of comparing a new measurement with an old one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The old measurement.
    pub base: Named,
    /// The new measurement.
    pub new: Named,
    /// How they were measured.
    pub(crate) sessions: Sessions,
    /// How many comparisons have each finding.
    pub tally: Tally,
    /// Each server with each workload under each load.
    pub cases: Vec<Case>,
    /// What only BASE has figures of, through no fault of the server, and what neither has.
    pub left_out: Vec<String>,
    /// What only NEW has figures of.
    pub only_new: Vec<String>,
    /// Warnings to read before the figures.
    pub warnings: Vec<String>,
    /// How the conditions of two sessions differ, and how the rate of the ceiling (reference server) changed.
    pub differences: Vec<String>,
    /// Whether the conditions differ. The ceiling's rate alone is no condition: it always changes a little.
    #[serde(skip)]
    pub conditions_differ: bool,
    /// What else the machine did.
    pub noise: Noise,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    #[error("both sides are the run {0}: name two of its servers (RUN:SERVER), or another run")]
    Same(String),
    #[error("the run {run} has no server `{server}`, only {}", .known.join(", "))]
    Unknown {
        run: String,
        server: String,
        known: Vec<String>,
    },
    #[error("the runs {base} and {new} have nothing to compare{}", list(.why))]
    Nothing {
        base: String,
        new: String,
        why: Vec<String>,
    },
}

fn list(why: &[String]) -> String {
    match why {
        [] => "; they have no server in common".to_owned(),
        why => why.iter().map(|line| format!("\n  {line}")).collect(),
    }
}

impl Comparison {
    /// Compares two sides.
    ///
    /// # Errors
    /// If they are the same, or have nothing in common.
    pub fn of(base: Side<'_>, new: Side<'_>, question: &Question) -> Result<Self, Incomparable> {
        let pairs = pairs(&base, &new)?;
        let sessions = if base.run.id == new.run.id {
            Sessions::One
        } else {
            Sessions::Two
        };
        let comparer = Comparer {
            base,
            new,
            question,
            sessions,
        };
        let mut found = Found::default();
        for (base_id, new_id) in &pairs {
            comparer.server(base_id, new_id, &mut found);
        }
        if found.cases.is_empty() {
            return Err(Incomparable::Nothing {
                base: base.run.id.clone(),
                new: new.run.id.clone(),
                why: [found.left_out, found.only_new].concat(),
            });
        }
        if base.server.is_none() && new.server.is_none() {
            let gone = lacking(&base, &new).map(|id| format!("{id}: not in NEW"));
            found.left_out.extend(gone);
            let come = lacking(&new, &base).map(|id| format!("{id}: not in BASE"));
            found.only_new.extend(come);
        }
        Ok(comparer.conclude(found))
    }

    /// The comparison that a run was made for, as `prony ab` runs are; `None` for other runs, and if there is nothing to
    /// compare.
    pub fn of_run(run: &Run, trials: &[TrialRecord]) -> Option<Self> {
        let [base, new] = run.compared()?.map(|id| Side {
            run,
            trials,
            server: Some(id),
        });
        Self::of(base, new, &Question::of_command(&run.command)).ok()
    }

    /// The result if NEW cannot be measured and BASE can, so nothing was; `warning` says so.
    pub fn without_new<'a>(
        base: Named,
        new: Named,
        (base_id, broken): (&str, &ServerRecord),
        measures: impl IntoIterator<Item = (&'a str, &'a LoadSpec)>,
        warning: String,
    ) -> Self {
        let case = |(workload, load): (&str, &LoadSpec)| {
            let why = fault(broken, workload).unwrap_or_else(|| "it cannot be measured".to_owned());
            let case = Case::empty((base_id, &broken.id), workload, load);
            Case {
                rows: vec![failures::absent(Finding::Worse, "new", &why)],
                ..case
            }
        };
        let cases: Vec<Case> = measures.into_iter().map(case).collect();
        Comparison {
            sessions: Sessions::One,
            tally: tally(&cases),
            left_out: Vec::new(),
            only_new: Vec::new(),
            warnings: vec![warning],
            differences: Vec::new(),
            conditions_differ: false,
            noise: Noise::default(),
            base,
            new,
            cases,
        }
    }

    /// Whether something is worse, or NEW sent wrong responses (even if BASE did too).
    pub fn is_worse(&self) -> bool {
        self.tally.overall() == Finding::Worse
    }

    /// Whether a comparison is inconclusive, not comparable or missing.
    pub fn is_open(&self) -> bool {
        self.open() > 0
    }

    /// How many comparisons are inconclusive, not comparable or missing.
    pub fn open(&self) -> usize {
        let rows = self.cases.iter().flat_map(|case| &case.rows);
        self.left_out.len() + rows.filter(|row| row.finding.is_open()).count()
    }

    /// How many comparisons there are, missing ones included.
    pub fn total(&self) -> usize {
        self.left_out.len() + self.tally.total()
    }
}

/// The pairs of servers to compare: BASE's and NEW's.
fn pairs(base: &Side<'_>, new: &Side<'_>) -> Result<Vec<(String, String)>, Incomparable> {
    if let Some(named) = base.server.or(new.server) {
        let base_id = known(base, base.server.unwrap_or(named))?;
        let new_id = known(new, new.server.unwrap_or(named))?;
        return if base.run.id == new.run.id && base_id == new_id {
            Err(Incomparable::Same(base.run.id.clone()))
        } else {
            Ok(vec![(base_id, new_id)])
        };
    }
    if base.run.id == new.run.id {
        return Err(Incomparable::Same(base.run.id.clone()));
    }
    let both = base.run.servers.iter();
    let both = both.filter(|server| new.run.server(&server.id).is_some());
    // The ceiling is what the others are compared with.
    let (ceilings, others): (Vec<_>, Vec<_>) = both.partition(|server| server.is_ceiling());
    let compared = if others.is_empty() { ceilings } else { others };
    let pair = |id: &String| (id.clone(), id.clone());
    Ok(compared.iter().map(|server| pair(&server.id)).collect())
}

fn known(side: &Side<'_>, id: &str) -> Result<String, Incomparable> {
    match side.run.server(id) {
        Some(server) => Ok(server.id.clone()),
        None => Err(Incomparable::Unknown {
            run: side.run.id.clone(),
            server: id.to_owned(),
            known: side.run.servers.iter().map(|one| one.id.clone()).collect(),
        }),
    }
}

/// The servers of a side that the other lacks, apart from the ceiling.
fn lacking<'a>(side: &Side<'a>, other: &Side<'a>) -> impl Iterator<Item = &'a str> {
    let servers = side.run.servers.iter();
    let gone = servers.filter(|one| !one.is_ceiling() && other.run.server(&one.id).is_none());
    gone.map(|server| server.id.as_str())
}

fn tally(cases: &[Case]) -> Tally {
    let rows = cases.iter().flat_map(|case| &case.rows);
    Tally::of(rows.map(|row| row.finding))
}

/// Corrects the p-values for all comparisons together, and decides each finding.
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

/// The results of all pairs of servers.
#[derive(Default)]
struct Found {
    cases: Vec<OpenCase>,
    left_out: Vec<String>,
    only_new: Vec<String>,
}

/// Two sides, and how to compare them.
struct Comparer<'a> {
    base: Side<'a>,
    new: Side<'a>,
    question: &'a Question,
    sessions: Sessions,
}

impl<'a> Comparer<'a> {
    /// The cases of a pair of servers.
    fn server(&self, base_id: &str, new_id: &str, found: &mut Found) {
        for (workload, load) in self.measures(base_id, new_id) {
            let case = Case::empty((base_id, new_id), workload, load);
            let rounds = self.rounds(&case);
            let fault_of = |side: &Side<'_>, id| fault(side.run.server(id)?, workload);
            let absent = |finding, side, why: &str| {
                OpenCase::settled(Case {
                    rows: vec![failures::absent(finding, side, why)],
                    ..case.clone()
                })
            };
            if rounds.base.is_empty() {
                match fault_of(&self.base, base_id) {
                    Some(why) => found.cases.push(absent(Finding::Improved, "base", &why)),
                    None => (found.only_new).push(why_not(&self.base, "BASE", base_id, &case)),
                }
            } else if rounds.new.is_empty() {
                match fault_of(&self.new, new_id) {
                    Some(why) => found.cases.push(absent(Finding::Worse, "new", &why)),
                    None => (found.left_out).push(why_not(&self.new, "NEW", new_id, &case)),
                }
            } else {
                match self.both(case, &rounds) {
                    Ok(case) => found.cases.push(case),
                    Err(why) => found.left_out.push(why),
                }
            }
        }
    }

    /// The rows of a case that both sides have rounds of, or why there are none.
    fn both(&self, case: Case, rounds: &CaseRounds<'_>) -> Result<OpenCase, String> {
        let place = case.place(&case.new);
        if !rounds.has_figures() {
            let mut failed = rounds.new.failed();
            let kind = failed.next().map_or("failed", |(kind, _)| kind.name());
            return Err(format!("{place}: every round of both failed ({kind})"));
        }
        let open = rounds.compare(case, self.question, self.sessions);
        if open.case.rows.is_empty() {
            Err(format!(
                "{place}: the requested metrics mean nothing under this load"
            ))
        } else {
            Ok(open)
        }
    }

    fn rounds(&self, case: &Case) -> CaseRounds<'a> {
        CaseRounds::of(&self.base, &self.new, case)
    }

    /// The workloads and loads of a pair of servers, those of BASE first.
    fn measures(&self, base_id: &str, new_id: &str) -> Vec<(&'a str, &'a LoadSpec)> {
        let base = self.base.trials.iter();
        let new = self.new.trials.iter();
        let base = base.filter(|record| record.trial.server == base_id);
        let new = new.filter(|record| record.trial.server == new_id);
        measures_of(base.chain(new))
    }

    /// Puts everything together.
    fn conclude(&self, found: Found) -> Comparison {
        let mut cases = settle(found.cases);
        for case in &mut cases {
            let rounds = self.rounds(case);
            if case.load.by == MeasuredBy::Instructions {
                let changed = case.changes_instructions();
                case.instructions = InstructionDetails::of(changed, &rounds.base, &rounds.new);
            }
        }
        Comparison {
            base: self.base.named(),
            new: self.new.named(),
            sessions: self.sessions,
            tally: Tally {
                new_is_wrong: !self.wrong(&cases).is_empty(),
                ..tally(&cases)
            },
            left_out: found.left_out,
            only_new: found.only_new,
            warnings: self.warnings(&cases),
            differences: self.differences(&cases),
            conditions_differ: !self.conditions(&cases).is_empty(),
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
        let metrics = cases.iter();
        let metrics = metrics.flat_map(|case| self.question.metrics(&case.load));
        let thresholds = &self.question.thresholds;
        let narrow = BTreeSet::from_iter(metrics).into_iter();
        let narrow = narrow.filter(|metric| thresholds.too_narrow(*metric, self.sessions));
        if let Some(narrow) = non_empty(narrow.map(Metric::name).joined(", ")) {
            warnings.push(format!(
                "the threshold of {narrow} is narrower than the difference that unchanged code may show between two sessions; \
                 measure both in one run (`prony ab`)"
            ));
        }
        warnings
    }

    /// The cases in which NEW sent wrong responses.
    fn wrong(&self, cases: &[Case]) -> Vec<String> {
        let wrong = cases.iter().filter(|case| is_wrong(&self.rounds(case).new));
        wrong.map(|case| case.place(&case.new)).collect()
    }

    /// How the conditions of two sessions differ.
    fn conditions(&self, cases: &[Case]) -> Vec<String> {
        if self.sessions == Sessions::One {
            return Vec::new();
        }
        let generators = cases.iter().filter_map(|case| {
            let rounds = self.rounds(case);
            conditions::generators(&rounds.base, &rounds.new)
        });
        let lines = conditions::differences(self.base.run, self.new.run).into_iter();
        once_each(lines.chain(generators))
    }

    /// The same, and how the ceilings' rates changed.
    fn differences(&self, cases: &[Case]) -> Vec<String> {
        if self.sessions == Sessions::One {
            return Vec::new();
        }
        let drifts = cases.iter();
        let drifts = drifts.filter_map(|case| conditions::drift(&self.rounds(case).ceilings, case));
        [self.conditions(cases), once_each(drifts)].concat()
    }

    /// Why the ceilings of two sessions cannot be compared, if they cannot.
    fn other_ceilings(&self, cases: &[Case]) -> Vec<String> {
        let why = |case| {
            let rounds = self.rounds(case);
            let why = rounds.ceilings.differ_by()?;
            Some(format!(
                "the ceilings (reference servers) of NEW and BASE differ ({why}), so Prony compares the raw figures, and a \
                 change may be the machine's"
            ))
        };
        once_each(cases.iter().filter_map(why))
    }

    fn noise(&self, cases: &[Case]) -> Noise {
        let of = |side: &Side<'a>, id: fn(&Case) -> &String| {
            side.trials.iter().filter(move |record| {
                let mut cases = cases.iter();
                cases.any(|case| record.is_of(id(case), &case.workload, &case.load))
            })
        };
        Noise::of(of(&self.base, |case| &case.base).chain(of(&self.new, |case| &case.new)))
    }
}

/// The lines without those that repeat the one before.
fn once_each(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.dedup();
    lines
}

/// Why a side has no rounds of a case.
fn why_not(side: &Side<'_>, name: &str, id: &str, case: &Case) -> String {
    let missing = match side.run.server(id).map(|server| &server.status) {
        Some(ServerStatus::Skipped { missing, .. }) => Some(missing),
        _ => None,
    };
    let mut trials = side.trials.iter().map(|record| &record.trial);
    let other_load = trials.any(|trial| trial.server == id && trial.workload == case.workload);
    let why = match (missing, other_load) {
        (Some(missing), _) => format!("its toolchain is not installed: {missing}"),
        (None, true) => "it was measured under another load".to_owned(),
        (None, false) => "it was not measured".to_owned(),
    };
    format!("{}: in {name} {why}", case.place(id))
}
