//! The plan as a grid that fills, and beside it the figures of one column.

use std::ops::Range;

use prony_present::number::{self, NONE};
use prony_present::terminal::cut;
use prony_stats::Estimate;
use ratatui::text::{Line, Span};

use super::interval_bar::{self, Axis};
use super::model::{Cell, CellId, Column, FigureUnit, Look, Readiness, RunModel};
use crate::screen::style::Styles;

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

/// The heading, and these servers.
pub(super) fn lines<'a>(
    look: &Look<'_>,
    width: u16,
    selected: usize,
    rows: Range<usize>,
) -> Vec<Line<'a>> {
    let grid = Grid::of(look, width.into(), selected);
    let heading = grid.heading().into_iter();
    heading.chain(rows.map(|server| grid.row(server))).collect()
}

/// The columns of a server's name, with a space after it.
pub(super) fn name_width(model: &RunModel, width: usize) -> usize {
    let ids = model.servers.iter().map(|one| one.id.chars().count());
    let longest = ids.max().unwrap_or(0).max("server".len());
    longest.min((width / 4).max(8))
}

/// The text in exactly this many columns: cut with `…`, or padded.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{:<width$}", cut(text, width))
}

/// What the grid shows, and how it uses the width that it has.
struct Grid<'m> {
    model: &'m RunModel,
    styles: Styles,
    selected: usize,
    axis: Axis,
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

impl<'m> Grid<'m> {
    fn of(look: &Look<'m>, width: usize, selected: usize) -> Self {
        let model = look.model;
        let names = name_width(model, width);
        let beside = names + 2 + FIGURE + PRECISION;
        let room = width.saturating_sub(beside + LEAST_BAR);
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
        let servers = 0..model.servers.len();
        Self {
            model,
            styles: look.styles,
            selected,
            axis: Axis::of(servers.filter_map(|server| figure(model, server, selected))),
            names,
            columns,
            has_rounds,
            bar: width.saturating_sub(beside + used).min(LONGEST_BAR),
        }
    }

    fn heading<'a>(&self) -> [Line<'a>; 2] {
        let styles = self.styles;
        // How many columns there is no room for.
        let hidden = match self.model.columns.len() - self.columns.len() {
            0 => String::new(),
            count => format!("+{count} (tab)"),
        };
        let [mut top, mut below] = ["server", &hidden].map(|text| {
            vec![Span::styled(
                format!("{}  ", padded(text, self.names)),
                styles.soft(),
            )]
        });
        for &ShownColumn { index, width } in &self.columns {
            let (style, mark) = if index == self.selected {
                (styles.selected(), "▲")
            } else {
                (styles.soft(), "")
            };
            let name = cut(&self.model.columns[index].workload, width);
            let gap = " ".repeat(width + 1 - name.chars().count());
            top.extend([Span::styled(name, style), Span::raw(gap)]);
            below.push(Span::raw(format!("{mark:<width$} ")));
        }
        if let Some(column) = self.model.columns.get(self.selected) {
            top.push(Span::styled(column.workload.clone(), styles.strong()));
            let rest = format!(", {}: {}", column.load, unit(column.unit));
            top.push(Span::styled(rest, styles.soft()));
            let end = self.axis.end().map(|end| figure_text(column.unit, end));
            let end = end.unwrap_or_default();
            let width = self.bar.saturating_sub(1);
            let head = format!("{:<FIGURE$}{:<PRECISION$}0{end:>width$}", "median", "95 %");
            below.push(Span::styled(head, styles.soft()));
        }
        [Line::from(top), Line::from(below)]
    }

    fn row<'a>(&self, server: usize) -> Line<'a> {
        let (model, styles) = (self.model, self.styles);
        let running = model.running();
        let runs = running.is_some_and(|(cell, _)| cell.server == server);
        let id = padded(&model.servers[server].id, self.names);
        let mut spans = if runs {
            vec![
                Span::styled(id, styles.strong()),
                Span::styled("▶ ", styles.accent()),
            ]
        } else {
            vec![Span::raw(id), Span::raw("  ")]
        };
        let cell = |column| model.cells.get(&CellId { server, column });
        for &ShownColumn { index, width } in &self.columns {
            match cell(index) {
                Some(cell) if self.has_rounds => strip(&mut spans, cell, width, styles),
                Some(cell) => compact(&mut spans, cell, width, styles),
                None => spans.push(Span::styled(format!("{NONE:<width$}"), styles.soft())),
            }
            spans.push(Span::raw(" "));
        }
        match (cell(self.selected), model.columns.get(self.selected)) {
            (None, _) => {
                let why = match &model.servers[server].readiness {
                    Readiness::Failed(_) => "FAILED, see the log",
                    Readiness::Skipped(_) => "SKIPPED, see the log",
                    Readiness::Wrong(_) => "WRONG responses, see the log",
                    _ => "",
                };
                spans.push(Span::styled(why, styles.soft()));
            }
            (Some(cell), Some(column)) => {
                let figure = cell.figure.iter();
                spans.extend(figure.flat_map(|figure| self.figure(*figure, column.unit)));
            }
            _ => {}
        }
        Line::from(spans)
    }

    /// A figure, its precision and its bar.
    fn figure<'a>(&self, figure: Estimate, unit: FigureUnit) -> Vec<Span<'a>> {
        let precision = match figure.half_width_share() {
            Some(half) if half > 9.99 => "± > 999 %".to_owned(),
            Some(half) => format!("±{}", number::share(half)),
            None => "1 round".to_owned(),
        };
        let text = figure_text(unit, figure.median);
        let mut spans = vec![
            Span::raw(format!("{text:<FIGURE$}")),
            Span::raw(padded(&precision, PRECISION)),
        ];
        spans.extend(interval_bar::spans(
            figure,
            self.axis,
            self.bar,
            self.styles,
        ));
        spans
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

fn strip(spans: &mut Vec<Span<'_>>, cell: &Cell, width: usize, styles: Styles) {
    for state in cell.rounds.values() {
        let (symbol, style) = styles.round(*state);
        spans.push(Span::styled(symbol.to_string(), style));
    }
    let rest = width.saturating_sub(cell.rounds.len());
    spans.push(Span::raw(" ".repeat(rest)));
}

/// `12/12■`.
fn compact(spans: &mut Vec<Span<'_>>, cell: &Cell, width: usize, styles: Styles) {
    let (symbol, style) = styles.round(cell.summary());
    let count = format!("{}/{}", cell.over(), cell.rounds.len());
    let rest = width.saturating_sub(count.chars().count() + 1);
    spans.push(Span::raw(count));
    spans.push(Span::styled(symbol.to_string(), style));
    spans.push(Span::raw(" ".repeat(rest)));
}
