//! A figure of a document's table as bars: a group a row in the document's order, and where the
//! table shows its rounds, a bar a round.

use maud::{Markup, html};
use prony_model::PublishedFigure;
use prony_stats::Known;

use super::frame::{
    Frame, FrameRow, PLOT_LEFT, ROW, ceiling_line, grey_unless, rows_end, tenth, x,
};
use super::throughput::bar;
use crate::published::{shown, summary, tick, title_of_chart};
use crate::{DocumentRow, DocumentTable, Measured, format, prose};
use prony_present::chart::Scale;

const ROUND_BAR: f64 = 9.0;
const ROUND_GAP: f64 = 2.0;
const GROUP_GAP: f64 = 12.0;

pub(super) fn frame(table: &DocumentTable, figure: PublishedFigure) -> Frame {
    let rows: Vec<&DocumentRow> = table.rows.iter().filter(|row| has_group(row)).collect();
    let ceiling = ceiling(table, figure);
    let scale = scale(figure, rows.iter().copied().chain(ceiling));
    let bars = most_rounds(table, &rows, figure);
    let row_height = match bars {
        0 => ROW,
        bars => (bars as f64 * (ROUND_BAR + ROUND_GAP) + GROUP_GAP).max(ROW),
    };
    let end = rows_end(rows.len(), row_height);
    Frame {
        title: format!("{}: {}", title_of_chart(table, figure), table.source.title),
        description: description(table, figure, &rows),
        above: html! {
            text class="tick" x=(PLOT_LEFT) y="14" { (legend(table, bars)) }
            @if let Some(row) = ceiling {
                @if let Some(measured) = row.measured.get(&figure) {
                    (ceiling_line(x(&scale, measured.value), &row.name, end))
                }
            }
        },
        tick: tick(figure),
        rows: rows
            .iter()
            .map(|row| FrameRow {
                label: label(table, row),
                value: value(row, figure),
                note: note(row, figure).to_owned(),
                marks: html! {
                    @if let Some(measured) = row.measured.get(&figure) {
                        @match bars {
                            0 => (bar(&scale, measured.value, measured.spread, counts(row, figure))),
                            bars => (rounds(&scale, measured, bars, counts(row, figure))),
                        }
                    }
                },
            })
            .collect(),
        scale,
        row_height,
    }
}

/// A reference server that the document does not have is a line through all groups.
fn has_group(row: &DocumentRow) -> bool {
    row.in_document || !row.is_reference
}

/// Only rates have a ceiling, and it is another one for each workload.
fn ceiling(table: &DocumentTable, figure: PublishedFigure) -> Option<&DocumentRow> {
    let is_rate = matches!(figure, PublishedFigure::Rate | PublishedFigure::Transfer);
    let mut rows = table.rows.iter().filter(|row| !has_group(row));
    rows.find(|_| is_rate && !table.has_workloads())
}

fn counts(row: &DocumentRow, figure: PublishedFigure) -> bool {
    row.in_document && row.is_exact(figure)
}

fn scale<'a>(figure: PublishedFigure, rows: impl Iterator<Item = &'a DocumentRow>) -> Scale {
    let most = rows
        .filter_map(|row| row.measured.get(&figure))
        .map(|measured| {
            let rounds = measured.rounds.iter().map(|(_, value)| *value);
            let high = measured.spread.map_or(measured.value, |(_, high)| high);
            rounds.fold(high.max(measured.value), f64::max)
        });
    let most = most.fold(0.0, f64::max);
    match figure {
        PublishedFigure::Transfer
        | PublishedFigure::ArtefactBytes
        | PublishedFigure::PeakMemory => Scale::binary(most, 5),
        _ => Scale::linear(most, 5),
    }
}

/// How many bars a group has; 0 where the table does not show its rounds.
fn most_rounds(table: &DocumentTable, rows: &[&DocumentRow], figure: PublishedFigure) -> usize {
    if !table.source.each_round {
        return 0;
    }
    let measured = rows.iter().filter_map(|row| row.measured.get(&figure));
    measured
        .map(|measured| measured.rounds.len())
        .max()
        .unwrap_or(0)
}

/// A bar a round from the top down, and a line at what sums them up.
fn rounds(scale: &Scale, measured: &Measured, bars: usize, counts: bool) -> Markup {
    let step = ROUND_BAR + ROUND_GAP;
    let top = -(bars as f64 * step - ROUND_GAP) / 2.0;
    let zero = x(scale, 0.0);
    let summary = x(scale, measured.value);
    html! {
        @for (i, (_, value)) in measured.rounds.iter().enumerate() {
            rect class=(grey_unless(counts, "round")) x=(zero) y=(tenth(top + i as f64 * step))
                width=(tenth(x(scale, *value) - zero)) height=(ROUND_BAR) rx="2" {}
        }
        line class=(grey_unless(counts, "whisker")) x1=(summary) x2=(summary) y1=(tenth(top - 2.0)) y2=(tenth(2.0 - top)) {}
    }
}

fn label(table: &DocumentTable, row: &DocumentRow) -> String {
    match table.has_workloads() {
        true => format!("{}, {}", row.name, row.workload),
        false => row.name.clone(),
    }
}

fn value(row: &DocumentRow, figure: PublishedFigure) -> String {
    row.measured
        .get(&figure)
        .map_or(format::NONE.to_owned(), |measured| {
            shown(figure, measured.value)
        })
}

fn legend(table: &DocumentTable, bars: usize) -> String {
    match bars {
        0 => String::new(),
        _ => format!("a bar a round, a line at their {}", summary(table)),
    }
}

/// A word behind the figure: why there is none, or why it is grey.
fn note(row: &DocumentRow, figure: PublishedFigure) -> &'static str {
    match row.absent {
        Some(why) => why,
        None if !row.in_document => "added",
        None => match row.known.get(&figure) {
            Some(Known::AtLeast) => "limited",
            Some(Known::Nothing) => "doubtful",
            Some(Known::Exactly) | None => "",
        },
    }
}

fn description(table: &DocumentTable, figure: PublishedFigure, rows: &[&DocumentRow]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|row| {
            let value = match row.absent {
                Some(why) => why.to_owned(),
                None => value(row, figure),
            };
            format!("{} {value}", label(table, row))
        })
        .collect();
    format!(
        "Measured here, in the document's order, under {}: {}.",
        prose::load(&table.source.load),
        rows.join("; ")
    )
}
