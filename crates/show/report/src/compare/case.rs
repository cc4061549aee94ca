//! One server with one workload under one load: its rounds on both sides, and the lines they give.

use std::collections::BTreeSet;

use prony_model::CountedRounds;
use prony_present::number::{share, short};
use prony_present::words::{Joined, non_empty};
use prony_stats::{Ratio, common_rounds, judge_at};

use crate::compare::ceiling::{Ceilings, Usable};
use crate::compare::failures;
use crate::compare::finding::Finding;
use crate::compare::limit::SideLimits;
use crate::compare::metric::Metric;
use crate::compare::question::{Question, Sessions};
use crate::compare::row::{Basis, Case, Change, MetricRow, What};
use crate::compare::side::{Side, Values, list, middle, relative};

/// A case whose findings wait for the correction of all p-values together.
pub(super) struct OpenCase {
    pub(crate) case: Case,
    limits: SideLimits,
}

pub(super) struct CaseRounds<'a> {
    pub(crate) base: CountedRounds<'a>,
    pub(crate) new: CountedRounds<'a>,
    pub(crate) ceilings: Ceilings<'a>,
}

impl<'a> CaseRounds<'a> {
    pub(super) fn of(base: &Side<'a>, new: &Side<'a>, case: &Case) -> Self {
        Self {
            base: base.rounds(&case.base, case),
            new: new.rounds(&case.new, case),
            ceilings: Ceilings::of(base, new, case),
        }
    }

    /// Whether either side has figures.
    pub(super) fn has_figures(&self) -> bool {
        self.base.measured().chain(self.new.measured()).count() > 0
    }

    /// The rows of a case; the findings of its metrics are provisional.
    pub(super) fn compare(&self, case: Case, question: &Question, sessions: Sessions) -> OpenCase {
        let limits = SideLimits::of(
            [&self.base, &self.ceilings.base],
            [&self.new, &self.ceilings.new],
        );
        let mut rows: Vec<MetricRow> = [
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
            rows.push(row);
        }
        let case = Case {
            rows,
            notes: self.noisy().into_iter().collect(),
            ..case
        };
        OpenCase { case, limits }
    }

    fn row(&self, metric: Metric, question: &Question, sessions: Sessions) -> Option<MetricRow> {
        let values = |rounds: &CountedRounds<'_>| rounds.by_round(|one| metric.of(one));
        let (base, new) = (values(&self.base), values(&self.new));
        if base.is_empty() && new.is_empty() && !question.asks_for(metric) {
            return None;
        }
        let threshold = question.thresholds.of(metric, sessions);
        let (ratio, basis) = self.ratio(metric, &base, &new, sessions);
        let mut notes = match (base.len().min(new.len()), ratio) {
            (0, _) => vec!["not recorded, or too few responses".to_owned()],
            (_, None) => vec!["each side needs at least two rounds".to_owned()],
            _ => Vec::new(),
        };
        if basis == Basis::Unpaired
            && self.ceilings.usable_for(metric) == Usable::LimitedByGenerator
        {
            let why =
                "not compared with the ceiling (reference server), which the generator limited";
            notes.push(why.to_owned());
        }
        Some(MetricRow {
            what: What::Metric(metric),
            finding: Finding::Inconclusive,
            base: middle(&base),
            new: middle(&new),
            change: ratio.map(|ratio| {
                let quiet_rounds = self.quiet_rounds(&base, &new, basis);
                Change::of(ratio, quiet_rounds, threshold, basis)
            }),
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
        if metric.is_independent_of_time() {
            return (Ratio::unpaired(&list(new), &list(base)), Basis::Starts);
        }
        if sessions == Sessions::One {
            return (Ratio::paired(&common_rounds(new, base)), Basis::Paired);
        }
        if self.ceilings.usable_for(metric) == Usable::Yes {
            let values = |rounds: &CountedRounds<'_>| rounds.by_round(|one| metric.of(one));
            let base = relative(base, &values(&self.ceilings.base));
            let new = relative(new, &values(&self.ceilings.new));
            if let Some(ratio) = Ratio::unpaired(&list(&new), &list(&base)) {
                return (Some(ratio), Basis::ToCeiling);
            }
        }
        (Ratio::unpaired(&list(new), &list(base)), Basis::Unpaired)
    }

    /// How many of the compared rounds were not noisy in every attempt, on both sides.
    fn quiet_rounds(&self, base: &Values, new: &Values, basis: Basis) -> usize {
        let quiet = |values: &Values, rounds: &CountedRounds<'_>| -> BTreeSet<u32> {
            let all = values.keys().copied();
            all.filter(|round| !rounds.is_noisy(*round)).collect()
        };
        let (base, new) = (quiet(base, &self.base), quiet(new, &self.new));
        match basis {
            Basis::Paired => base.intersection(&new).count(),
            Basis::ToCeiling | Basis::Unpaired | Basis::Starts => base.len().min(new.len()),
        }
    }

    /// How many rounds rest on noisy attempts: `in 1 of 7 rounds of base every attempt was noisy, and the least disturbed one
    /// counts`.
    fn noisy(&self) -> Option<String> {
        let sides = [("base", &self.base), ("new", &self.new)].into_iter();
        let noisy = sides.filter_map(|(side, rounds)| {
            let (noisy, all) = (rounds.noisy().count(), rounds.len());
            (noisy > 0).then(|| format!("{noisy} of {all} rounds of {side}"))
        });
        non_empty(noisy.joined(" and ")).map(|noisy| {
            format!("in {noisy} every attempt was noisy, and the least disturbed one counts")
        })
    }
}

impl OpenCase {
    /// A case without provisional findings.
    pub(super) fn settled(case: Case) -> Self {
        Self {
            case,
            limits: SideLimits::default(),
        }
    }

    /// The changes whose findings are provisional.
    pub(super) fn changes(&mut self) -> impl Iterator<Item = &mut Change> {
        let rows = self.case.rows.iter_mut();
        rows.filter_map(|row| row.change.as_mut())
    }

    /// Decides the findings, once the p-values are corrected.
    pub(super) fn settle(mut self) -> Case {
        for row in &mut self.case.rows {
            let (What::Metric(metric), Some(change)) = (row.what, &row.change) else {
                continue;
            };
            let verdict = judge_at(
                metric.significance(),
                &change.as_ratio(),
                change.p_corrected,
                change.threshold,
                metric.better(),
            );
            let verdict = if change.has_enough_rounds(metric) {
                verdict.into()
            } else {
                Finding::Inconclusive
            };
            row.finding = self.limits.leave(metric, verdict);
            if row.finding == Finding::NoChangeSeen && change.p_corrected < metric.significance() {
                let threshold = short(&share(change.threshold));
                row.notes.push(format!(
                    "a real change, but below the threshold of {threshold}"
                ));
            }
        }
        self.case
    }
}
