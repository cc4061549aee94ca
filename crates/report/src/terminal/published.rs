//! A document's table in a terminal: its rows with the figures measured here, and what held.

use super::text::{Paint, cut, wrapped};
use crate::published::{self, Cells, Grid, GridRow};
use crate::{Document, DocumentTable, prose};

const GAP: usize = 2;
/// A name and a figure of so many letters fit into the narrowest line.
const LETTERS: usize = 18;

pub(super) fn lines(
    document: &Document,
    table: &DocumentTable,
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let grid = published::summaries(table);
    let mut lines: Vec<String> = wrapped(&table.source.title, width)
        .iter()
        .map(|text| paint.bold(text))
        .collect();
    let load = format!(
        "From: {}. Measured here: {}",
        document.name,
        prose::load_in_rounds(&table.source.load, table.rounds.len())
    );
    lines.extend(wrapped(&load, width).iter().map(|text| paint.dim(text)));
    lines.extend(blocks(&grid, width, paint));
    lines.extend(flags(table, width, paint));
    if let Some(overall) = published::overall(table) {
        lines.extend(wrapped(&overall, width));
        for sentence in published::sentences(table) {
            let indented = wrapped(&sentence, width - 2);
            lines.extend(indented.iter().map(|text| format!("  {text}")));
        }
    }
    lines
}

/// The grid, in as many blocks beneath each other as its columns need; each has the names.
fn blocks(grid: &Grid, width: usize, paint: Paint) -> Vec<String> {
    let names = leads(grid, width);
    let name_width = widest(&names);
    let columns: Vec<Vec<String>> = (0..grid.columns.len())
        .map(|i| column(grid, i, width))
        .collect();
    let mut lines = Vec::new();
    let mut next = 0;
    while next < columns.len() {
        let first = next;
        let mut used = name_width;
        while next < columns.len() {
            let wide = GAP + widest(&columns[next]);
            if next > first && used + wide > width {
                break;
            }
            used += wide;
            next += 1;
        }
        lines.extend(block(grid, &names, &columns[first..next], width, paint));
    }
    lines
}

fn block(
    grid: &Grid,
    names: &[String],
    columns: &[Vec<String>],
    width: usize,
    paint: Paint,
) -> Vec<String> {
    let name_width = widest(names);
    let figures = |line: usize| -> String {
        let cells = columns.iter().map(|column| {
            let wide = GAP + widest(column);
            format!("{:>wide$}", column[line])
        });
        cells.collect()
    };
    let mut lines = vec![paint.dim(&format!("{:name_width$}{}", "", figures(0)))];
    for (i, (row, name)) in grid.rows.iter().zip(names).enumerate() {
        if !row.in_document && (i == 0 || grid.rows[i - 1].in_document) {
            lines.push(paint.dim(&cut("╌╌ not in the document", name_width.max(22))));
        }
        let text = match &row.cells {
            Cells::Absent(why) => cut(&format!("{name:name_width$}  {why}"), width),
            Cells::Figures(_) => format!("{name:name_width$}{}", figures(i + 1)),
        };
        lines.push(
            match row.in_document && matches!(row.cells, Cells::Figures(_)) {
                true => text,
                false => paint.dim(&text),
            },
        );
    }
    lines
}

/// How long a title or a name may be.
fn letters(width: usize) -> usize {
    LETTERS.max(width / 4)
}

/// The title of a column and its cells.
fn column(grid: &Grid, i: usize, width: usize) -> Vec<String> {
    let cells = grid.rows.iter().map(|row| match &row.cells {
        Cells::Figures(cells) => cells[i].text.clone(),
        Cells::Absent(_) => String::new(),
    });
    std::iter::once(cut(&grid.columns[i], letters(width)))
        .chain(cells)
        .collect()
}

fn widest(column: &[String]) -> usize {
    column
        .iter()
        .map(|cell| cell.chars().count())
        .max()
        .unwrap_or(0)
}

/// What a row is called: with its server where there is room for that and all figures.
fn leads(grid: &Grid, width: usize) -> Vec<String> {
    let figures: usize = (0..grid.columns.len())
        .map(|i| GAP + widest(&column(grid, i, width)))
        .sum();
    let full: Vec<String> = grid.rows.iter().map(|row| lead(grid, row, true)).collect();
    match widest(&full) + figures <= width {
        true => full,
        false => grid
            .rows
            .iter()
            .map(|row| cut(&lead(grid, row, false), letters(width)))
            .collect(),
    }
}

fn lead(grid: &Grid, row: &GridRow, with_server: bool) -> String {
    let workload = match grid.has_workloads {
        true => format!(" {}", row.workload),
        false => String::new(),
    };
    let server = match with_server && row.in_document {
        true => format!(" ({})", row.server),
        false => String::new(),
    };
    cut(&format!("{}{workload}{server}", row.name), usize::MAX)
}

fn flags(table: &DocumentTable, width: usize, paint: Paint) -> Vec<String> {
    let flagged = table.rows.iter().filter(|row| !row.flags.is_empty());
    flagged
        .flat_map(|row| {
            let place = match table.has_workloads() {
                true => format!(" on {}", row.workload),
                false => String::new(),
            };
            let text = format!("{}{place}: {}", row.name, row.flags.join(", "));
            wrapped(&text, width - 2)
        })
        .map(|text| paint.warn(&format!("↳ {text}")))
        .collect()
}
