//! The document's tables, filled with what was measured here, and what held of them.

use super::text::{cells, escaped, push};
use crate::published::{self, Cell, Cells, Grid, GridRow};
use crate::{Document, DocumentTable, chart, prose};

pub(super) fn document(document: &Document) -> String {
    let tables = document.tables.iter();
    tables.map(|table| section(document, table)).collect()
}

fn section(document: &Document, table: &DocumentTable) -> String {
    let mut text = format!(
        "## {}\n\nA table of: {}. Measured here: {}.\n\n",
        escaped(&table.source.title),
        escaped(&document.name),
        prose::load_in_rounds(&table.source.load, table.rounds.len())
    );
    for grid in published::measured_here(table) {
        text.push_str(&set(&grid));
    }
    push(
        &mut text,
        &format!("{}\n", escaped(&published::how(table).join(" "))),
    );
    for note in &table.source.notes {
        push(&mut text, &format!("{}\n", escaped(note)));
    }
    for figure in chart::document_charts(table) {
        let title = escaped(&published::title_of_chart(table, figure));
        let file = chart::document_file(table, figure);
        push(&mut text, &format!("![{title}](charts/{file})\n"));
    }
    text.push_str(&held(table));
    text.push_str(&as_published(document, table));
    text
}

fn held(table: &DocumentTable) -> String {
    let mut text = String::new();
    if let Some(overall) = published::overall(table) {
        push(&mut text, &format!("### What held\n\n{overall}\n"));
        for sentence in published::sentences(table) {
            push(&mut text, &format!("- {}", escaped(&sentence)));
        }
        text.push('\n');
    }
    if let Some(grid) = published::ratios(table) {
        text.push_str(&set(&grid));
        push(&mut text, &format!("{}\n", prose::RATIOS));
    }
    text
}

fn as_published(document: &Document, table: &DocumentTable) -> String {
    let mut text = format!(
        "<details>\n<summary>As published, on another machine</summary>\n\n{}\n\nMachine: {}. Method: {}.\n\n",
        escaped(&document.name),
        escaped(document.machine.trim_end_matches('.')),
        escaped(document.method.trim_end_matches('.')),
    );
    for grid in published::as_published(table) {
        text.push_str(&set(&grid));
    }
    text + "</details>\n\n"
}

fn set(grid: &Grid) -> String {
    let mut text = match grid.caption.as_str() {
        "" => String::new(),
        caption => format!("**{}**\n\n", escaped(caption)),
    };
    let flagged = grid.rows.iter().any(|row| !row.flags.is_empty());
    let workload = grid.has_workloads.then_some("workload");
    let head = ["system", "server here"].into_iter().chain(workload);
    let words: Vec<String> = head.map(str::to_owned).collect();
    let figures = grid.columns.iter().map(|column| escaped(column));
    let flags = flagged.then(|| "flags".to_owned());
    text.push_str(&cells(words.iter().cloned().chain(figures).chain(flags)));
    let rules = words
        .iter()
        .map(|_| "---")
        .chain(grid.columns.iter().map(|_| "---:"));
    let rules = rules.chain(flagged.then_some("---"));
    text.push_str(&cells(rules.map(str::to_owned)));
    for row in &grid.rows {
        text.push_str(&line(grid, row, flagged));
    }
    text + "\n"
}

fn line(grid: &Grid, row: &GridRow, flagged: bool) -> String {
    let name = match row.in_document {
        true => escaped(&row.name),
        false => "(not in the document)".to_owned(),
    };
    let workload = grid.has_workloads.then(|| escaped(&row.workload));
    let figures: Vec<String> = match &row.cells {
        Cells::Figures(cells) => cells.iter().map(figure).collect(),
        Cells::Absent(why) => {
            let rest = grid.columns.iter().skip(1).map(|_| String::new());
            std::iter::once(format!("not measured: {why}"))
                .chain(rest)
                .collect()
        }
    };
    let flags = flagged.then(|| escaped(&row.flags.join(", ")));
    cells(
        [name, escaped(&row.server)]
            .into_iter()
            .chain(workload)
            .chain(figures)
            .chain(flags),
    )
}

fn figure(cell: &Cell) -> String {
    match cell.small.as_str() {
        "" => escaped(&cell.text),
        small => escaped(&format!("{} ({small})", cell.text)),
    }
}
