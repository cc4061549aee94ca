//! The plan as a grid that fills, and beside it the figures of one column.

use std::ops::Range;

use prony_present::number::{self, NONE};
use prony_present::terminal::cut;
use prony_stats::Estimate;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::interval_bar::{self, Axis};
use super::model::{Cell, CellId, Column, FigureUnit, Readiness, RunModel};
use crate::screen::style::Styles;

/// The lines above the servers.
pub(super) const HEADING: u16 = 2;

/// The columns of a figure and of its `±`, with a space after each.
const FIGURE: usize = 10;
const PRECISION: usize = 9;
/// The grid leaves room for a bar of this width.
const LEAST_BAR: usize = 16;
/// The longest bar: a longer one is not read better.
const LONGEST_BAR: usize = 72;
/// The most columns that a workload's name gets if its rounds need fewer.
const LONGEST_NAME: usize = 8;
/// The width of a cell without room for its rounds: `12/12■`.
const COMPACT: usize = 6;

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &RunModel,
    selected: usize,
    rows: Range<usize>,
    styles: &Styles,
) {
    let shape = Shape::of(model, usize::from(area.width), selected);
    let figures = (0..model.servers.len()).filter_map(|server| figure(model, server, selected));
    let axis = Axis::of(figures);
    let mut lines = heading(model, &shape, selected, axis, styles);
    for server in rows {
        lines.push(row(model, &shape, server, selected, axis, styles));
    }
    frame.render_widget(Text::from(lines), area);
}

/// The columns of a server's name, with a space after it.
pub(super) fn name_width(model: &RunModel, width: u16) -> usize {
    let ids = model.servers.iter().map(|one| one.id.chars().count());
    let longest = ids.max().unwrap_or(0).max("server".len());
    longest.min((usize::from(width) / 4).max(8))
}

/// The text in exactly this many columns: cut with `…`, or padded.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width))
}

/// How the grid uses the width that it has.
struct Shape {
    names: usize,
    columns: Vec<ShownColumn>,
    /// Whether there is room for a symbol for each round.
    has_rounds: bool,
    bar: usize,
}

/// A column of the plan that there is room for.
struct ShownColumn {
    index: usize,
    width: usize,
}

impl Shape {
    fn of(model: &RunModel, width: usize, selected: usize) -> Self {
        let names = name_width(model, u16::try_from(width).unwrap_or(u16::MAX));
        let beside = names + 2 + FIGURE + PRECISION + LEAST_BAR;
        let room = width.saturating_sub(beside);
        let widths = |compact: bool| -> Vec<usize> {
            let columns = model.columns.iter().enumerate();
            let width = |(at, column)| column_width(model, at, column, compact);
            columns.map(width).collect()
        };
        let total = |widths: &[usize]| widths.iter().map(|width| width + 1).sum::<usize>();
        let in_full = widths(false);
        let has_rounds = total(&in_full) <= room;
        let widths = if has_rounds { in_full } else { widths(true) };
        let columns = shown(&widths, room, selected);
        let used: usize = columns.iter().map(|column| column.width + 1).sum();
        let rest = width.saturating_sub(names + 2 + used + FIGURE + PRECISION);
        Self {
            names,
            columns,
            has_rounds,
            bar: rest.min(LONGEST_BAR),
        }
    }
}

fn column_width(model: &RunModel, at: usize, column: &Column, compact: bool) -> usize {
    let name = column.workload.chars().count().min(LONGEST_NAME);
    let rounds = if compact {
        COMPACT
    } else {
        let own = model.cells.iter().filter(|(id, _)| id.column == at);
        own.map(|(_, cell)| cell.rounds.len()).max().unwrap_or(0)
    };
    rounds.max(name)
}

/// The columns that fit into the room, among them the selected one.
fn shown(widths: &[usize], room: usize, selected: usize) -> Vec<ShownColumn> {
    let Some(&own) = widths.get(selected) else {
        return Vec::new();
    };
    let (mut from, mut to, mut used) = (selected, selected + 1, own + 1);
    loop {
        // To the right as far as possible, and then to the left.
        if let Some(width) = widths.get(to).filter(|width| used + *width < room) {
            used += width + 1;
            to += 1;
        } else if let Some(width) = from.checked_sub(1).map(|at| widths[at])
            && used + width < room
        {
            used += width + 1;
            from -= 1;
        } else {
            break;
        }
    }
    let shown = |index| ShownColumn {
        index,
        width: widths[index],
    };
    (from..to).map(shown).collect()
}

fn heading<'a>(
    model: &RunModel,
    shape: &Shape,
    selected: usize,
    axis: Axis,
    styles: &Styles,
) -> Vec<Line<'a>> {
    let name = |text: &str| Span::styled(format!("{}  ", padded(text, shape.names)), styles.soft());
    let (mut top, mut below) = (vec![name("server")], vec![name(&hidden(model, shape))]);
    for &ShownColumn { index, width } in &shape.columns {
        let column = &model.columns[index];
        let style = if index == selected {
            styles.selected()
        } else {
            styles.soft()
        };
        let text = padded(&column.workload, width);
        let text_width = text.trim_end().to_owned();
        let gap = " ".repeat(width + 1 - text_width.chars().count());
        top.push(Span::styled(text_width, style));
        top.push(Span::raw(gap));
        let mark = if index == selected { "▲" } else { "" };
        below.push(Span::raw(format!("{mark:<width$} ")));
    }
    if let Some(column) = model.columns.get(selected) {
        top.push(Span::styled(column.workload.clone(), styles.strong()));
        let rest = format!(", {}: {}", column.load, unit(column.unit));
        top.push(Span::styled(rest, styles.soft()));
        let head = format!("{:<FIGURE$}{:<PRECISION$}", "median", "95 %");
        below.push(Span::styled(head, styles.soft()));
        let end = axis.end().map(|end| figure_text(column.unit, end));
        let end = end.unwrap_or_default();
        let width = shape.bar.saturating_sub(1);
        below.push(Span::styled(format!("0{end:>width$}"), styles.soft()));
    }
    vec![Line::from(top), Line::from(below)]
}

/// How many columns there is no room for.
fn hidden(model: &RunModel, shape: &Shape) -> String {
    match model.columns.len() - shape.columns.len() {
        0 => String::new(),
        count => format!("+{count} (tab)"),
    }
}

fn unit(unit: FigureUnit) -> &'static str {
    match unit {
        FigureUnit::RequestsPerSecond => "req/s",
        FigureUnit::FlowsPerSecond => "flows/s",
        FigureUnit::MedianLatency => "median latency",
        FigureUnit::Instructions => "instructions/req",
    }
}

fn figure_text(unit: FigureUnit, figure: f64) -> String {
    match unit {
        FigureUnit::MedianLatency => number::duration(figure),
        FigureUnit::Instructions => number::whole(figure),
        FigureUnit::RequestsPerSecond | FigureUnit::FlowsPerSecond => number::count(figure),
    }
}

fn figure(model: &RunModel, server: usize, column: usize) -> Option<Estimate> {
    model.cells.get(&CellId { server, column })?.figure
}

fn row<'a>(
    model: &RunModel,
    shape: &Shape,
    server: usize,
    selected: usize,
    axis: Axis,
    styles: &Styles,
) -> Line<'a> {
    let running = model.running();
    let runs = running.is_some_and(|(cell, _)| cell.server == server);
    let id = padded(&model.servers[server].id, shape.names);
    let style = if runs {
        styles.strong()
    } else {
        Default::default()
    };
    let mark = if runs { "▶ " } else { "  " };
    let mut spans = vec![Span::styled(id, style), Span::styled(mark, styles.accent())];
    for &ShownColumn { index, width } in &shape.columns {
        let id = CellId {
            server,
            column: index,
        };
        match model.cells.get(&id) {
            Some(cell) if shape.has_rounds => strip(&mut spans, cell, width, styles),
            Some(cell) => compact(&mut spans, cell, width, styles),
            None => spans.push(Span::styled(format!("{NONE:<width$}"), styles.soft())),
        }
        spans.push(Span::raw(" "));
    }
    let word = match &model.servers[server].readiness {
        Readiness::Failed(_) => "FAILED, see the log",
        Readiness::Skipped(_) => "SKIPPED, see the log",
        Readiness::Wrong(_) => "WRONG responses, see the log",
        _ => "",
    };
    let column = model.columns.get(selected);
    let shown = CellId {
        server,
        column: selected,
    };
    if !model.cells.contains_key(&shown) {
        spans.push(Span::styled(word, styles.soft()));
    } else if let (Some(figure), Some(column)) = (figure(model, server, selected), column) {
        let precision = match figure.half_width_share() {
            Some(half) if half > 9.99 => "± > 999 %".to_owned(),
            Some(half) => format!("±{}", number::share(half)),
            None => "1 round".to_owned(),
        };
        let text = figure_text(column.unit, figure.median);
        spans.push(Span::raw(format!("{text:<FIGURE$}")));
        spans.push(Span::raw(padded(&precision, PRECISION)));
        spans.extend(interval_bar::spans(figure, axis, shape.bar, styles));
    }
    Line::from(spans)
}

/// A symbol for each round.
fn strip(spans: &mut Vec<Span<'_>>, cell: &Cell, width: usize, styles: &Styles) {
    for state in cell.rounds.values() {
        let (symbol, style) = styles.round(*state);
        spans.push(Span::styled(symbol.to_string(), style));
    }
    let rest = width.saturating_sub(cell.rounds.len());
    spans.push(Span::raw(" ".repeat(rest)));
}

/// `12/12■`.
fn compact(spans: &mut Vec<Span<'_>>, cell: &Cell, width: usize, styles: &Styles) {
    let (symbol, style) = styles.round(cell.summary());
    let count = format!("{}/{}", cell.over(), cell.rounds.len());
    let rest = width.saturating_sub(count.chars().count() + 1);
    spans.push(Span::raw(count));
    spans.push(Span::styled(symbol.to_string(), style));
    spans.push(Span::raw(" ".repeat(rest)));
}
