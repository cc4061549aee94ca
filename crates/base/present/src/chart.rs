//! The chart kit: scales, axes with titles, a frame, rows with bars and intervals, and curves, as SVG.
//!
//! In a page a chart takes its colours from the page's style sheet; a standalone file ([`Chart::document`]) has its own, light
//! or dark like the screen that shows it.
//!
//! ```
//! use prony_present::chart::{Axis, Bar, Mark, RowChart, Scale, Series};
//! use prony_present::number;
//!
//! let chart = RowChart {
//!     title: "Requests per second: hello".into(),
//!     axis: Axis::new("ok responses per second", Scale::linear(45_312.0, 4), number::count),
//!     rows: vec![Series {
//!         label: "go".into(),
//!         value: "45.3 k".into(),
//!         marks: vec![Mark::Bar(Bar { value: 45_312.0, ..Bar::default() })],
//!         ..Series::default()
//!     }],
//!     ..RowChart::default()
//! };
//! assert!(chart.draw().document().contains("ok responses per second"));
//! ```

mod curves;
mod dot;
mod history;
mod labels;
mod marks;
mod panels;
mod rows;
mod scale;
mod scatter;
mod spark;

pub use curves::{Band, Curve, CurveChart, Frame, Level, Line};
pub use dot::Dot;
pub use history::{HistoryChart, HistoryPoint};
pub use panels::{Panel, PanelChart, PanelPoint};
pub use rows::{Bar, Mark, RowChart, Series, Trial};
pub use scale::{Scale, nines, percentile};
pub use scatter::{ScatterChart, ScatterPoint};
pub use spark::Spark;

use maud::{Markup, PreEscaped, html};

use crate::colours::standalone;
use crate::number;
use crate::terminal::{cut, wrapped};

/// How a chart looks; the page defines the colours that it names.
pub(crate) const STYLE: &str = include_str!("chart/style.css");

/// An axis: its title, its scale, and how its ticks are written.
#[derive(Clone, Debug)]
pub struct Axis {
    title: String,
    scale: Scale,
    tick: fn(f64) -> String,
}

impl Default for Axis {
    fn default() -> Self {
        Self::new("", Scale::linear(1.0, 4), number::count)
    }
}

impl Axis {
    /// An axis with its title, which should name the unit. The title of a logarithmic axis says so.
    pub fn new(title: &str, scale: Scale, tick: fn(f64) -> String) -> Self {
        let title = if scale.is_log() {
            format!("{title} (log scale)")
        } else {
            title.to_owned()
        };
        Self { title, scale, tick }
    }

    fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let ticks = self.scale.ticks.iter();
        ticks.map(|tick| (self.scale.place(*tick), number::short(&(self.tick)(*tick))))
    }
}

#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    description: String,
    width: f64,
    height: f64,
    body: Markup,
}

impl Chart {
    fn of(title: &str, description: &str, [width, height]: [f64; 2], body: Markup) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            width,
            height: tenth(height),
            body,
        }
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// The chart as an element of a page; `id` is unique in it.
    pub(crate) fn inline(&self, id: &str) -> Markup {
        html! {
            svg class="chart" role=(self.role()) viewBox=(self.view_box())
                aria-labelledby={ (id) "-title " (id) "-desc" } {
                title id={ (id) "-title" } { (self.title) }
                desc id={ (id) "-desc" } { (self.description) }
                (self.short_body())
            }
        }
    }

    /// The drawing with empty elements in their short form, which SVG has in a page too: a page has thousands of them.
    fn short_body(&self) -> PreEscaped<String> {
        let parts = self.body.0.split_inclusive('>').collect::<Vec<_>>();
        let mut short = String::with_capacity(self.body.0.len());
        let mut parts = parts.into_iter().peekable();
        while let Some(part) = parts.next() {
            let name = part
                .strip_prefix('<')
                .and_then(|tag| tag.split([' ', '>']).next());
            match (name, parts.peek().and_then(|next| next.strip_prefix("</"))) {
                (Some(name), Some(end)) if end.strip_suffix('>') == Some(name) => {
                    short.push_str(part.trim_end_matches('>'));
                    short.push_str("/>");
                    parts.next();
                }
                _ => short.push_str(part),
            }
        }
        PreEscaped(short)
    }

    /// The chart as a standalone SVG document, light or dark like the screen that shows it.
    pub fn document(&self) -> String {
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox=(self.view_box())
                width=(self.width) height=(self.height) aria-labelledby="title desc" {
                title id="title" { (self.title) }
                desc id="desc" { (self.description) }
                style { (PreEscaped(standalone(STYLE))) }
                rect class="ground" width=(self.width) height=(self.height) rx="6" {}
                (self.body)
            }
        };
        svg.into_string() + "\n"
    }

    /// An image has nothing to interact with; a chart whose points are links is a group.
    fn role(&self) -> &'static str {
        if self.body.0.contains("<a ") {
            "group"
        } else {
            "img"
        }
    }

    fn view_box(&self) -> String {
        format!("0 0 {} {}", self.width, self.height)
    }
}

const HEADING: f64 = 18.0;
/// About how many characters fit in a line of a narrow chart's heading, and of its smaller text.
const HEADING_LETTERS: usize = 46;
const NOTE_LETTERS: usize = 62;
const NOTE: f64 = 15.0;

/// The heading of a narrow chart: the title in one or two lines.
fn heading_lines(title: &str) -> Vec<String> {
    let lines = wrapped(title, HEADING_LETTERS);
    match lines.as_slice() {
        [first, second, _, ..] => vec![
            first.clone(),
            format!("{}…", cut(second, HEADING_LETTERS - 1)),
        ],
        _ => lines,
    }
}

fn heading(lines: &[String], left: f64) -> Markup {
    html! {
        @for (i, line) in lines.iter().enumerate() {
            text class="heading" x=(left) y=(HEADING * (i + 1) as f64) { (line) }
        }
    }
}

fn note_lines(note: &str) -> Vec<String> {
    let lines = wrapped(note, NOTE_LETTERS).into_iter();
    lines.filter(|line| !line.is_empty()).collect()
}

/// Draws smaller text from there down.
fn notes(lines: &[String], left: f64, top: f64) -> Markup {
    html! {
        @for (i, line) in lines.iter().enumerate() {
            text class="tick" x=(left) y=(tenth(top + NOTE * (i + 1) as f64)) { (line) }
        }
    }
}

/// Draws the styles of dots with their meaning, in a line from there.
fn legend(entries: &[(Dot, String)], left: f64, top: f64) -> Markup {
    let mut x = left + 5.0;
    let placed = entries.iter().map(|(dot, words)| {
        let here = x;
        x += 22.0 + 6.0 * words.chars().count() as f64;
        (here, dot, words)
    });
    html! {
        @for (x, dot, words) in placed {
            circle class=(dot.class()) cx=(tenth(x)) cy=(top + 4.0) r="4" {}
            text class="tick" x=(tenth(x + 8.0)) y=(top + 8.0) { (words) }
        }
    }
}

/// The edges of a plot.
#[derive(Clone, Copy)]
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    /// From a position on the horizontal scale (0 to 1) to one in the chart.
    fn across(self, place: f64) -> f64 {
        tenth(self.left + (self.right - self.left) * place)
    }

    /// From a position on the vertical scale (0 to 1) to one in the chart.
    fn up(self, place: f64) -> f64 {
        tenth(self.bottom - (self.bottom - self.top) * place)
    }

    /// The same without a margin at every edge.
    fn within(self, margin: f64) -> Self {
        Self {
            left: self.left + margin,
            right: self.right - margin,
            top: self.top + margin,
            bottom: self.bottom - margin,
        }
    }
}

/// The text anchor that keeps words near an edge inside the chart.
fn anchor(place: f64) -> &'static str {
    match place {
        p if p < 0.05 => "start",
        p if p > 0.9 => "end",
        _ => "middle",
    }
}

/// Rounds to a tenth of a unit: nobody sees more.
fn tenth(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}
