//! What an answer costs the server in CPU time, on a logarithmic axis.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW, in_order, mark, x};
use super::scale::Scale;
use crate::{Row, Table, format};

pub(super) fn frame(table: &Table) -> Frame {
    let costs = table
        .rows
        .iter()
        .filter_map(|row| row.figures.cpu_ns_per_request);
    let scale = Scale::log(costs.flat_map(|cost| [cost.low, cost.high]));
    let rows = in_order(table)
        .into_iter()
        .map(|row| FrameRow {
            label: row.subject.id.clone(),
            value: shown(row),
            note: row
                .figures
                .requests_per_cpu_s()
                .map_or(String::new(), |rate| {
                    format!("{}/CPU s", format::count(rate))
                }),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!("Server CPU time per request: {}", table.name()),
        description: description(table),
        above: html! {},
        tick: format::duration,
        scale,
        rows,
        row_height: ROW,
    }
}

fn shown(row: &Row) -> String {
    let cost = row.figures.cpu_ns_per_request;
    cost.map_or(format::NONE.to_owned(), |cost| {
        format::duration(cost.median)
    })
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    html! {
        @if let Some(cost) = row.figures.cpu_ns_per_request {
            line class=(mark("whisker", row)) x1=(x(scale, cost.low)) x2=(x(scale, cost.high)) y1="0" y2="0" {}
            circle class=(mark("dot", row)) cx=(x(scale, cost.median)) cy="0" r="4" {}
        }
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = in_order(table)
        .into_iter()
        .map(|row| format!("{} {}", row.subject.id, shown(row)))
        .collect();
    format!(
        "Logarithmic axis; user and kernel time, whole process tree: {}.",
        rows.join("; ")
    )
}
