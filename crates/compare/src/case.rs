//! One server with one workload under one load: its rounds on both sides, and the lines they give.

use prony_model::LoadSpec;
use prony_stats::{Ratio, judge};

use crate::ceiling::{Ceilings, Held};
use crate::comparison::{Question, Sessions};
use crate::failures;
use crate::finding::Finding;
use crate::limit::Limits;
use crate::metric::Metric;
use crate::rounds::{Rounds, Values};
use crate::row::{Basis, Case, Change, Row, What};
use crate::side::Side;

/// A case whose findings await the correction for all comparisons that are made together.
pub struct OpenCase {
    pub case: Case,
    limits: Limits,
}

/// The rounds of a case.
pub struct CaseRounds<'a> {
    pub base: Rounds<'a>,
    pub new: Rounds<'a>,
    pub ceilings: Ceilings<'a>,
}

impl<'a> CaseRounds<'a> {
    pub fn of(
        (base, new): (&Side<'a>, &Side<'a>),
        (base_id, new_id): (&str, &str),
        workload: &str,
        load: &LoadSpec,
    ) -> Self {
        Self {
            base: Rounds::of(base.trials, base_id, workload, load),
            new: Rounds::of(new.trials, new_id, workload, load),
            ceilings: Ceilings::of((base, new), (base_id, new_id), workload, load),
        }
    }

    /// Whether any round of either side gave figures.
    pub fn has_figures(&self) -> bool {
        self.base.measured().chain(self.new.measured()).count() > 0
    }

    /// The lines, the findings of the metrics still open.
    pub fn compare(&self, case: Case, question: &Question, sessions: Sessions) -> OpenCase {
        let limits = Limits::of(
            [&self.base, &self.ceilings.base],
            [&self.new, &self.ceilings.new],
        );
        let noisy = self.noisy();
        let mut rows: Vec<Row> = [
            failures::failed_rounds(&self.base, &self.new),
            failures::errors(&self.base, &self.new),
        ]
        .into_iter()
        .flatten()
        .collect();
        for metric in question.metrics(&case.load) {
            let Some(mut row) = self.row(metric, question, sessions) else {
                continue;
            };
            row.notes.extend(limits.notes(metric));
            row.notes.extend(noisy.iter().cloned());
            rows.push(row);
        }
        let case = Case { rows, ..case };
        OpenCase { case, limits }
    }

    fn row(&self, metric: Metric, question: &Question, sessions: Sessions) -> Option<Row> {
        let (base, new) = (self.base.values(metric), self.new.values(metric));
        if base.is_empty() && new.is_empty() && !question.asks_for(metric) {
            return None;
        }
        let threshold = question.thresholds.of(metric, sessions);
        let (ratio, basis) = self.ratio(metric, &base, &new, sessions);
        let mut notes = match (base.len().min(new.len()), ratio) {
            (0, _) => vec!["not recorded, or too few responses for it".to_owned()],
            (_, None) => vec!["takes two rounds of each at the least".to_owned()],
            _ => Vec::new(),
        };
        if basis == Basis::Unpaired && self.ceilings.hold(metric) == Held::OfGenerator {
            notes.push("not held against the ceiling, which the generator limited".to_owned());
        }
        Some(Row {
            what: What::Metric(metric),
            finding: Finding::TooNoisy,
            base: base.median(),
            new: new.median(),
            change: ratio.map(|ratio| Change::of(ratio, threshold, basis)),
            notes,
        })
    }

    fn ratio(
        &self,
        metric: Metric,
        base: &Values,
        new: &Values,
        sessions: Sessions,
    ) -> (Option<Ratio>, Basis) {
        if sessions == Sessions::One {
            return (Ratio::paired(&new.in_common(base)), Basis::Paired);
        }
        if self.ceilings.hold(metric) == Held::Yes {
            let base = base.relative_to(&self.ceilings.base.values(metric));
            let new = new.relative_to(&self.ceilings.new.values(metric));
            if let Some(ratio) = Ratio::unpaired(&new.list(), &base.list()) {
                return (Some(ratio), Basis::ToCeiling);
            }
        }
        (Ratio::unpaired(&new.list(), &base.list()), Basis::Unpaired)
    }

    /// Which rounds rest on attempts that were noisy.
    fn noisy(&self) -> Vec<String> {
        let sides = [("base", &self.base), ("new", &self.new)].into_iter();
        let told = sides.filter(|(_, rounds)| rounds.noisy() > 0);
        told.map(|(side, rounds)| {
            let (noisy, all) = (rounds.noisy(), rounds.count());
            format!("{side}: {noisy} of {all} rounds noisy in every attempt")
        })
        .collect()
    }
}

impl OpenCase {
    /// A case of which all is said.
    pub fn settled(case: Case) -> Self {
        Self {
            case,
            limits: Limits::default(),
        }
    }

    /// The changes whose findings are open.
    pub fn changes(&mut self) -> impl Iterator<Item = &mut Change> {
        let rows = self.case.rows.iter_mut();
        rows.filter_map(|row| row.change.as_mut())
    }

    /// Says what comes of every change, its p-value being corrected.
    pub fn settle(mut self) -> Case {
        for row in &mut self.case.rows {
            let (What::Metric(metric), Some(change)) = (row.what, &row.change) else {
                continue;
            };
            let verdict = judge(
                &change.as_ratio(),
                change.p_corrected,
                change.threshold,
                metric.better(),
            );
            row.finding = self.limits.leave(metric, verdict.into());
            if row.finding == Finding::NoChangeSeen && change.p_corrected < 0.05 {
                row.notes
                    .push("a change smaller than the threshold".to_owned());
            }
        }
        self.case
    }
}
