//! Ok answers a second: a dot for the median, a whisker for the interval, the ceiling as a line.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROWS_TOP, by_rate, mark, x};
use super::scale::Scale;
use crate::{Row, Standing, Table, format, prose};

pub(super) fn frame(table: &Table) -> Frame {
    let highest = table.rows.iter().map(|row| row.figures.rate.high);
    let scale = Scale::linear(highest.fold(0.0, f64::max), 5);
    let rows: Vec<FrameRow> = by_rate(&table.rows)
        .into_iter()
        .map(|row| FrameRow {
            label: row.subject.id.clone(),
            value: format::count(row.figures.rate.median),
            note: note(row),
            marks: marks(row, &scale),
        })
        .collect();
    Frame {
        title: format!("Requests per second: {}", table.workload),
        description: description(table),
        above: ceiling(table, &scale, rows.len()),
        tick: format::count,
        scale,
        rows,
    }
}

fn note(row: &Row) -> String {
    match row.standing {
        Standing::Ranked(_) => prose::plus_minus(&row.figures.rate),
        Standing::Reference => "reference".to_owned(),
        Standing::ClientLimited => "client-limited".to_owned(),
        Standing::WrongAnswers => "wrong answers".to_owned(),
    }
}

fn marks(row: &Row, scale: &Scale) -> Markup {
    let rate = &row.figures.rate;
    let (zero, median) = (x(scale, 0.0), x(scale, rate.median));
    let (low, high) = (x(scale, rate.low), x(scale, rate.high));
    html! {
        rect class=(mark("bar", row)) x=(zero) y="-6" width=(((median - zero) * 10.0).round() / 10.0) height="12" rx="2" {}
        @if rate.n > 1 {
            line class=(mark("whisker", row)) x1=(low) x2=(high) y1="0" y2="0" {}
            line class=(mark("whisker", row)) x1=(low) x2=(low) y1="-4" y2="4" {}
            line class=(mark("whisker", row)) x1=(high) x2=(high) y1="-4" y2="4" {}
        }
        circle class=(mark("dot", row)) cx=(median) cy="0" r="4" {}
    }
}

fn ceiling(table: &Table, scale: &Scale, rows: usize) -> Markup {
    html! {
        @if let Some(row) = table.ceiling() {
            @let x = x(scale, row.figures.rate.median);
            line class="ceiling" x1=(x) x2=(x) y1=(ROWS_TOP - 8.0) y2=(Frame::rows_end(rows)) {}
            text class="ceiling-text" x=(x) y=(ROWS_TOP - 13.0) text-anchor="middle" { (row.subject.id) }
        }
    }
}

fn description(table: &Table) -> String {
    let rows: Vec<String> = by_rate(&table.rows)
        .into_iter()
        .map(|row| {
            let rate = &row.figures.rate;
            let interval = format::count_interval(rate.low, rate.high);
            format!(
                "{} {} ({interval})",
                row.subject.id,
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
