//! Whether the order of a document's rows held here.

use prony_model::PublishedFigure;
use prony_stats::{Competitor, Known, Order, stands};

use super::document::{DocumentRow, DocumentTable, Held};
use super::measured::{Gathering, Measured, gathering};
use crate::table::ResultTable;

/// How the published order held, for every figure that has one. The comparisons of a figure are corrected for all its pairs;
/// the rates of a closed loop stand as they are ranked.
pub(super) fn held(table: &DocumentTable, tables: &[ResultTable]) -> Vec<Held> {
    let figures = table.source.columns.iter();
    figures
        .flat_map(|&figure| {
            groups(table, figure)
                .into_iter()
                .filter_map(move |(workload, rows)| {
                    Group::of(table, figure, &rows)?.held(workload, tables)
                })
        })
        .collect()
}

/// The document's rows that can be held against each other: those of a workload.
pub(super) fn groups(
    table: &DocumentTable,
    figure: PublishedFigure,
) -> Vec<(Option<&str>, Vec<&DocumentRow>)> {
    let rows = || table.rows.iter().filter(|row| row.in_document);
    // What a build makes is the same whatever is asked of it.
    if !table.has_workloads() || gathering(figure) == Gathering::Build {
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

/// A row whose figure was published.
struct Entry<'a> {
    row: &'a DocumentRow,
    published: f64,
}

/// The rows of one figure on one workload.
struct Group<'a> {
    table: &'a DocumentTable,
    figure: PublishedFigure,
    more_is_better: bool,
    rows: &'a [&'a DocumentRow],
    entries: Vec<Entry<'a>>,
}

impl<'a> Group<'a> {
    /// `None` for a figure that has no order.
    fn of(
        table: &'a DocumentTable,
        figure: PublishedFigure,
        rows: &'a [&'a DocumentRow],
    ) -> Option<Self> {
        let mut entries: Vec<Entry> = Vec::new();
        for row in rows {
            let Some(published) = table.published(row, figure) else {
                continue;
            };
            // A server that stands twice with the same figure makes each pair once.
            let again =
                |entry: &Entry| entry.row.server == row.server && entry.published == published;
            if !entries.iter().any(again) {
                entries.push(Entry { row, published });
            }
        }
        Some(Self {
            table,
            figure,
            more_is_better: figure.more_is_better()?,
            rows,
            entries,
        })
    }

    /// `None` if no two rows differ in the document.
    fn held(&self, workload: Option<&str>, tables: &[ResultTable]) -> Option<Held> {
        let mut held = Held {
            figure: self.figure,
            workload: workload.map(str::to_owned),
            in_order: 0,
            reversed: Vec::new(),
            untold: 0,
            not_measured: 0,
        };
        let judge = Judge::of(self, tables);
        for (i, one) in self.entries.iter().enumerate() {
            for (j, other) in self.entries.iter().enumerate().skip(i + 1) {
                // The same server twice is measured once: its two rows cannot differ here.
                if one.row.server == other.row.server || one.published == other.published {
                    continue;
                }
                let first_is_better = (one.published > other.published) == self.more_is_better;
                let (better, worse) = if first_is_better { (i, j) } else { (j, i) };
                let name = |place: usize| name(self.entries[place].row, self.rows);
                match judge.is_better(better, worse) {
                    PairOrder::NotMeasured => held.not_measured += 1,
                    PairOrder::Untold => held.untold += 1,
                    PairOrder::Better => held.in_order += 1,
                    PairOrder::Worse => held.reversed.push((name(worse), name(better))),
                }
            }
        }
        (held.pairs() + held.not_measured > 0).then_some(held)
    }

    /// The rows as they compete in their figure.
    fn order(&self) -> Order {
        let competitor = |entry: &Entry| Competitor {
            rounds: self
                .measured(entry.row)
                .map_or_else(Default::default, |it| {
                    // The larger one is the better one.
                    let value = |value: f64| {
                        if self.more_is_better {
                            value
                        } else {
                            1.0 / value
                        }
                    };
                    it.rounds
                        .iter()
                        .map(|&(round, it)| (round, value(it)))
                        .collect()
                }),
            known: known(entry.row, self.figure),
        };
        Order::of(&self.entries.iter().map(competitor).collect::<Vec<_>>())
    }

    fn measured<'row>(&self, row: &'row DocumentRow) -> Option<&'row Measured> {
        row.measured.get(&self.figure)
    }

    /// The table that ranks its rows by this figure.
    fn ranking<'table>(&self, tables: &'table [ResultTable]) -> Option<&'table ResultTable> {
        let workload = &self.entries.first()?.row.workload;
        let is_it = |table: &&ResultTable| {
            table.workload == *workload && table.load.same_load(&self.table.source.load)
        };
        let is_rate = self.figure == PublishedFigure::Rate;
        tables.iter().find(is_it).filter(|_| is_rate)
    }
}

/// How two rows stand here.
enum PairOrder {
    /// One or both were not measured.
    NotMeasured,
    Untold,
    Better,
    Worse,
}

/// Says which of two rows of a group is better here.
struct Judge<'a> {
    group: &'a Group<'a>,
    ranking: Option<&'a ResultTable>,
    order: Order,
}

impl<'a> Judge<'a> {
    fn of(group: &'a Group<'a>, tables: &'a [ResultTable]) -> Self {
        Self {
            group,
            ranking: group.ranking(tables),
            order: group.order(),
        }
    }

    /// Whether `one` is the better here.
    fn is_better(&self, one: usize, other: usize) -> PairOrder {
        let row = |place: usize| self.group.entries[place].row;
        let measured = |place| self.group.measured(row(place));
        let (Some(a), Some(b)) = (measured(one), measured(other)) else {
            return PairOrder::NotMeasured;
        };
        let better = match self.by_rank(row(one), row(other)) {
            Some(ranked) => ranked,
            None => self.by_figures(one, other, a, b),
        };
        match better {
            None => PairOrder::Untold,
            Some(true) => PairOrder::Better,
            Some(false) => PairOrder::Worse,
        }
    }

    /// As the two are ranked; `None` if no ranking has this figure.
    fn by_rank(&self, one: &DocumentRow, other: &DocumentRow) -> Option<Option<bool>> {
        let order = self.ranking?.order.as_ref()?;
        let faster = order.faster(&one.server, &other.server);
        Some(faster.map(|faster| faster == one.server))
    }

    /// The figures themselves must stand the same way as their rounds: a figure of all rounds may lie outside of the
    /// interval of most. A figure without rounds, or that is 0 in one, has only its interval.
    fn by_figures(&self, one: usize, other: usize, a: &Measured, b: &Measured) -> Option<bool> {
        let more_is_better = self.group.more_is_better;
        let by_value = (a.value > b.value) == more_is_better;
        if self.order.compares(one, other) {
            let by_rounds = self.order.better(one, other)? == one;
            return (by_rounds == by_value && a.value != b.value).then_some(by_rounds);
        }
        let better = by_intervals(more_is_better, a, b)?;
        let known = |place: usize| known(self.group.entries[place].row, self.group.figure);
        let (first, second) = if better { (one, other) } else { (other, one) };
        stands(known(first), known(second)).then_some(better)
    }
}

fn known(row: &DocumentRow, figure: PublishedFigure) -> Known {
    row.known.get(&figure).copied().unwrap_or_default()
}

/// Whether the first is the better, if the intervals are apart.
fn by_intervals(more_is_better: bool, a: &Measured, b: &Measured) -> Option<bool> {
    let (a_ends, b_ends) = (a.interval?, b.interval?);
    let above = a_ends.0 > b_ends.1 && a.value > b.value;
    let below = a_ends.1 < b_ends.0 && a.value < b.value;
    (above || below).then_some(above == more_is_better)
}

/// The document's name of a row, with the server if two rows have the same.
fn name(row: &DocumentRow, rows: &[&DocumentRow]) -> String {
    let same = rows
        .iter()
        .filter(|other| other.name == row.name && other.server != row.server);
    match same.count() {
        0 => row.name.clone(),
        _ => format!("{} ({})", row.name, row.server),
    }
}
