//! The tables to show for a document's table: figures measured here, as published, and the ratios of both.

use prony_model::PublishedFigure;
use prony_present::number;
use prony_present::table::{Cell, Head, Row, Table, Tone};
use prony_present::words::{Joined, capital, non_empty};

use super::concordance;
use super::document::{DocumentRow, DocumentTable};
use super::measured::{Aggregation, aggregation};
use super::words::{self, title};

/// Where the figures come from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Measured,
    Published,
}

/// The document's table with the figures measured here.
pub fn measured_here(table: &DocumentTable) -> Vec<Table> {
    let mut tables = tables(table, Source::Measured);
    // Of several tables, only the first shows the flags.
    for row in tables.iter_mut().skip(1).flat_map(|table| &mut table.rows) {
        row.flags.clear();
    }
    tables
}

/// The document's table as published.
pub fn as_published(table: &DocumentTable) -> Vec<Table> {
    tables(table, Source::Published)
}

/// The measured figures in one table: every column's summary, without the single rounds.
pub fn summaries(table: &DocumentTable) -> Table {
    summary(table, Source::Measured, &table.source.columns)
}

/// Published and measured ratios side by side; `None` if no column has them.
pub fn ratios(table: &DocumentTable) -> Option<Table> {
    let has_ratio = |figure: &&PublishedFigure| {
        let mut rows = table.rows.iter().filter(|row| row.in_document);
        figure.more_is_better().is_some()
            && rows.any(|row| !ratio_cell(table, **figure, row).is_empty())
    };
    let figures = table.source.columns.iter().filter(has_ratio);
    let figures = Vec::from_iter(figures.copied());
    let set = of_figures(table, Source::Published, &figures, ratio_cell);
    (!figures.is_empty()).then(|| set.caption("Ratios: published → measured here"))
}

/// A table for each figure whose rounds are shown, and one for the rest.
fn tables(table: &DocumentTable, source: Source) -> Vec<Table> {
    let by_round = |figure: &PublishedFigure| {
        table.source.each_round && aggregation(*figure) == Aggregation::Summary
    };
    let columns = table.source.columns.iter().copied();
    let (round_by_round, together): (Vec<_>, Vec<_>) = columns.partition(by_round);
    let mut tables: Vec<Table> = round_by_round
        .iter()
        .map(|figure| rounds(table, source, *figure))
        .collect();
    if !together.is_empty() {
        let mut rest = summary(table, source, &together);
        if !tables.is_empty() {
            rest.caption = "All rounds together".to_owned();
        }
        tables.push(rest);
    }
    tables
}

fn rounds(table: &DocumentTable, source: Source, figure: PublishedFigure) -> Table {
    let rounds: Vec<u32> = match source {
        Source::Measured => table.rounds.clone(),
        Source::Published => {
            let lists = table.rows.iter();
            let lists = lists.filter_map(|row| row.published.get(&figure));
            (1..=lists.map(Vec::len).max().unwrap_or(0) as u32).collect()
        }
    };
    let titles = rounds.iter().map(|round| format!("round {round}"));
    let titles = titles.chain([words::summary(table).to_owned()]);
    let set = set(table, source, titles, |row| {
        let of_rounds = rounds.iter().map(|round| {
            let value = of_round(row, source, figure, *round);
            Cell::optional(value, words::tick(figure))
        });
        let together = figure_cell(table, source, figure, row).with(None);
        of_rounds.chain([together]).collect()
    });
    set.caption(capital(&title(table, figure)))
}

fn summary(table: &DocumentTable, source: Source, columns: &[PublishedFigure]) -> Table {
    of_figures(table, source, columns, |table, figure, row| {
        figure_cell(table, source, figure, row)
    })
}

/// A table with a column for each figure.
fn of_figures(
    table: &DocumentTable,
    source: Source,
    figures: &[PublishedFigure],
    cell: impl Fn(&DocumentTable, PublishedFigure, &DocumentRow) -> Cell,
) -> Table {
    let titles = figures.iter().map(|figure| title(table, *figure));
    set(table, source, titles, |row| {
        let cells = figures.iter().map(|figure| cell(table, *figure, row));
        cells.collect()
    })
}

/// A table with these columns of figures. With published figures it has only the document's own rows.
fn set(
    table: &DocumentTable,
    source: Source,
    titles: impl Iterator<Item = String>,
    cells: impl Fn(&DocumentRow) -> Vec<Cell>,
) -> Table {
    let mut system = Head::words("system");
    system.detail = Some(("server here", 1));
    let workload = table.has_workloads().then(|| Head::words("workload"));
    let heads = std::iter::once(system)
        .chain(workload)
        .chain(titles.map(Head::figure));
    let is_measured = source == Source::Measured;
    let shown = table.rows.iter();
    let shown = shown.filter(|row| row.in_document || is_measured);
    let mut above: Option<&DocumentRow> = None;
    let rows = shown.map(|row| {
        let begins_group = above.is_some_and(|above| {
            above.in_document != row.in_document
                || (table.has_workloads() && above.name != row.name)
        });
        above = Some(row);
        let absent = row.absent.filter(|_| is_measured);
        let lead = std::iter::once(name(row, source))
            .chain(table.has_workloads().then(|| Cell::text(&row.workload)));
        let figures = if absent.is_none() {
            cells(row)
        } else {
            Vec::new()
        };
        let tone = if row.in_document {
            Tone::Plain
        } else {
            Tone::Aside
        };
        let flags = is_measured.then(|| row.flags.clone());
        Row {
            flags: flags.unwrap_or_default(),
            ..Row::of(lead.chain(figures))
                .tone(tone)
                .begins_group(begins_group)
                .absent(absent.map(|why| format!("not measured: {why}")))
        }
    });
    Table::with(heads, rows).whole()
}

/// The document's name for the system and, below it, the server that represents it here: with its language and
/// framework beside measured figures.
fn name(row: &DocumentRow, source: Source) -> Cell {
    let here = match (source, row.in_document, row.made_with.as_str()) {
        (Source::Published, ..) | (_, true, "") => row.server.clone(),
        (_, true, made_with) => format!("{}, {made_with}", row.server),
        (_, false, _) => "not in the document".to_owned(),
    };
    Cell::text(&row.name).with(Some(here))
}

fn of_round(row: &DocumentRow, source: Source, figure: PublishedFigure, round: u32) -> Option<f64> {
    match source {
        Source::Measured => {
            let mut rounds = row.measured.get(&figure)?.rounds.iter();
            Some(rounds.find(|(other, _)| *other == round)?.1)
        }
        Source::Published => row.published.get(&figure)?.get(round as usize - 1).copied(),
    }
}

fn figure_cell(
    table: &DocumentTable,
    source: Source,
    figure: PublishedFigure,
    row: &DocumentRow,
) -> Cell {
    if source == Source::Published {
        return Cell::optional(table.published(row, figure), words::tick(figure));
    }
    let Some(measured) = row.measured.get(&figure) else {
        return Cell::default();
    };
    let is_sum = aggregation(figure) == Aggregation::Sum;
    let spread = measured.spread.filter(|_| !is_sum || measured.value > 0.0);
    let spread = spread.map(|(low, high)| {
        let ends = number::interval(low, high, words::tick(figure));
        if is_sum {
            format!("{ends} a round")
        } else {
            ends
        }
    });
    let details = spread.into_iter().chain(non_empty(measured.detail.clone()));
    Cell::text(words::tick(figure)(measured.value)).with(Some(details.joined("; ")))
}

/// `0.79 → 0.81`: the published ratio to the best row, then the measured one; `?` marks one that is not exact. A figure
/// that already is a share is shown as it is.
fn ratio_cell(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> Cell {
    let Some(published) = table.published(row, figure) else {
        return Cell::default();
    };
    let measured = row.measured.get(&figure).map(|measured| measured.value);
    let (published, measured, text): (_, _, fn(f64) -> String) = match aggregation(figure) {
        Aggregation::Share => (Some(published), measured, number::share),
        _ => {
            let base = base(table, figure, row);
            let ratio = |value: Option<f64>, of: fn(&Base) -> f64| {
                Some(value? / of(base.as_ref()?)).filter(|ratio| ratio.is_finite())
            };
            let published = ratio(Some(published), |base| base.published);
            let measured = ratio(measured, |base| base.measured);
            (published, measured, number::ratio)
        }
    };
    if published.is_none() && measured.is_none() {
        return Cell::default();
    }
    let [published, measured] =
        [published, measured].map(|value| value.map_or(number::NONE.to_owned(), text));
    let exact = row.is_exact(figure) && base_is_exact(table, figure, row);
    let doubt = if exact { "" } else { "?" };
    Cell::text(format!("{published} → {measured}{doubt}"))
}

fn base_is_exact(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> bool {
    let is_share = aggregation(figure) == Aggregation::Share;
    is_share || base(table, figure, row).is_none_or(|base| base.is_exact)
}

/// The row that ratios refer to.
struct Base {
    published: f64,
    measured: f64,
    is_exact: bool,
}

/// The best row of the document (by its published figure) on the same workload, of those that were measured here.
fn base(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> Option<Base> {
    let more_is_better = figure.more_is_better()?;
    let groups = concordance::groups(table, figure);
    let (_, group) = groups
        .iter()
        .find(|(workload, _)| workload.is_none_or(|workload| workload == row.workload))?;
    let both = group.iter().filter_map(|row| {
        Some(Base {
            published: table.published(row, figure)?,
            measured: row.measured.get(&figure)?.value,
            is_exact: row.is_exact(figure),
        })
    });
    both.reduce(|best, next| {
        let differs = next.published != best.published;
        if (next.published > best.published) == more_is_better && differs {
            next
        } else {
            best
        }
    })
}
