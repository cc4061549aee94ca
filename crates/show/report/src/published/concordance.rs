//! Whether the order of a document's rows held here.

use prony_model::PublishedFigure;
use prony_stats::{Competitor, Known, Order, stands};

use super::document::{Concordance, DocumentRow, DocumentTable, ReversedPair};
use super::measured::{Aggregation, Measured, aggregation};
use crate::table::ResultTable;

/// Whether the published order held, for every figure that has one. Rates of a closed loop have the order of their
/// ranking; the comparisons of any other figure are corrected for the number of its pairs.
pub(super) fn concordances(table: &DocumentTable, tables: &[ResultTable]) -> Vec<Concordance> {
    let mut all = Vec::new();
    for &figure in &table.source.columns {
        for (workload, rows) in groups(table, figure) {
            let group = Group::of(table, figure, &rows, tables);
            all.extend(group.and_then(|group| group.concordance(workload)));
        }
    }
    all
}

/// The rows of the document that can be compared with each other: those of one workload.
pub(super) fn groups(
    table: &DocumentTable,
    figure: PublishedFigure,
) -> Vec<(Option<&str>, Vec<&DocumentRow>)> {
    let rows = || table.rows.iter().filter(|row| row.in_document);
    // The figures of a build do not depend on the workload.
    if !table.has_workloads() || aggregation(figure) == Aggregation::Build {
        return vec![(None, rows().collect())];
    }
    table
        .workloads()
        .into_iter()
        .map(|workload| {
            let here = rows().filter(|row| row.workload == workload);
            (Some(workload), here.collect())
        })
        .collect()
}

/// A row with its published figure.
type Entry<'a> = (&'a DocumentRow, f64);

/// The rows of one figure on one workload, each with its published value.
struct Group<'a> {
    figure: PublishedFigure,
    more_is_better: bool,
    rows: &'a [&'a DocumentRow],
    entries: Vec<Entry<'a>>,
    /// The order that the rounds show.
    order: Order,
    /// The table that ranks its rows by this figure, if one does.
    ranking: Option<&'a ResultTable>,
}

/// How two rows that differ in the document compare here.
enum PairOrder {
    NotMeasured,
    Open,
    AsPublished,
    Reversed,
}

impl<'a> Group<'a> {
    /// `None` for a figure without an order.
    fn of(
        table: &'a DocumentTable,
        figure: PublishedFigure,
        rows: &'a [&'a DocumentRow],
        tables: &'a [ResultTable],
    ) -> Option<Self> {
        let more_is_better = figure.more_is_better()?;
        let mut entries: Vec<Entry> = Vec::new();
        for row in rows {
            // A server with the same figure twice is entered once, so that each pair counts once.
            let again = |value: f64| {
                entries
                    .iter()
                    .any(|(other, known)| other.server == row.server && *known == value)
            };
            if let Some(value) = table.published(row, figure).filter(|value| !again(*value)) {
                entries.push((row, value));
            }
        }
        let competitors: Vec<Competitor> = entries
            .iter()
            .map(|(row, _)| competitor(row, figure, more_is_better))
            .collect();
        let ranks = |one: &&ResultTable| {
            let first = entries.first();
            first.is_some_and(|(row, _)| one.is_of(&row.workload, &table.source.load))
        };
        let is_rate = figure == PublishedFigure::Rate;
        Some(Self {
            figure,
            more_is_better,
            rows,
            order: Order::of(&competitors),
            ranking: tables.iter().find(ranks).filter(|_| is_rate),
            entries,
        })
    }

    /// `None` if no two rows differ in the document.
    fn concordance(&self, workload: Option<&str>) -> Option<Concordance> {
        let mut found = Concordance {
            figure: self.figure,
            workload: workload.map(str::to_owned),
            in_order: 0,
            reversed: Vec::new(),
            open: 0,
            not_measured: 0,
        };
        for (i, (first, first_value)) in self.entries.iter().enumerate() {
            for (j, (second, second_value)) in self.entries.iter().enumerate().skip(i + 1) {
                // Two rows of the same server share one measurement, so they cannot differ here.
                if first.server == second.server || first_value == second_value {
                    continue;
                }
                let first_is_better = (first_value > second_value) == self.more_is_better;
                let (better, worse) = if first_is_better { (i, j) } else { (j, i) };
                match self.pair(better, worse) {
                    PairOrder::NotMeasured => found.not_measured += 1,
                    PairOrder::Open => found.open += 1,
                    PairOrder::AsPublished => found.in_order += 1,
                    PairOrder::Reversed => found.reversed.push(ReversedPair {
                        better_here: self.name(worse),
                        better_there: self.name(better),
                    }),
                }
            }
        }
        (found.pairs() + found.not_measured > 0).then_some(found)
    }

    /// How two rows compare here; in the document, `one` is better than the other.
    fn pair(&self, one: usize, other: usize) -> PairOrder {
        let row = |place: usize| self.entries[place].0;
        let measured = |place| row(place).measured.get(&self.figure);
        let (Some(a), Some(b)) = (measured(one), measured(other)) else {
            return PairOrder::NotMeasured;
        };
        let is_better = match self.ranking.and_then(|ranking| ranking.order.as_ref()) {
            Some(order) => order
                .faster(&row(one).server, &row(other).server)
                .map(|faster| faster == row(one).server),
            None => self.by_figures(one, other, a, b),
        };
        match is_better {
            None => PairOrder::Open,
            Some(true) => PairOrder::AsPublished,
            Some(false) => PairOrder::Reversed,
        }
    }

    /// Whether `one` is better than the other; `None` if that is open. The figures must have the same order as their
    /// rounds, because a figure over all rounds, such as a maximum, may contradict most of them. Figures whose rounds
    /// cannot be compared (there are none, or one is 0) are compared by their intervals.
    fn by_figures(&self, one: usize, other: usize, a: &Measured, b: &Measured) -> Option<bool> {
        let by_value = (a.value > b.value) == self.more_is_better;
        if self.order.compares(one, other) {
            let by_rounds = self.order.better(one, other)? == one;
            return (by_rounds == by_value && a.value != b.value).then_some(by_rounds);
        }
        let is_better = by_intervals(self.more_is_better, a, b)?;
        let (better, worse) = if is_better {
            (one, other)
        } else {
            (other, one)
        };
        let known_of = |place: usize| known(self.entries[place].0, self.figure);
        stands(known_of(better), known_of(worse)).then_some(is_better)
    }

    /// The document's name for a row, with the server if two rows have the same name.
    fn name(&self, place: usize) -> String {
        let row = self.entries[place].0;
        let is_alike = |other: &&DocumentRow| other.name == row.name && other.server != row.server;
        if self.rows.iter().any(is_alike) {
            format!("{} ({})", row.name, row.server)
        } else {
            row.name.clone()
        }
    }
}

/// A row as a competitor, with its values transformed so that larger is better.
fn competitor(row: &DocumentRow, figure: PublishedFigure, more_is_better: bool) -> Competitor {
    let better = |value: f64| if more_is_better { value } else { 1.0 / value };
    let rounds = row
        .measured
        .get(&figure)
        .map(|measured| &measured.rounds[..])
        .unwrap_or_default();
    Competitor {
        rounds: rounds
            .iter()
            .map(|&(round, value)| (round, better(value)))
            .collect(),
        known: known(row, figure),
    }
}

fn known(row: &DocumentRow, figure: PublishedFigure) -> Known {
    row.known.get(&figure).copied().unwrap_or_default()
}

/// Whether the first is better, if the intervals do not overlap.
fn by_intervals(more_is_better: bool, a: &Measured, b: &Measured) -> Option<bool> {
    let (a_ends, b_ends) = (a.interval?, b.interval?);
    let above = a_ends.0 > b_ends.1 && a.value > b.value;
    let below = a_ends.1 < b_ends.0 && a.value < b.value;
    (above || below).then_some(above == more_is_better)
}
