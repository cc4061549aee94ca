//! The document's tables, filled with what was measured here, and what held of them.

use maud::{Markup, html};

use crate::published::{self, Cell, Cells, Grid, GridRow};
use crate::{Document, DocumentTable, chart, prose};

/// The place of a document's table in the page.
pub(super) fn anchor(table: &DocumentTable) -> String {
    format!("published-{}", table.number)
}

pub(super) fn section(document: &Document, table: &DocumentTable) -> Markup {
    html! {
        section id=(anchor(table)) {
            p class="kicker" { "A table of: " (document.name) }
            h2 { (table.source.title) }
            p class="lead" { "Measured here: " (prose::load_in_rounds(&table.source.load, table.rounds.len())) }
            div class={ @if table.source.each_round { "grids" } } {
                @for grid in published::measured_here(table) { (set(&grid)) }
            }
            p class="caption" { (published::how(table).join(" ")) }
            @for note in &table.source.notes { p class="caption" { (note) } }
            (charts(table))
            (held(table))
            (as_published(document, table))
        }
    }
}

fn charts(table: &DocumentTable) -> Markup {
    let figures: Vec<_> = chart::document_charts(table).collect();
    html! {
        @if !figures.is_empty() {
            div class="charts" {
                @for figure in figures {
                    figure {
                        (chart::document_inline(table, figure, &format!("{}-{}", anchor(table), figure.name())))
                    }
                }
            }
        }
    }
}

fn held(table: &DocumentTable) -> Markup {
    html! {
        @if let Some(overall) = published::overall(table) {
            h3 { "What held" }
            p { (overall) }
            ul class="held" { @for sentence in published::sentences(table) { li { (sentence) } } }
        }
        @if let Some(grid) = published::ratios(table) {
            (set(&grid))
            p class="caption" { (prose::RATIOS) }
        }
    }
}

fn as_published(document: &Document, table: &DocumentTable) -> Markup {
    html! {
        details {
            summary { "As published, on another machine" }
            dl class="conditions" {
                dt { "Document" } dd { (document.name) }
                dt { "Machine" } dd { (document.machine) }
                dt { "Method" } dd { (document.method) }
            }
            div class={ @if table.source.each_round { "grids" } } {
                @for grid in published::as_published(table) { (set(&grid)) }
            }
        }
    }
}

fn set(grid: &Grid) -> Markup {
    html! {
        div class="scroll" tabindex="0" {
            table class="document" {
                thead { tr {
                    th scope="col" class="text" {
                        @if grid.caption.is_empty() { "system" } @else { strong { (grid.caption) } }
                    }
                    @if grid.has_workloads { th scope="col" class="text" { "workload" } }
                    @for column in &grid.columns { th scope="col" { (column) } }
                } }
                tbody {
                    @for (i, row) in grid.rows.iter().enumerate() {
                        tr class=(classes(grid, i)) { (line(grid, row)) }
                    }
                }
            }
        }
    }
}

/// A line above what the document does not have, and above each system that has several rows.
fn classes(grid: &Grid, i: usize) -> String {
    let row = &grid.rows[i];
    let begins = i > 0 && {
        let above = &grid.rows[i - 1];
        above.in_document != row.in_document || (grid.has_workloads && above.name != row.name)
    };
    let classes = [(begins, "band"), (!row.in_document, "unranked")];
    let classes: Vec<&str> = classes
        .iter()
        .filter(|class| class.0)
        .map(|class| class.1)
        .collect();
    classes.join(" ")
}

fn line(grid: &Grid, row: &GridRow) -> Markup {
    html! {
        th scope="row" {
            (row.name)
            small { (made_with(row)) }
            @for flag in &row.flags { span class="tag warn" { (flag) } " " }
        }
        @if grid.has_workloads { td class="text" { (row.workload) } }
        @match &row.cells {
            Cells::Absent(why) => td class="none text" colspan=(grid.columns.len()) { "not measured: " (why) },
            Cells::Figures(cells) => @for cell in cells { (figure(cell)) },
        }
    }
}

/// What stands for the document's system here.
fn made_with(row: &GridRow) -> String {
    let made_with = &row.made_with;
    match (row.in_document, made_with.is_empty()) {
        (true, true) => format!("here: {}", row.server),
        (true, false) => format!("{} · {made_with}", row.server),
        (false, true) => "not in the document".to_owned(),
        (false, false) => format!("not in the document · {made_with}"),
    }
}

fn figure(cell: &Cell) -> Markup {
    html! {
        @match cell.is_none() {
            true => td class="none" { (cell.text) },
            false => td { (cell.text) @if !cell.small.is_empty() { small { (cell.small) } } },
        }
    }
}
