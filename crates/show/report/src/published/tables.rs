//! The tables to show for a document's table: figures measured here, as published, and the ratios of both.

use std::collections::BTreeSet;

use prony_model::PublishedFigure;
use prony_present::number;
use prony_present::table::{Cell, Head, Row, Table, Tone};
use prony_present::words::{Joined, capital, non_empty};
use prony_stats::Known;

use super::document::DocumentTable;
use super::measured::{Aggregation, Measured, about};
use super::row::{DocumentRow, RowFigures, groups};
use super::words::{summary, title};

/// Which of a row's two runs a table shows.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Measured,
    Published,
}

/// The document's table with the figures measured here.
pub(crate) fn measured_here(table: &DocumentTable) -> Vec<Table> {
    let mut tables = tables(table, Side::Measured);
    // Of several tables, only the first shows the flags.
    for row in tables.iter_mut().skip(1).flat_map(|table| &mut table.rows) {
        row.flags.clear();
    }
    tables
}

/// The document's table as published.
pub(crate) fn as_published(table: &DocumentTable) -> Vec<Table> {
    tables(table, Side::Published)
}

/// The measured figures in one table: every column's summary, without the single rounds.
pub(crate) fn summaries(table: &DocumentTable) -> Table {
    let columns = table.source.columns.iter();
    let columns = columns.map(|figure| of_figure(table, Side::Measured, *figure));
    shown(table, Side::Measured, String::new(), columns.collect())
}

/// Published and measured ratios side by side; `None` if no column has them.
pub(crate) fn ratios(table: &DocumentTable) -> Option<Table> {
    let figures = table.source.columns.iter();
    let columns = figures.filter(|figure| figure.more_is_better().is_some());
    let columns = columns.map(|&figure| Shown {
        title: title(table, figure),
        cell: Box::new(move |row| ratio_cell(table, figure, row)),
    });
    let has_ratio = |column: &Shown<'_>| {
        let mut rows = table.rows.iter().filter(|row| row.in_document);
        rows.any(|row| !(column.cell)(row).is_empty())
    };
    let columns: Vec<Shown<'_>> = columns.filter(has_ratio).collect();
    let caption = "Ratios: published → measured here".to_owned();
    (!columns.is_empty()).then(|| shown(table, Side::Published, caption, columns))
}

/// A table for each figure whose rounds are shown, and one for the rest.
fn tables(table: &DocumentTable, side: Side) -> Vec<Table> {
    let by_round = |figure: &PublishedFigure| {
        table.source.each_round && about(*figure).aggregation == Aggregation::Summary
    };
    let columns = table.source.columns.iter().copied();
    let (round_by_round, rest): (Vec<_>, Vec<_>) = columns.partition(by_round);
    let mut tables: Vec<Table> = round_by_round
        .into_iter()
        .map(|figure| rounds(table, side, figure))
        .collect();
    if !rest.is_empty() {
        let caption = if tables.is_empty() {
            ""
        } else {
            "All rounds together"
        };
        let columns = rest.iter().map(|figure| of_figure(table, side, *figure));
        tables.push(shown(table, side, caption.to_owned(), columns.collect()));
    }
    tables
}

fn rounds(table: &DocumentTable, side: Side, figure: PublishedFigure) -> Table {
    let of_rows = table.rows.iter();
    let of_rows = of_rows.filter_map(|row| row.figures(side).get(&figure));
    let rounds: BTreeSet<u32> = of_rows.flat_map(|it| it.rounds.keys().copied()).collect();
    let of_round = |round| Shown {
        title: format!("round {round}"),
        cell: Box::new(move |row| {
            let measured = row.figures(side).get(&figure);
            let value = measured.and_then(|measured| measured.rounds.get(&round));
            Cell::optional(value.copied(), about(figure).shown)
        }),
    };
    let all = Shown {
        title: summary(table).to_owned(),
        cell: Box::new(move |row| figure_cell(row, side, figure).with(None)),
    };
    let columns = rounds.into_iter().map(of_round).chain([all]);
    let caption = capital(&title(table, figure));
    shown(table, side, caption, columns.collect())
}

/// A column of figures.
struct Shown<'t> {
    title: String,
    cell: Box<dyn Fn(&DocumentRow) -> Cell + 't>,
}

fn of_figure(table: &DocumentTable, side: Side, figure: PublishedFigure) -> Shown<'static> {
    Shown {
        title: title(table, figure),
        cell: Box::new(move |row| figure_cell(row, side, figure)),
    }
}

/// A table with these columns of figures. With published figures it has only the document's own rows.
fn shown(table: &DocumentTable, side: Side, caption: String, columns: Vec<Shown<'_>>) -> Table {
    let has_workloads = table.has_workloads();
    let mut system = Head::words("system");
    system.detail = Some(("server here", 1));
    let workload = has_workloads.then(|| Head::words("workload"));
    let titles = columns
        .iter()
        .map(|column| Head::figure(column.title.clone()));
    let heads = [system].into_iter().chain(workload).chain(titles);
    let is_measured = side == Side::Measured;
    let all = table.rows.iter();
    let mut above: Option<&DocumentRow> = None;
    let rows = all.filter(|row| row.in_document || is_measured).map(|row| {
        let begins_group = above.is_some_and(|above| {
            above.in_document != row.in_document || (has_workloads && above.name != row.name)
        });
        above = Some(row);
        let absent = row.absent.filter(|_| is_measured);
        let workload = has_workloads.then(|| Cell::text(&row.workload));
        let figures = columns.iter().filter(|_| absent.is_none());
        let figures = figures.map(|column| (column.cell)(row));
        let tone = if row.in_document {
            Tone::Plain
        } else {
            Tone::Aside
        };
        let flags = is_measured.then(|| row.flags.clone());
        Row {
            flags: flags.unwrap_or_default(),
            ..Row::of([name(row, side)].into_iter().chain(workload).chain(figures))
                .tone(tone)
                .begins_group(begins_group)
                .absent(absent.map(|why| format!("not measured: {why}")))
        }
    });
    Table::with(heads, rows).whole().caption(caption)
}

/// The document's name for the system and, below it, the server that represents it here: with its language and
/// framework beside measured figures.
fn name(row: &DocumentRow, side: Side) -> Cell {
    let here = if !row.in_document {
        "not in the document".to_owned()
    } else if side == Side::Published || row.made_with.is_empty() {
        row.server.clone()
    } else {
        format!("{}, {}", row.server, row.made_with)
    };
    Cell::text(&row.name).with(Some(here))
}

impl DocumentRow {
    fn figures(&self, side: Side) -> &RowFigures {
        match side {
            Side::Measured => &self.measured,
            Side::Published => &self.published,
        }
    }
}

fn figure_cell(row: &DocumentRow, side: Side, figure: PublishedFigure) -> Cell {
    let Some(measured) = row.figures(side).get(&figure) else {
        return Cell::default();
    };
    let about = about(figure);
    let is_sum = about.aggregation == Aggregation::Sum;
    let spread = measured.spread.filter(|_| !is_sum || measured.value > 0.0);
    let spread = spread.map(|(low, high)| {
        let ends = number::interval(low, high, about.shown);
        if is_sum {
            format!("{ends} a round")
        } else {
            ends
        }
    });
    let details = spread.into_iter().chain(non_empty(measured.detail.clone()));
    Cell::text((about.shown)(measured.value)).with(Some(details.joined("; ")))
}

/// `0.79 → 0.81`: the published ratio to the best row, then the measured one; `?` marks one that is not exact. A figure
/// that already is a share is shown as it is.
fn ratio_cell(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> Cell {
    let Some(published) = row.published.get(&figure) else {
        return Cell::default();
    };
    let measured = row.measured.get(&figure);
    let is_share = about(figure).aggregation == Aggregation::Share;
    let base = best(table, figure, row).filter(|_| !is_share);
    let (base_published, base_measured) = base.unzip();
    let ratio = |one: Option<&Measured>, base: Option<&Measured>| {
        let base = if is_share { 1.0 } else { base?.value };
        Some(one?.value / base).filter(|ratio| ratio.is_finite())
    };
    let ratios = [
        ratio(Some(published), base_published),
        ratio(measured, base_measured),
    ];
    if ratios == [None, None] {
        return Cell::default();
    }
    let text = if is_share {
        number::share
    } else {
        number::ratio
    };
    let [published, shown] = ratios.map(|ratio| ratio.map_or(number::NONE.to_owned(), text));
    let mut both = measured.into_iter().chain(base_measured);
    let is_exact = both.all(|one| one.known == Known::Exactly);
    let doubt = if is_exact { "" } else { "?" };
    Cell::text(format!("{published} → {shown}{doubt}"))
}

/// The document's best row (by its published figure) that is comparable with a row, of those that were measured here: its
/// published figure, and the measured one.
fn best<'t>(
    table: &'t DocumentTable,
    figure: PublishedFigure,
    row: &DocumentRow,
) -> Option<(&'t Measured, &'t Measured)> {
    let more_is_better = figure.more_is_better()?;
    let mut groups = groups(&table.rows, figure).into_iter();
    let group = groups.find(|group| group.iter().any(|one| std::ptr::eq(*one, row)))?;
    let both = group
        .into_iter()
        .filter_map(|row| Some((row.published.get(&figure)?, row.measured.get(&figure)?)));
    both.reduce(|best, next| {
        let [a, b] = [best, next].map(|(published, _)| published.value);
        let is_better = if more_is_better { b > a } else { b < a };
        if is_better { next } else { best }
    })
}
