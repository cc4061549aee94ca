//! The trials in the order in which they were made: a dot's height is its figure against the median of its row, and
//! beneath them stands what each trial lost to others. What dips where much was lost was not the server's doing.

use maud::{Markup, html};

use super::frame::{Frame, FrameRow, ROW, in_order, tenth, x};
use crate::{CourseTrial, Row, Table, format};
use prony_present::chart::Scale;

/// A figure that lies this share off its row's median is drawn at the edge of its row.
const EDGE: f64 = 0.2;
/// From the middle of a row to its edge.
const HALF: f64 = 11.0;
/// A trial that lost this share to others fills its row.
const FULL_LOSS: f64 = 0.2;

pub(super) fn frame(table: &Table) -> Frame {
    let scale = Scale::linear(table.course.len() as f64, 6);
    let mut rows: Vec<FrameRow> = in_order(table)
        .into_iter()
        .map(|row| FrameRow {
            label: row.server.id.clone(),
            value: noisy(row),
            note: String::new(),
            marks: trials(table, row, &scale),
        })
        .collect();
    rows.push(FrameRow {
        label: "lost to others".to_owned(),
        value: format::share(most_lost(table)),
        note: "at most".to_owned(),
        marks: losses(table, &scale),
    });
    Frame {
        title: format!("Trials in order: {}", table.name()),
        description: description(table),
        above: legend(table),
        tick: format::count,
        scale,
        rows,
        row_height: ROW,
    }
}

fn noisy(row: &Row) -> String {
    match row.figures.attempts.noisy {
        0 => String::new(),
        n => format!("{n} noisy"),
    }
}

/// The trials of a table with their places, from 1.
fn placed<'a>(table: &'a Table, scale: &'a Scale) -> impl Iterator<Item = (f64, &'a CourseTrial)> {
    let trials = table.course.iter().enumerate();
    trials.map(move |(i, trial)| (x(scale, (i + 1) as f64), trial))
}

fn trials(table: &Table, row: &Row, scale: &Scale) -> Markup {
    let (left, right) = (x(scale, 0.0), x(scale, f64::MAX));
    let own = placed(table, scale).filter(|(_, trial)| trial.server == row.server.id);
    html! {
        line class="grid" x1=(left) x2=(right) y1="0" y2="0" {}
        @for (place, trial) in own {
            @if let Some(relative) = trial.relative {
                circle class=(class("dot", trial)) cx=(place) cy=(height(relative)) r="3" {}
            }
        }
    }
}

fn class(base: &'static str, trial: &CourseTrial) -> String {
    match trial.noisy {
        true => format!("{base} noisy"),
        false => base.to_owned(),
    }
}

/// Up is more.
fn height(relative: f64) -> f64 {
    let off = ((relative - 1.0) / EDGE).clamp(-1.0, 1.0);
    tenth(-off * HALF)
}

fn losses(table: &Table, scale: &Scale) -> Markup {
    let wide = (x(scale, 2.0) - x(scale, 1.0)).clamp(1.0, 4.0);
    html! {
        @for (place, trial) in placed(table, scale).filter(|(_, trial)| trial.loss > 0.0) {
            @let high = tenth((trial.loss / FULL_LOSS).min(1.0) * 2.0 * HALF);
            rect class=(class("loss", trial)) x=(tenth(place - wide / 2.0)) y=(tenth(HALF - high))
                width=(tenth(wide)) height=(high) {}
        }
    }
}

fn most_lost(table: &Table) -> f64 {
    table
        .course
        .iter()
        .map(|trial| trial.loss)
        .fold(0.0, f64::max)
}

fn figure(table: &Table) -> &'static str {
    match table.is_open() {
        true => "median latency",
        false => "rate",
    }
}

fn legend(table: &Table) -> Markup {
    html! {
        circle class="dot" cx="158" cy="10" r="3" {}
        text class="tick" x="166" y="14" { (figure(table)) " against its row's median, ±20 % at the edges" }
        circle class="dot noisy" cx="520" cy="10" r="3" {}
        text class="tick" x="528" y="14" { "noisy" }
    }
}

fn description(table: &Table) -> String {
    let noisy = table.course.iter().filter(|trial| trial.noisy).count();
    format!(
        "{} trials from left to right as they were made, a dot each: its {} against the median of its row. {noisy} were noisy. \
         The lowest row shows the share of their CPU time that server or generator lost to others: {} at most.",
        table.course.len(),
        figure(table),
        format::share(most_lost(table)),
    )
}
