//! Ok responses for a second of the server's CPU time, the best first: a dot for the median, a whisker for the interval.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW};
use super::throughput::bar;
use crate::{Row, Standing, Table, format, prose};
use prony_present::chart::Scale;

pub(super) fn frame(table: &Table) -> Frame {
    let highest = table
        .rows
        .iter()
        .filter_map(|row| Some(row.figures.costs.requests_per_cpu_s?.high));
    let scale = Scale::linear(highest.fold(0.0, f64::max), 5);
    let rows = table
        .by_cpu()
        .into_iter()
        .map(|row| FrameRow {
            label: row.server.id.clone(),
            value: shown(row),
            note: note(row),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!("Requests per second of server CPU time: {}", table.name()),
        description: description(table),
        above: html! {},
        tick: format::count,
        scale,
        rows,
        row_height: ROW,
    }
}

fn shown(row: &Row) -> String {
    let rate = row.figures.requests_per_cpu_s();
    rate.map_or(format::NONE.to_owned(), format::count)
}

fn note(row: &Row) -> String {
    match (row.standing, row.cpu_band) {
        (Standing::WrongResponses, _) => "wrong responses".to_owned(),
        (_, Some(band)) => format!("rank {}", prose::band(Some(band))),
        (_, None) if row.is_reference() => "reference".to_owned(),
        (_, None) => String::new(),
    }
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    html! {
        @if let Some(rate) = row.figures.costs.requests_per_cpu_s {
            @let spread = (rate.n > 1).then_some((rate.low, rate.high));
            (bar(scale, rate.median, spread, row.cpu_band.is_some()))
        }
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = table
        .by_cpu()
        .into_iter()
        .map(|row| format!("{} {} {}", row.server.id, shown(row), note(row)))
        .collect();
    format!(
        "Median and interval over rounds; user and kernel time, whole process tree: {}.",
        rows.join("; ")
    )
}
