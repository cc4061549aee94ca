//! Ok responses a second: a dot for the median, a whisker for the interval, the ceiling as a line.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW, ceiling_line, grey_unless, in_order, rows_end, tenth, x};
use crate::{Row, Standing, Table, format, prose};
use prony_present::chart::Scale;

pub(super) fn frame(table: &Table) -> Frame {
    let highest = table.rows.iter().map(|row| row.figures.rate.high);
    let scale = Scale::linear(highest.fold(0.0, f64::max), 5);
    let rows: Vec<FrameRow> = in_order(table)
        .into_iter()
        .map(|row| FrameRow {
            label: row.server.id.clone(),
            value: format::count(row.figures.rate.median),
            note: note(row),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!("Requests per second: {}", table.name()),
        description: description(table),
        above: ceiling(table, &scale, rows.len()),
        tick: format::count,
        scale,
        rows,
        row_height: ROW,
    }
}

fn note(row: &Row) -> String {
    match row.standing {
        Standing::Ranked(_) => prose::plus_minus(&row.figures.rate),
        Standing::Offered => String::new(),
        Standing::Reference => "reference".to_owned(),
        Standing::AtLeast(_) => {
            let bound = row.bounds.iter().find(|bound| bound.binds());
            bound.map_or(String::new(), |bound| bound.name().to_owned())
        }
        Standing::WrongResponses => "wrong responses".to_owned(),
    }
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    let rate = &row.figures.rate;
    let spread = (rate.n > 1).then_some((rate.low, rate.high));
    bar(scale, rate.median, spread, row.is_sound())
}

/// A bar to the figure with a dot at its end, and a whisker as far as it spreads.
pub(super) fn bar(scale: &Scale, value: f64, spread: Option<(f64, f64)>, counts: bool) -> Markup {
    let class = |base| grey_unless(counts, base);
    let (zero, end) = (x(scale, 0.0), x(scale, value));
    html! {
        rect class=(class("bar")) x=(zero) y="-6" width=(tenth(end - zero)) height="12" rx="2" {}
        @if let Some((low, high)) = spread.map(|(low, high)| (x(scale, low), x(scale, high))) {
            line class=(class("whisker")) x1=(low) x2=(high) y1="0" y2="0" {}
            line class=(class("whisker")) x1=(low) x2=(low) y1="-4" y2="4" {}
            line class=(class("whisker")) x1=(high) x2=(high) y1="-4" y2="4" {}
        }
        circle class=(class("dot")) cx=(end) cy="0" r="4" {}
    }
}

fn ceiling(table: &Table, scale: &Scale, rows: usize) -> Markup {
    html! {
        @if let Some(row) = table.ceiling() {
            (ceiling_line(x(scale, row.figures.rate.median), &row.server.id, rows_end(rows, ROW)))
        }
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = in_order(table)
        .into_iter()
        .map(|row| {
            let rate = &row.figures.rate;
            let interval = format::count_interval(rate.low, rate.high);
            format!(
                "{} {} ({interval})",
                row.server.id,
                format::rate(rate.median)
            )
        })
        .collect();
    format!(
        "Median and interval over rounds, under {}: {}.",
        prose::load(&table.load),
        rows.join("; ")
    )
}
