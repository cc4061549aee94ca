//! Small panels with shared axes, one for each server, two beside each other.

use maud::{Markup, html};

use super::marks::Marks;
use super::{
    Axis, Chart, Dot, HEADING, NOTE, Plot, heading, heading_lines, legend, note_lines, notes, tenth,
};
use crate::terminal::cut;

const WIDTH: f64 = 360.0;
const EDGE: f64 = 8.0;
/// Where the plots of the two columns begin, and how wide they are.
const LEFT: [f64; COLUMNS] = [48.0, 208.0];
const PLOT: f64 = 144.0;
const COLUMNS: usize = 2;
const NAME: f64 = 16.0;
const GAP: f64 = 10.0;
const AXIS: f64 = 38.0;
/// Keeps marks away from the edges of a plot.
const MARGIN: f64 = 6.0;
/// How many letters of a name and its note fit above a panel.
const NAME_LETTERS: usize = 24;

#[derive(Clone, Debug, Default)]
pub struct PanelChart {
    pub title: String,
    /// The text alternative.
    pub description: String,
    pub x: Axis,
    pub y: Axis,
    pub height: f64,
    /// The value that a line through every panel marks.
    pub middle: Option<f64>,
    pub legend: Vec<(Dot, String)>,
    pub panels: Vec<Panel>,
    pub note: String,
}

#[derive(Clone, Debug, Default)]
pub struct Panel {
    pub name: String,
    pub note: String,
    /// Points that a line joins, by style.
    pub lines: Vec<(Dot, Vec<(f64, f64)>)>,
    pub points: Vec<PanelPoint>,
    pub mark: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
pub struct PanelPoint {
    pub dot: Dot,
    pub x: f64,
    pub y: f64,
}

/// The styles of marks, from the lowest to the topmost.
const STYLES: [&str; 5] = [
    "grid frame",
    "curve p50",
    "curve p99",
    "dots",
    "dots small p50",
];

impl PanelChart {
    pub fn draw(&self) -> Chart {
        let title = heading_lines(&self.title);
        let below_heading = HEADING * title.len() as f64 + 8.0;
        let top = below_heading + if self.legend.is_empty() { 14.0 } else { 32.0 };
        let lines = self.panels.len().div_ceil(COLUMNS);
        let bottom = top + lines as f64 * self.step() - GAP;
        let mut drawn = Marks::in_order(&STYLES);
        for (i, panel) in self.panels.iter().enumerate() {
            self.panel(panel, self.plot(i, top), &mut drawn);
        }
        let said = note_lines(&self.note);
        let body = html! {
            (heading(&title, EDGE))
            (legend(&self.legend, EDGE, below_heading))
            text class="axis-title" x=(EDGE) y=(top - 5.0) { (self.y.title) }
            (drawn.draw())
            (self.names(top))
            (self.ticks(top))
            text class="axis-title" x=(WIDTH / 2.0) y=(tenth(bottom + 31.0)) text-anchor="middle" { (self.x.title) }
            (notes(&said, EDGE, bottom + AXIS))
        };
        let height = bottom + AXIS + 6.0 + NOTE * said.len() as f64;
        Chart::of(&self.title, &self.description, [WIDTH, height], body)
    }

    /// From one line of panels to the next.
    fn step(&self) -> f64 {
        NAME + self.height + GAP
    }

    fn plot(&self, place: usize, top: f64) -> Plot {
        let top = top + (place / COLUMNS) as f64 * self.step() + NAME;
        let left = LEFT[place % COLUMNS];
        Plot {
            left,
            right: left + PLOT,
            top,
            bottom: top + self.height,
        }
    }

    fn at(&self, plot: Plot, x: f64, y: f64) -> (f64, f64) {
        let plot = plot.within(MARGIN);
        let (x, y) = (self.x.scale.place(x), self.y.scale.place(y));
        (plot.across(x), plot.up(y))
    }

    fn panel(&self, panel: &Panel, plot: Plot, drawn: &mut Marks) {
        let (left, top, bottom) = (plot.left, tenth(plot.top), tenth(plot.bottom));
        drawn.add("grid frame", &format!("M{left} {top}V{bottom}h{PLOT}"));
        if let Some(middle) = self.middle {
            let (_, y) = self.at(plot, 0.0, middle);
            drawn.add("grid frame", &format!("M{left} {y}h{PLOT}"));
        }
        for (dot, points) in &panel.lines {
            let [curve, dots] =
                ["curve", "dots small"].map(|kind| format!("{kind} {}", dot.class()));
            for (i, (x, y)) in points.iter().enumerate() {
                let (x, y) = self.at(plot, *x, *y);
                let to = if i == 0 { 'M' } else { 'L' };
                drawn.add(&curve, &format!("{to}{x} {y}"));
                drawn.dot(&dots, (x, y));
            }
        }
        for &PanelPoint { dot, x, y } in &panel.points {
            let at = self.at(plot, x, y);
            match dot {
                Dot::Noisy | Dot::Warming => drawn.circle(dot.class(), at, 3.0, None),
                _ => drawn.dot("dots", at),
            }
        }
        if let Some(mark) = panel.mark {
            let (x, _) = self.at(plot, mark, 0.0);
            let (left, right, top) = (x - 5.0, x + 5.0, bottom - 8.0);
            drawn.add("knee", &format!("M{left} {top}L{x} {bottom}L{right} {top}"));
        }
    }

    fn names(&self, top: f64) -> Markup {
        html! {
            g class="label tick" {
                @for (i, panel) in self.panels.iter().enumerate() {
                    @let plot = self.plot(i, top);
                    @let room = NAME_LETTERS.saturating_sub(panel.note.chars().count() + 1).max(8);
                    @let shown = cut(&panel.name, room);
                    text x=(plot.left) y=(tenth(plot.top - 4.0)) {
                        @if shown != panel.name { title { (panel.name) } }
                        (shown)
                        @if !panel.note.is_empty() { tspan class="soft" dx="5" { (panel.note) } }
                    }
                }
            }
        }
    }

    /// The figures at the axes: at the left of each line of panels, and below the lowest panel of each column.
    fn ticks(&self, top: f64) -> Markup {
        let count = self.panels.len();
        let lefts = (0..count).step_by(COLUMNS).map(|i| self.plot(i, top));
        let lowest = count.saturating_sub(COLUMNS)..count;
        let lowest = lowest.map(|i| self.plot(i, top));
        html! {
            g class="tick" text-anchor="end" transform={ "translate(" (LEFT[0] - 4.0) " 0)" } {
                @for plot in lefts {
                    @for (place, tick) in self.y.ticks() {
                        text y=(tenth(plot.within(MARGIN).up(place) + 4.0)) { (tick) }
                    }
                }
            }
            g class="tick" text-anchor="middle" {
                @for plot in lowest {
                    @for (place, tick) in self.x.ticks() {
                        text x=(plot.within(MARGIN).across(place)) y=(tenth(plot.bottom + 14.0)) { (tick) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::number;

    #[test]
    fn panels_share_their_scales_and_do_not_overlap() {
        let point = |dot, x, y| PanelPoint { dot, x, y };
        let panel = |n: usize| Panel {
            name: format!("server-{n}"),
            points: vec![
                point(Dot::Plain, 1.0, 0.0),
                point(Dot::Noisy, 2.0, 0.1),
                point(Dot::Warming, 3.0, -0.1),
            ],
            lines: vec![(Dot::P50, vec![(1.0, 0.0), (2.0, 0.1)])],
            ..Panel::default()
        };
        let chart = PanelChart {
            x: Axis::new("round", Scale::linear(3.0, 3), number::count),
            y: Axis::new("rate", Scale::around_zero(0.1), number::share),
            height: 50.0,
            middle: Some(0.0),
            panels: (0..5).map(panel).collect(),
            ..PanelChart::default()
        };
        let plots: Vec<Plot> = (0..5).map(|i| chart.plot(i, 40.0)).collect();
        for (one, other) in plots.iter().zip(&plots[1..]) {
            assert!(one.left + PLOT < other.left || one.bottom + NAME <= other.top);
        }
        let height = |plot: &Plot| plot.bottom - chart.at(*plot, 1.0, 0.1).1;
        let first = height(&plots[0]);
        assert!(plots.iter().all(|plot| (height(plot) - first).abs() < 0.11));
        let svg = chart.draw().document();
        for hollow in ["dot noisy", "warming"] {
            let circle = format!("circle class=\"{hollow}\"");
            assert_eq!(svg.matches(&circle).count(), 5, "{svg}");
        }
        assert_eq!(svg.matches("<path class=\"dots\"").count(), 1, "{svg}");
    }
}
