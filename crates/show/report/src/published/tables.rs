//! The tables to show for a document's table: figures measured here, as published, and the ratios of both.

use std::collections::BTreeSet;

use prony_model::PublishedFigure;
use prony_present::number;
use prony_present::table::{Cell, Head, Row, Table, Tone};
use prony_present::words::capital;
use prony_stats::Known;

use super::document::{DocumentRow, DocumentTable, RowFigures};
use super::measured::{Aggregation, Measured, about};
use super::words::{summary, title};

/// Which of a row's two runs a table shows.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Measured,
    Published,
}

/// The document's table with the figures measured here.
pub fn measured_here(table: &DocumentTable) -> Vec<Table> {
    let mut tables = tables(table, Side::Measured);
    // Of several tables, only the first shows the flags.
    for row in tables.iter_mut().skip(1).flat_map(|table| &mut table.rows) {
        row.flags.clear();
    }
    tables
}

/// The document's table as published.
pub fn as_published(table: &DocumentTable) -> Vec<Table> {
    tables(table, Side::Published)
}

/// The measured figures in one table: every column's summary, without the single rounds.
pub fn summaries(table: &DocumentTable) -> Table {
    together(table, Side::Measured, &table.source.columns)
}

/// Published and measured ratios side by side; `None` if no column has them.
pub fn ratios(table: &DocumentTable) -> Option<Table> {
    let has_ratio = |figure: &&PublishedFigure| {
        let mut rows = table.rows.iter().filter(|row| row.in_document);
        figure.more_is_better().is_some()
            && rows.any(|row| !ratio_cell(table, **figure, row).is_empty())
    };
    let columns: Vec<_> = table.source.columns.iter().filter(has_ratio).collect();
    let titles = columns.iter().map(|figure| title(table, **figure));
    let caption = "Ratios: published → measured here".to_owned();
    let cells = |row: &DocumentRow| {
        let cells = columns
            .iter()
            .map(|figure| ratio_cell(table, **figure, row));
        cells.collect()
    };
    let shown = shown(table, Side::Published, caption, titles, cells);
    (!columns.is_empty()).then_some(shown)
}

/// A table for each figure whose rounds are shown, and one for the rest.
fn tables(table: &DocumentTable, side: Side) -> Vec<Table> {
    let by_round = |figure: &PublishedFigure| {
        table.source.each_round && about(*figure).aggregation == Aggregation::Summary
    };
    let (round_by_round, rest): (Vec<&PublishedFigure>, Vec<_>) =
        table.source.columns.iter().partition(|it| by_round(it));
    let mut tables: Vec<Table> = round_by_round
        .into_iter()
        .map(|figure| rounds(table, side, *figure))
        .collect();
    if !rest.is_empty() {
        let mut rest = together(table, side, rest);
        if !tables.is_empty() {
            rest.caption = "All rounds together".to_owned();
        }
        tables.push(rest);
    }
    tables
}

fn rounds(table: &DocumentTable, side: Side, figure: PublishedFigure) -> Table {
    let of_rows = table
        .rows
        .iter()
        .filter_map(|row| row.figures(side).get(&figure));
    let rounds: BTreeSet<u32> = of_rows.flat_map(|it| it.rounds.keys().copied()).collect();
    let titles = rounds.iter().map(|round| format!("round {round}"));
    let titles = titles.chain([summary(table).to_owned()]);
    let caption = capital(&title(table, figure));
    shown(table, side, caption, titles, |row| {
        let measured = row.figures(side).get(&figure);
        let of_round = |round| Some(*measured?.rounds.get(round)?);
        let all = measured.map(|measured| measured.value);
        let values = rounds.iter().map(of_round).chain([all]);
        values
            .map(|value| Cell::optional(value, about(figure).shown))
            .collect()
    })
}

fn together<'t>(
    table: &'t DocumentTable,
    side: Side,
    columns: impl IntoIterator<Item = &'t PublishedFigure>,
) -> Table {
    let columns: Vec<_> = columns.into_iter().collect();
    let titles = columns.iter().map(|figure| title(table, **figure));
    shown(table, side, String::new(), titles, |row| {
        let figures = row.figures(side);
        columns
            .iter()
            .map(|figure| {
                let measured = figures.get(figure);
                measured.map_or_else(Cell::default, |it| figure_cell(**figure, it))
            })
            .collect()
    })
}

/// A table with these columns of figures. With published figures it has only the document's own rows.
fn shown(
    table: &DocumentTable,
    side: Side,
    caption: String,
    titles: impl Iterator<Item = String>,
    cells: impl Fn(&DocumentRow) -> Vec<Cell>,
) -> Table {
    let has_workloads = table.has_workloads();
    let mut system = Head::words("system");
    system.detail = Some(("server here", 1));
    let workload = has_workloads.then(|| Head::words("workload"));
    let heads = std::iter::once(system).chain(workload);
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
        let figures = if absent.is_some() {
            Vec::new()
        } else {
            cells(row)
        };
        Row {
            tone: if row.in_document {
                Tone::Plain
            } else {
                Tone::Aside
            },
            begins_group,
            flags: if is_measured {
                row.flags.clone()
            } else {
                Vec::new()
            },
            cells: std::iter::once(name(row, side))
                .chain(workload)
                .chain(figures)
                .collect(),
            absent: absent.map(|why| format!("not measured: {why}")),
            ..Row::default()
        }
    });
    Table {
        caption,
        is_whole: true,
        ..Table::with(heads.chain(titles.map(Head::figure)), rows)
    }
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

fn figure_cell(figure: PublishedFigure, measured: &Measured) -> Cell {
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
    let detail = Some(measured.detail.clone()).filter(|detail| !detail.is_empty());
    let details: Vec<String> = spread.into_iter().chain(detail).collect();
    Cell::text((about.shown)(measured.value)).with(Some(details.join("; ")))
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
    let mut groups = table.groups(figure).into_iter();
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
