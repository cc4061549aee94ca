//! A small panel for each server with the figure of each round, so that drift can be seen.

use prony_present::chart::{Axis, Dot, Panel, PanelChart, PanelPoint, Scale};
use prony_present::number;
use prony_stats::median;

use super::parts::in_order;
use crate::figures::{Attempt, WARMING_UP};
use crate::table::{ResultTable, ServerRow};

/// Fewer rounds show no drift.
const LEAST_ROUNDS: usize = 3;
/// Panels show at least this distance from a row's median, so that noise does not look like drift, and at most that, so that
/// one round does not hide all others.
const LEAST_SHOWN: f64 = 0.05;
const MOST_SHOWN: f64 = 0.5;

/// Whether a server has enough rounds with a figure.
pub(super) fn has_data(table: &ResultTable) -> bool {
    let mut rows = table.rows.iter();
    rows.any(|row| row.figures.headline.len() >= LEAST_ROUNDS)
}

/// An attempt's round, its figure as a difference from the median of its row (a share), and its style.
struct Point {
    round: f64,
    difference: f64,
    style: Dot,
    counts: bool,
}

fn points(table: &ResultTable, row: &ServerRow) -> Vec<Point> {
    let counted: Vec<f64> = row.figures.headline.values().copied().collect();
    let Some(middle) = median(&counted) else {
        return Vec::new();
    };
    let attempts = row.figures.rounds.iter();
    let point = |attempt: &Attempt| {
        let figures = attempt.result.as_ref().ok()?;
        let figure = if table.is_open() {
            figures.p50_ns?
        } else {
            figures.rate
        };
        Some(Point {
            round: f64::from(attempt.round),
            difference: figure / middle - 1.0,
            style: style(attempt),
            counts: attempt.counts,
        })
    };
    attempts.filter_map(point).collect()
}

fn style(attempt: &Attempt) -> Dot {
    match &attempt.causes[..] {
        [] => Dot::Plain,
        causes if causes.contains(&WARMING_UP) => Dot::Warming,
        _ => Dot::Noisy,
    }
}

pub(super) fn rounds(table: &ResultTable) -> PanelChart {
    let figure = if table.is_open() {
        "median latency"
    } else if table.load.flows {
        "flows per second"
    } else {
        "requests per second"
    };
    let of_rows: Vec<(&ServerRow, Vec<Point>)> = in_order(table)
        .into_iter()
        .map(|row| (row, points(table, row)))
        .filter(|(_, points)| !points.is_empty())
        .collect();
    let all = || of_rows.iter().flat_map(|(_, points)| points);
    let farthest = |points: &mut dyn Iterator<Item = &Point>| {
        points
            .map(|point| point.difference.abs())
            .fold(0.0, f64::max)
    };
    // The rounds that count set the scale: a re-run trial may be far away.
    let counted = farthest(&mut all().filter(|point| point.counts));
    let scale = Scale::around_zero(counted.clamp(LEAST_SHOWN, MOST_SHOWN));
    let last = all().map(|point| point.round).fold(1.0, f64::max);
    let has = |style| all().any(|point| point.style == style);
    let legend = [
        (Dot::Plain, "a round"),
        (Dot::Noisy, "noisy"),
        (Dot::Warming, "still warming up"),
    ];
    let note = if farthest(&mut all()) > scale.high() {
        "Points at an edge are beyond it."
    } else {
        ""
    };
    PanelChart {
        title: format!("Round by round: {}", table.name()),
        description: format!(
            "A panel for each server with the {figure} of each round as a difference from the median of its row, {} at most in the rounds that count. \
             The opened rows of the table have the figures.",
            number::share(counted)
        ),
        x: Axis::new("round", Scale::numbered(last as usize, 5), number::count),
        y: Axis::new(
            &format!("{figure}, difference from the row's median"),
            scale,
            difference,
        ),
        height: 48.0,
        middle: Some(0.0),
        legend: legend
            .into_iter()
            .filter(|(style, _)| has(*style))
            .map(|(style, words)| (style, words.to_owned()))
            .collect(),
        panels: of_rows.iter().map(panel).collect(),
        note: note.to_owned(),
    }
}

fn panel((row, points): &(&ServerRow, Vec<Point>)) -> Panel {
    Panel {
        name: row.server.id.clone(),
        points: points
            .iter()
            .map(|point| PanelPoint {
                dot: point.style,
                x: point.round,
                y: point.difference,
            })
            .collect(),
        ..Panel::default()
    }
}

/// `+5 %`, `0`, `−5 %`.
fn difference(share: f64) -> String {
    match share {
        share if share > 0.0 => format!("+{}", number::share(share)),
        share if share < 0.0 => format!("−{}", number::share(-share)),
        _ => "0".to_owned(),
    }
}
