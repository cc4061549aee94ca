//! Latency percentiles on a logarithmic axis, a dot each.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW, in_order, x};
use crate::{Percentile, Row, Table, format, prose};
use prony_present::chart::Scale;

pub(super) fn frame(table: &Table) -> Frame {
    let values = table.rows.iter().flat_map(percentiles);
    let scale = Scale::log(values.map(|(_, value)| value));
    let rows = in_order(table)
        .into_iter()
        .map(|row| FrameRow {
            label: row.server.id.clone(),
            value: shown(row, Percentile::P50),
            note: format!("p99 {}", shown(row, Percentile::P99)),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!(
            "Latency, {}: {}",
            prose::latency_of(&table.load),
            table.name()
        ),
        description: description(table),
        above: legend(),
        tick: format::duration,
        scale,
        rows,
        row_height: ROW,
    }
}

fn percentiles(row: &Row) -> Vec<(Percentile, f64)> {
    Percentile::ALL
        .into_iter()
        .filter_map(|percentile| Some((percentile, row.figures.percentile(percentile)?)))
        .collect()
}

fn shown(row: &Row, percentile: Percentile) -> String {
    row.figures
        .percentile(percentile)
        .map_or(format::NONE.to_owned(), format::duration)
}

/// The class of a percentile's dot.
fn class(percentile: Percentile) -> &'static str {
    match percentile {
        Percentile::P50 => "p50",
        Percentile::P90 => "p90",
        Percentile::P99 => "p99",
        Percentile::P999 => "p999",
    }
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    let points = percentiles(row);
    html! {
        @if let (Some((_, first)), Some((_, last))) = (points.first(), points.last()) {
            line class="span" x1=(x(scale, *first)) x2=(x(scale, *last)) y1="0" y2="0" {}
        }
        @for (percentile, value) in points.iter().rev() {
            circle class=(class(*percentile)) cx=(x(scale, *value)) cy="0" r="4.5" {}
        }
    }
}

fn legend() -> Markup {
    html! {
        @for (i, percentile) in Percentile::ALL.into_iter().enumerate() {
            @let left = 158.0 + 62.0 * i as f64;
            circle class=(class(percentile)) cx=(left) cy="10" r="4.5" {}
            text class="tick" x=(left + 9.0) y="14" { (percentile.name()) }
        }
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = in_order(table)
        .into_iter()
        .map(|row| {
            let points: Vec<String> = percentiles(row)
                .into_iter()
                .map(|(percentile, value)| {
                    format!("{} {}", percentile.name(), format::duration(value))
                })
                .collect();
            format!("{} {}", row.server.id, points.join(", "))
        })
        .collect();
    format!(
        "Logarithmic axis; histograms of all rounds merged, under {}: {}.",
        prose::load(&table.load),
        rows.join("; ")
    )
}
