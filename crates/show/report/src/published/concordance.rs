//! Whether the order of a document's rows held here.

use prony_model::{LoadSpec, PublishedFigure};
use prony_stats::{Competitor, Order, stands};

use super::measured::Measured;
use super::row::{DocumentRow, groups, is_by_workload};
use crate::table::{RateOrder, ResultTable};

/// Whether the published order of one figure held. Every pair of rows whose published figures differ counts once.
#[derive(Clone, Debug, PartialEq)]
pub struct Concordance {
    pub figure: PublishedFigure,
    /// The number of pairs in the published order.
    pub in_order: usize,
    /// The pairs in the opposite order.
    pub reversed: Vec<ReversedPair>,
    /// The number of pairs that cannot be told apart here.
    pub open: usize,
    /// The number of pairs with a row that was not measured.
    pub not_measured: usize,
}

/// The names of two rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReversedPair {
    pub better_here: String,
    /// The one that is better in the document.
    pub better_there: String,
    /// The workload; `None` for a figure that does not depend on it, and in a table of one workload.
    pub workload: Option<String>,
}

impl Concordance {
    /// The number of pairs that were measured.
    pub fn pairs(&self) -> usize {
        self.in_order + self.reversed.len() + self.open
    }
}

/// Whether the published order of a figure held; `None` if it has none, because no two rows differ in the document. Rates of
/// a closed loop have the order of their ranking; the comparisons of any other figure are corrected for the number of its
/// pairs.
pub(super) fn concordance(
    rows: &[DocumentRow],
    load: &LoadSpec,
    figure: PublishedFigure,
    results: &[ResultTable],
) -> Option<Concordance> {
    let mut found = Concordance {
        figure,
        in_order: 0,
        reversed: Vec::new(),
        open: 0,
        not_measured: 0,
    };
    let is_by_workload = is_by_workload(rows, figure);
    for rows in groups(rows, figure) {
        let group = Group::of(rows, load, figure, results)?;
        group.count(is_by_workload, &mut found);
    }
    (found.pairs() + found.not_measured > 0).then_some(found)
}

/// The rows of one figure on one workload.
struct Group<'a> {
    figure: PublishedFigure,
    more_is_better: bool,
    rows: Vec<&'a DocumentRow>,
    /// The order that the rounds show.
    order: Order,
    /// The ranking by this figure, if there is one.
    ranking: Option<&'a RateOrder>,
}

impl<'a> Group<'a> {
    /// `None` for a figure without an order.
    fn of(
        all: Vec<&'a DocumentRow>,
        load: &LoadSpec,
        figure: PublishedFigure,
        results: &'a [ResultTable],
    ) -> Option<Self> {
        let more_is_better = figure.more_is_better()?;
        let published = |row: &DocumentRow| Some(row.published.get(&figure)?.value);
        let mut rows: Vec<&DocumentRow> = Vec::new();
        for row in all.into_iter().filter(|row| published(row).is_some()) {
            // A server with the same figure twice is entered once, so that each pair counts once.
            let is_again = |other: &&DocumentRow| {
                other.server == row.server && published(other) == published(row)
            };
            if !rows.iter().any(is_again) {
                rows.push(row);
            }
        }
        let competitors: Vec<Competitor> = rows
            .iter()
            .map(|row| competitor(row.measured.get(&figure), more_is_better))
            .collect();
        let ranking = results.iter().find(|result| {
            let mut rows = rows.iter();
            figure == PublishedFigure::Rate && rows.any(|row| result.is_of(&row.workload, load))
        });
        Some(Self {
            figure,
            more_is_better,
            rows,
            order: Order::of(&competitors),
            ranking: ranking.and_then(|result| result.order.as_ref()),
        })
    }

    /// Counts its pairs, which name the workload if the figure `is_by_workload`.
    fn count(&self, is_by_workload: bool, found: &mut Concordance) {
        for (i, first) in self.rows.iter().enumerate() {
            for (j, second) in self.rows.iter().enumerate().skip(i + 1) {
                let [a, b] = [first, second].map(|row| row.published[&self.figure].value);
                // Two rows of the same server share one measurement, so they cannot differ here.
                if first.server == second.server || a == b {
                    continue;
                }
                let (better, worse) = if (a > b) == self.more_is_better {
                    (i, j)
                } else {
                    (j, i)
                };
                let (Some(one), Some(other)) = (self.measured(better), self.measured(worse)) else {
                    found.not_measured += 1;
                    continue;
                };
                match self.is_better(better, worse, one, other) {
                    None => found.open += 1,
                    Some(true) => found.in_order += 1,
                    Some(false) => found.reversed.push(ReversedPair {
                        better_here: self.name(worse),
                        better_there: self.name(better),
                        workload: is_by_workload.then(|| first.workload.clone()),
                    }),
                }
            }
        }
    }

    fn measured(&self, place: usize) -> Option<&Measured> {
        self.rows[place].measured.get(&self.figure)
    }

    /// Whether `one` is better here than the other; `None` if that is open. The figures must have the same order as their
    /// rounds, because a figure over all rounds, such as a maximum, may contradict most of them. Figures whose rounds
    /// cannot be compared (there are none, or one is 0) are compared by their intervals.
    fn is_better(&self, one: usize, other: usize, a: &Measured, b: &Measured) -> Option<bool> {
        if let Some(ranking) = self.ranking {
            let [one, other] = [one, other].map(|place| &self.rows[place].server);
            return Some(ranking.faster(one, other)? == one);
        }
        if a.value == b.value {
            return None;
        }
        let by_value = (a.value > b.value) == self.more_is_better;
        if self.order.compares(one, other) {
            let by_rounds = self.order.better(one, other)? == one;
            return (by_rounds == by_value).then_some(by_value);
        }
        let (less, more) = if a.value < b.value { (a, b) } else { (b, a) };
        let (better, worse) = if by_value { (a, b) } else { (b, a) };
        let is_apart = less.interval?.1 < more.interval?.0;
        (is_apart && stands(better.known, worse.known)).then_some(by_value)
    }

    /// The document's name for a row, with the server if two rows have the same name.
    fn name(&self, place: usize) -> String {
        let row = self.rows[place];
        let is_alike = |other: &&DocumentRow| other.name == row.name && other.server != row.server;
        if self.rows.iter().any(is_alike) {
            format!("{} ({})", row.name, row.server)
        } else {
            row.name.clone()
        }
    }
}

/// A row as a competitor, with its values transformed so that larger is better.
fn competitor(measured: Option<&Measured>, more_is_better: bool) -> Competitor {
    let better = |value: f64| if more_is_better { value } else { 1.0 / value };
    measured.map_or_else(Competitor::default, |measured| Competitor {
        rounds: measured
            .rounds
            .iter()
            .map(|(round, value)| (*round, better(*value)))
            .collect(),
        known: measured.known,
    })
}
