//! A document's table as rows of text, the same for every kind of report.

use prony_model::PublishedFigure;

use super::measured::{Gathering, gathering};
use super::{DocumentRow, DocumentTable, held, shown, title, words};
use crate::format;

/// Rows of text, ready to be set.
pub(crate) struct Grid {
    /// What it shows; empty where that needs no word.
    pub caption: String,
    /// The titles of the columns behind the name.
    pub columns: Vec<String>,
    /// Whether it says which workload a row is of.
    pub has_workloads: bool,
    pub rows: Vec<GridRow>,
}

/// A row.
pub(crate) struct GridRow {
    pub name: String,
    /// The server's id.
    pub server: String,
    pub made_with: String,
    pub workload: String,
    pub in_document: bool,
    pub flags: Vec<String>,
    pub cells: Cells,
}

/// What stands behind the name.
pub(crate) enum Cells {
    /// Why there are no figures.
    Absent(&'static str),
    Figures(Vec<Cell>),
}

/// A figure, and in small letters what belongs to it.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    pub text: String,
    pub small: String,
}

impl Cell {
    /// Whether there is no figure in it.
    pub fn is_none(&self) -> bool {
        self.text == format::NONE
    }
}

/// Where the figures come from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Measured,
    Published,
}

/// The table as the document had it, with the figures that were measured here.
pub(crate) fn measured_here(table: &DocumentTable) -> Vec<Grid> {
    grids(table, Source::Measured)
}

/// The table as it was published.
pub(crate) fn as_published(table: &DocumentTable) -> Vec<Grid> {
    grids(table, Source::Published)
}

/// All columns of the measured figures in one, without the rounds.
pub(crate) fn summaries(table: &DocumentTable) -> Grid {
    summary_grid(table, Source::Measured, &table.source.columns)
}

/// Published and measured ratios side by side; `None` where no column has them.
pub(crate) fn ratios(table: &DocumentTable) -> Option<Grid> {
    let rows: Vec<&DocumentRow> = table.rows.iter().filter(|row| row.in_document).collect();
    let columns: Vec<(PublishedFigure, Vec<Cell>)> = table
        .source
        .columns
        .iter()
        .filter(|figure| figure.more_is_better().is_some())
        .map(|&figure| {
            let cells = rows.iter().map(|row| ratio_cell(table, figure, row));
            (figure, cells.collect())
        })
        .filter(|(_, cells): &(_, Vec<Cell>)| !cells.iter().all(Cell::is_none))
        .collect();
    let titles = columns
        .iter()
        .map(|(figure, _)| title(table, *figure))
        .collect();
    let set = rows.iter().enumerate().map(|(i, row)| {
        let cells = columns.iter().map(|(_, cells)| cells[i].clone());
        grid_row(row, Cells::Figures(cells.collect()))
    });
    let set: Vec<GridRow> = set.collect();
    (!columns.is_empty()).then(|| grid(table, String::new(), titles, set))
}

/// A grid for each figure that is shown round by round, and one for the rest.
fn grids(table: &DocumentTable, source: Source) -> Vec<Grid> {
    let by_round = |figure: &PublishedFigure| {
        table.source.each_round && gathering(*figure) == Gathering::Summary
    };
    let columns = table.source.columns.iter().copied();
    let (round_by_round, together): (Vec<_>, Vec<_>) = columns.partition(by_round);
    let mut grids: Vec<Grid> = round_by_round
        .iter()
        .map(|figure| round_grid(table, source, *figure))
        .collect();
    if !together.is_empty() {
        let mut rest = summary_grid(table, source, &together);
        if !grids.is_empty() {
            rest.caption = "all rounds together".to_owned();
        }
        grids.push(rest);
    }
    if source == Source::Measured {
        // What is to be known of a row is said once.
        for (row, flagged) in grids
            .iter_mut()
            .take(1)
            .flat_map(|g| &mut g.rows)
            .zip(&table.rows)
        {
            row.flags = flagged.flags.clone();
        }
    }
    grids
}

fn round_grid(table: &DocumentTable, source: Source, figure: PublishedFigure) -> Grid {
    let rounds: Vec<u32> = match source {
        Source::Measured => table.rounds.clone(),
        Source::Published => {
            let lists = table
                .rows
                .iter()
                .filter_map(|row| row.published.get(&figure));
            (1..=lists.map(Vec::len).max().unwrap_or(0) as u32).collect()
        }
    };
    let mut titles: Vec<String> = rounds
        .iter()
        .map(|round| format!("round {round}"))
        .collect();
    titles.push(words::summary(table).to_owned());
    let rows = rows(table, source, |row| {
        let mut cells: Vec<Cell> = rounds
            .iter()
            .map(|round| match of_round(row, source, figure, *round) {
                Some(value) => Cell {
                    text: shown(figure, value),
                    ..Cell::default()
                },
                None => none(),
            })
            .collect();
        cells.push(Cell {
            small: String::new(),
            ..figure_cell(table, row, source, figure)
        });
        cells
    });
    grid(table, title(table, figure), titles, rows)
}

fn summary_grid(table: &DocumentTable, source: Source, columns: &[PublishedFigure]) -> Grid {
    let titles = columns.iter().map(|figure| title(table, *figure)).collect();
    let rows = rows(table, source, |row| {
        let cells = columns
            .iter()
            .map(|figure| figure_cell(table, row, source, *figure));
        cells.collect()
    });
    grid(table, String::new(), titles, rows)
}

fn grid(table: &DocumentTable, caption: String, columns: Vec<String>, rows: Vec<GridRow>) -> Grid {
    Grid {
        caption,
        columns,
        has_workloads: table.has_workloads(),
        rows,
    }
}

/// The rows of a grid: those of the document alone where its own figures are shown.
fn rows(
    table: &DocumentTable,
    source: Source,
    cells: impl Fn(&DocumentRow) -> Vec<Cell>,
) -> Vec<GridRow> {
    let shown = table
        .rows
        .iter()
        .filter(|row| row.in_document || source == Source::Measured);
    shown
        .map(|row| {
            let cells = match (source, row.absent) {
                (Source::Measured, Some(why)) => Cells::Absent(why),
                _ => Cells::Figures(cells(row)),
            };
            let mut set = grid_row(row, cells);
            if source == Source::Published {
                // It was made with what the document says, not with what is here.
                set.made_with.clear();
            }
            set
        })
        .collect()
}

fn grid_row(row: &DocumentRow, cells: Cells) -> GridRow {
    GridRow {
        name: row.name.clone(),
        server: row.server.clone(),
        made_with: row.made_with.clone(),
        workload: row.workload.clone(),
        in_document: row.in_document,
        flags: Vec::new(),
        cells,
    }
}

fn of_round(row: &DocumentRow, source: Source, figure: PublishedFigure, round: u32) -> Option<f64> {
    match source {
        Source::Measured => {
            let mut rounds = row.measured.get(&figure)?.rounds.iter();
            rounds
                .find(|(other, _)| *other == round)
                .map(|(_, value)| *value)
        }
        Source::Published => row.published.get(&figure)?.get(round as usize - 1).copied(),
    }
}

fn figure_cell(
    table: &DocumentTable,
    row: &DocumentRow,
    source: Source,
    figure: PublishedFigure,
) -> Cell {
    match source {
        Source::Measured => row.measured.get(&figure).map_or_else(none, |measured| {
            let spread = measured
                .spread
                .filter(|_| gathering(figure) != Gathering::Sum || measured.value > 0.0)
                .map(|(low, high)| spread(figure, low, high));
            let detail = Some(measured.detail.clone()).filter(|detail| !detail.is_empty());
            let small: Vec<String> = spread.into_iter().chain(detail).collect();
            Cell {
                text: shown(figure, measured.value),
                small: small.join("; "),
            }
        }),
        Source::Published => table
            .published(row, figure)
            .map_or_else(none, |value| Cell {
                text: shown(figure, value),
                small: String::new(),
            }),
    }
}

fn spread(figure: PublishedFigure, low: f64, high: f64) -> String {
    let ends = format::interval(low, high, words::tick(figure));
    match gathering(figure) {
        Gathering::Sum => format!("{ends} a round"),
        _ => ends,
    }
}

fn none() -> Cell {
    Cell {
        text: format::NONE.to_owned(),
        ..Cell::default()
    }
}

/// `0.79 → 0.81`: published, and here. What is a share already stands as it is.
fn ratio_cell(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> Cell {
    let published = table.published(row, figure);
    let measured = row.measured.get(&figure).map(|measured| measured.value);
    if published.is_none() {
        return none();
    }
    let (published, measured, text): (_, _, fn(f64) -> String) = match gathering(figure) {
        Gathering::Share => (published, measured, format::share),
        _ => {
            let base = base(table, figure, row);
            let (best, best_here) = base.map(|base| (base.published, base.measured)).unzip();
            let ratio = |value: Option<f64>, base: Option<f64>| {
                Some(value? / base?).filter(|ratio| ratio.is_finite())
            };
            (
                ratio(published, best),
                ratio(measured, best_here),
                format::ratio,
            )
        }
    };
    if published.is_none() && measured.is_none() {
        return none();
    }
    let [published, measured] =
        [published, measured].map(|value| value.map_or(format::NONE.to_owned(), text));
    let exact = row.is_exact(figure) && base_is_exact(table, figure, row);
    let doubt = if exact { "" } else { "?" };
    Cell {
        text: format!("{published} → {measured}{doubt}"),
        ..Cell::default()
    }
}

fn base_is_exact(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> bool {
    let is_share = gathering(figure) == Gathering::Share;
    is_share || base(table, figure, row).is_none_or(|base| base.is_exact)
}

/// What ratios are taken to.
struct Base {
    published: f64,
    measured: f64,
    is_exact: bool,
}

/// The row that the document has first among those that were measured here, under the row's own
/// workload.
fn base(table: &DocumentTable, figure: PublishedFigure, row: &DocumentRow) -> Option<Base> {
    let more_is_better = figure.more_is_better()?;
    let groups = held::groups(table, figure);
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
        match (next.published > best.published) == more_is_better && differs {
            true => next,
            false => best,
        }
    })
}
