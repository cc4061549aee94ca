//! The latencies over time: rows are latencies, columns are times, and the denser a cell, the more responses it has.

use prony_load::LatencyBands;
use prony_present::number;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::columns::TimeColumns;
use super::model::{LoadModel, Look};
use crate::screen::style::Styles;

/// The columns of the labels, without the space after them.
pub(super) const LABELS: usize = 7;
const BELOW: u16 = 2;
/// A map with fewer lines has none below its cells.
const LEAST_WITH_AXIS: u16 = 6;

/// From few responses to many. The colours rise in lightness, so that no kind of sight confuses them.
const SHADES: [(char, Color); 4] = [
    ('░', Color::Indexed(61)),
    ('▒', Color::Indexed(31)),
    ('▓', Color::Indexed(36)),
    ('█', Color::Indexed(184)),
];

/// With logarithmic shades, each stands for this many times as many responses as the one before.
const FACTOR: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Density {
    Linear,
    Logarithmic,
}

impl Density {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Linear => Self::Logarithmic,
            Self::Logarithmic => Self::Linear,
        }
    }

    /// The index of the shade; `None` for an empty cell.
    fn shade(self, count: f64, most: f64) -> Option<usize> {
        // Less than half a response is the rest of one that the cell beside it shows.
        if count < 0.25 {
            return None;
        }
        let last = SHADES.len() - 1;
        let from_top = match self {
            Self::Linear => (1.0 - count / most) * SHADES.len() as f64,
            Self::Logarithmic => (most / count).ln() / FACTOR.ln(),
        };
        Some(last - (from_top.max(0.0) as usize).min(last))
    }
}

pub(super) fn lines<'a>(
    look: &Look<'_>,
    columns: &TimeColumns,
    density: Density,
    height: u16,
) -> Vec<Line<'a>> {
    let (model, styles) = (look.model, look.styles);
    let has_axis = height >= LEAST_WITH_AXIS;
    let rows = usize::from(height - if has_axis { BELOW } else { 0 });
    if rows == 0 {
        return Vec::new();
    }
    let mut lines = match Range::of(columns, rows) {
        Some(range) => cells(columns, range, rows, density, styles),
        None => vec![Line::default(); rows],
    };
    if has_axis {
        lines.push(errors(columns, density, styles));
        lines.push(axis(model, columns, styles));
    }
    lines
}

#[derive(Clone, Copy)]
struct Range {
    begin: usize,
    each: usize,
}

impl Range {
    /// All bands with responses, in the middle; `None` if there are no responses.
    fn of(columns: &TimeColumns, rows: usize) -> Option<Self> {
        let has = |band: &usize| columns.columns.iter().any(|one| one.latency[*band] > 0.0);
        let first = (0..LatencyBands::COUNT).find(has)?;
        let last = (0..LatencyBands::COUNT).rfind(has)?;
        let bands = last + 1 - first;
        let each = bands.div_ceil(rows);
        let spare = rows * each - bands;
        let begin = first.saturating_sub(spare / 2);
        Some(Self { begin, each })
    }

    fn bands(self, row: usize) -> std::ops::Range<usize> {
        let end = |at: usize| (self.begin + at * self.each).min(LatencyBands::COUNT);
        end(row)..end(row + 1)
    }
}

fn cells<'a>(
    columns: &TimeColumns,
    range: Range,
    rows: usize,
    density: Density,
    styles: Styles,
) -> Vec<Line<'a>> {
    let count = |column: usize, row: usize| {
        let bands = &columns.columns[column].latency[range.bands(row)];
        bands.iter().sum::<f64>()
    };
    let width = columns.columns.len();
    let counts: Vec<Vec<f64>> = (0..rows)
        .map(|row| (0..width).map(|column| count(column, row)).collect())
        .collect();
    let most = counts.iter().flatten().copied().fold(0.0, f64::max);
    let line = |row: usize| {
        let from = LatencyBands::begin_of(range.bands(row).start);
        let label = number::duration(from as f64);
        let mut spans = vec![Span::styled(format!("{label:>LABELS$} "), styles.soft())];
        let shades = counts[row].iter().map(|count| density.shade(*count, most));
        spans.extend(shades.map(|shade| shaded(shade, styles)));
        Line::from(spans)
    };
    (0..rows).rev().map(line).collect()
}

fn shaded<'a>(shade: Option<usize>, styles: Styles) -> Span<'a> {
    match shade {
        None => Span::raw(" "),
        Some(shade) => {
            let (symbol, colour) = SHADES[shade];
            Span::styled(symbol.to_string(), styles.coloured(colour))
        }
    }
}

fn errors<'a>(columns: &TimeColumns, density: Density, styles: Styles) -> Line<'a> {
    let counts = columns.columns.iter().map(|one| one.errors);
    let most = counts.clone().fold(0.0, f64::max);
    if most <= 0.0 {
        return Line::default();
    }
    let label = format!("{:>LABELS$} ", "errors");
    let mut spans = vec![Span::styled(label, styles.bad())];
    spans.extend(counts.map(|count| match density.shade(count, most) {
        None => Span::raw(" "),
        Some(shade) => Span::styled(SHADES[shade].0.to_string(), styles.bad()),
    }));
    Line::from(spans)
}

/// The times, which count from the end of the warm-up; dots stand for the warm-up.
fn axis<'a>(model: &LoadModel, columns: &TimeColumns, styles: Styles) -> Line<'a> {
    let width = columns.columns.len();
    let is_warm_up = |at_s: f64| model.measuring_seconds(at_s) < 0.0;
    let times = columns.columns.iter().map(|one| one.middle_s);
    let mut line: Vec<char> = times
        .map(|at| if is_warm_up(at) { '·' } else { '─' })
        .collect();
    let label = |at_s: f64| {
        let seconds = model.measuring_seconds(at_s);
        if seconds.abs() < 0.05 {
            "0 s".to_owned()
        } else {
            number::seconds((seconds * 10.0).round() / 10.0)
        }
    };
    let (from, to) = (label(columns.from_s), label(columns.to_s));
    let (from, to) = (format!("{from} "), format!(" {to}"));
    if from.chars().count() + to.chars().count() < width {
        let end = width - to.chars().count();
        let written = (0..).zip(from.chars()).chain((end..).zip(to.chars()));
        written.for_each(|(at, letter)| line[at] = letter);
    }
    let text: String = line.into_iter().collect();
    Line::styled(format!("{:LABELS$} {text}", ""), styles.soft())
}
