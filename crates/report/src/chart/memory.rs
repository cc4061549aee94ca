//! The most memory that each server held.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW, in_order, mark, tenth, x};
use crate::{Row, Table, format};
use prony_present::chart::Scale;

pub(super) fn frame(table: &Table) -> Frame {
    let highest = table.rows.iter().map(|row| row.figures.peak_memory_bytes);
    let scale = Scale::binary(highest.max().unwrap_or(0) as f64, 5);
    let rows = in_order(table)
        .into_iter()
        .map(|row| FrameRow {
            label: row.server.id.clone(),
            value: format::bytes(row.figures.peak_memory_bytes as f64),
            note: String::new(),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!("Peak memory of the server: {}", table.name()),
        description: description(table),
        above: html! {},
        tick: format::bytes,
        scale,
        rows,
        row_height: ROW,
    }
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    let zero = x(scale, 0.0);
    let end = x(scale, row.figures.peak_memory_bytes as f64);
    html! {
        rect class=(mark("bar", row)) x=(zero) y="-6" width=(tenth(end - zero)) height="12" rx="2" {}
        circle class=(mark("dot", row)) cx=(end) cy="0" r="4" {}
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = in_order(table)
        .into_iter()
        .map(|row| {
            let bytes = format::bytes(row.figures.peak_memory_bytes as f64);
            format!("{} {bytes}", row.server.id)
        })
        .collect();
    format!(
        "The most of any round, whole process tree: {}.",
        rows.join("; ")
    )
}
