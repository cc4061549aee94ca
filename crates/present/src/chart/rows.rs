//! A row for each server, with its figures along one shared axis.
//!
//! The label is above the row's marks, so that a chart is narrow enough for a phone without shrinking its text.

use maud::{Markup, html};

use super::{Axis, Chart, Scale, tenth};
use crate::terminal::{cut, wrapped};

const WIDTH: f64 = 360.0;
const EDGE: f64 = 8.0;
/// The height of a heading line; a heading has one or two.
const HEADING: f64 = 18.0;
/// The height of the legend, and of the line with the limit's name.
const LEGEND: f64 = 20.0;
/// The height of the line with a row's label and value.
const LABEL: f64 = 18.0;
/// The height of a row's marks, unless it has several bars.
const MARKS: f64 = 20.0;
const AXIS: f64 = 40.0;
const ROUND_BAR: f64 = 8.0;
const ROUND_STEP: f64 = 10.0;
/// About how many characters fit in a heading, and in a label next to its value.
const HEADING_LETTERS: usize = 46;
const LINE_LETTERS: usize = 52;

/// A chart with a row for each server.
#[derive(Clone, Debug, Default)]
pub struct RowChart {
    /// The title.
    pub title: String,
    /// The text alternative.
    pub description: String,
    /// The shared axis.
    pub axis: Axis,
    /// The legend: each style and its meaning.
    pub legend: Vec<(Dot, String)>,
    /// A named line through all rows: the ceiling.
    pub limit: Option<(f64, String)>,
    /// The rows, from top to bottom.
    pub rows: Vec<Series>,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The server.
    pub label: String,
    /// The figure, and its name if the title does not give it.
    pub value: String,
    /// A few words after the figure.
    pub note: String,
    /// The marks to draw.
    pub marks: Vec<Mark>,
}

/// A mark in a row.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A bar from 0.
    Bar(Bar),
    /// A bar for each round, and a line at their summary.
    Rounds {
        /// The rounds' figures.
        values: Vec<f64>,
        /// Their summary.
        middle: f64,
        /// Whether they are drawn in grey.
        is_grey: bool,
    },
    /// Dots along a line.
    Dots(Vec<(Dot, f64)>),
    /// Trials in order, each above or below the middle by its figure's distance from the usual one (-1 to 1).
    Trials(Vec<Trial>),
    /// Trials in order, each a bar whose height is its share (0 to 1) of the row.
    Losses(Vec<Trial>),
}

/// A bar from 0 to a figure, with its interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bar {
    /// The figure.
    pub value: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it is drawn in grey, because it is not comparable with the others.
    pub is_grey: bool,
}

/// The style of a dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    /// The median.
    P50,
    /// A percentile.
    P90,
    /// A percentile.
    P99,
    /// A percentile.
    P999,
    /// Any other.
    Plain,
    /// A noisy trial.
    Noisy,
}

/// A trial in the course of a run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Its position on the axis.
    pub at: f64,
    /// Its vertical position or height.
    pub height: f64,
    /// Whether it was noisy.
    pub is_noisy: bool,
}

impl Dot {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::Plain => "dot",
            Self::Noisy => "dot noisy",
        }
    }
}

impl RowChart {
    /// Draws it.
    pub fn draw(&self) -> Chart {
        let has_legend = !self.legend.is_empty() || self.limit.is_some();
        let heading = self.heading();
        let below_heading = HEADING * heading.len() as f64 + 8.0;
        let top = below_heading + if has_legend { LEGEND } else { 0.0 };
        let mut ends = top;
        let rows: Vec<(f64, &Series)> = self
            .rows
            .iter()
            .map(|row| {
                let begins = ends;
                ends += LABEL + row.height();
                (begins, row)
            })
            .collect();
        let body = html! {
            @for (i, line) in heading.iter().enumerate() {
                text class="heading" x=(EDGE) y=(HEADING * (i + 1) as f64) { (line) }
            }
            (self.legend(below_heading))
            (self.grid(top, ends))
            @if let Some((value, name)) = &self.limit { (self.limit_line(*value, name, top, ends)) }
            @for (begins, row) in rows { (self.row(begins, row)) }
        };
        Chart {
            title: self.title.clone(),
            description: self.description.clone(),
            width: WIDTH,
            height: tenth(ends + AXIS),
            body,
        }
    }

    fn heading(&self) -> Vec<String> {
        let lines = wrapped(&self.title, HEADING_LETTERS);
        match lines.as_slice() {
            [first, second, _, ..] => vec![
                first.clone(),
                format!("{}…", cut(second, HEADING_LETTERS - 1)),
            ],
            _ => lines,
        }
    }

    fn legend(&self, top: f64) -> Markup {
        let mut x = EDGE + 5.0;
        let placed = self.legend.iter().map(|(dot, words)| {
            let here = x;
            x += 22.0 + 6.0 * words.chars().count() as f64;
            (here, dot, words)
        });
        let y = top + 8.0;
        html! {
            @for (x, dot, words) in placed {
                circle class=(dot.class()) cx=(tenth(x)) cy=(y - 4.0) r="4" {}
                text class="tick" x=(tenth(x + 8.0)) y=(y) { (words) }
            }
        }
    }

    fn grid(&self, top: f64, bottom: f64) -> Markup {
        html! {
            @for (place, tick) in self.axis.ticks() {
                @let x = across(place);
                line class="grid" x1=(x) x2=(x) y1=(top) y2=(bottom) {}
                text class="tick" x=(x) y=(bottom + 14.0) text-anchor=(anchor(place)) { (tick) }
            }
            text class="axis-title" x=(WIDTH / 2.0) y=(bottom + 31.0) text-anchor="middle" { (self.axis.title) }
        }
    }

    fn limit_line(&self, value: f64, name: &str, top: f64, bottom: f64) -> Markup {
        let place = self.axis.scale.place(value);
        let x = across(place);
        html! {
            line class="limit" x1=(x) x2=(x) y1=(top - 4.0) y2=(bottom) {}
            text class="limit-text" x=(x) y=(top - 9.0) text-anchor=(anchor(place)) { (name) }
        }
    }

    fn row(&self, begins: f64, row: &Series) -> Markup {
        let has_text = !row.value.is_empty() || !row.note.is_empty();
        let taken = row.value.chars().count() + row.note.chars().count() + 2;
        let shown = cut(&row.label, LINE_LETTERS.saturating_sub(taken).max(12));
        html! {
            g transform={ "translate(0 " (tenth(begins)) ")" } {
                // A label that is shown in full needs no tip.
                @if shown != row.label { title { (row.label) ": " (row.value) " " (row.note) } }
                text class="label" x=(EDGE) y="13" { (shown) }
                @if has_text {
                    text class="value" x=(WIDTH - EDGE) y="13" {
                        (row.value)
                        @if !row.note.is_empty() { tspan class="soft" dx="6" { (row.note) } }
                    }
                }
                g transform={ "translate(0 " (tenth(LABEL + row.height() / 2.0 - 2.0)) ")" } {
                    @for mark in &row.marks { (mark.draw(&self.axis.scale)) }
                }
            }
        }
    }
}

impl Series {
    fn height(&self) -> f64 {
        let heights = self.marks.iter().map(|mark| match mark {
            Mark::Rounds { values, .. } => values.len() as f64 * ROUND_STEP + 8.0,
            Mark::Trials(_) | Mark::Losses(_) => 30.0,
            Mark::Bar(_) | Mark::Dots(_) => MARKS,
        });
        heights.fold(MARKS, f64::max)
    }
}

impl Mark {
    /// Around y = 0.
    fn draw(&self, scale: &Scale) -> Markup {
        let x = |value: f64| across(scale.place(value));
        match self {
            Self::Bar(bar) => bar.draw(scale),
            Self::Rounds {
                values,
                middle,
                is_grey,
            } => {
                let top = -(values.len() as f64 * ROUND_STEP) / 2.0;
                html! {
                    @for (i, value) in values.iter().enumerate() {
                        rect class=(grey("round", *is_grey)) x=(x(0.0)) y=(tenth(top + i as f64 * ROUND_STEP))
                            width=(tenth(x(*value) - x(0.0))) height=(ROUND_BAR) rx="2" {}
                    }
                    line class=(grey("whisker", *is_grey)) x1=(x(*middle)) x2=(x(*middle)) y1=(tenth(top - 2.0)) y2=(tenth(-top)) {}
                }
            }
            Self::Dots(dots) => html! {
                @if let (Some((_, first)), Some((_, last))) = (dots.first(), dots.last()) {
                    line class="span" x1=(x(*first)) x2=(x(*last)) y1="0" y2="0" {}
                }
                @for (dot, value) in dots.iter().rev() {
                    circle class=(dot.class()) cx=(x(*value)) r="4.5" {}
                }
            },
            Self::Trials(trials) => html! {
                line class="grid" x1=(EDGE) x2=(WIDTH - EDGE) y1="0" y2="0" {}
                @let high = |trial: &Trial| tenth(-12.0 * trial.height.clamp(-1.0, 1.0));
                // One path for all dots that are not noisy: a page has thousands of them.
                @let quiet = trials.iter().filter(|trial| !trial.is_noisy);
                @let dots: String = quiet.map(|trial| format!("M{} {}h0", x(trial.at), high(trial))).collect();
                @if !dots.is_empty() { path class="dots" d=(dots) {} }
                @for trial in trials.iter().filter(|trial| trial.is_noisy) {
                    circle class=(Dot::Noisy.class()) cx=(x(trial.at)) cy=(high(trial)) r="2.5" {}
                }
            },
            Self::Losses(trials) => {
                let wide = (x(2.0) - x(1.0)).clamp(1.0, 4.0);
                // One path for all bars of a kind: a page has thousands of them.
                let bars = |noisy: bool| -> String {
                    let shown = trials.iter().filter(|trial| trial.height > 0.0);
                    shown
                        .filter(|trial| trial.is_noisy == noisy)
                        .map(|trial| {
                            let left = tenth(x(trial.at) - wide / 2.0);
                            let (wide, high) = (tenth(wide), tenth(trial.height.min(1.0) * 26.0));
                            format!("M{left} 14v-{high}h{wide}v{high}z")
                        })
                        .collect()
                };
                html! {
                    @for (class, bars) in [("loss", bars(false)), ("loss noisy", bars(true))] {
                        @if !bars.is_empty() { path class=(class) d=(bars) {} }
                    }
                }
            }
        }
    }
}

impl Bar {
    fn draw(&self, scale: &Scale) -> Markup {
        let x = |value: f64| across(scale.place(value));
        let class = |base| grey(base, self.is_grey);
        html! {
            rect class=(class("bar")) x=(x(0.0)) y="-6" width=(tenth(x(self.value) - x(0.0))) height="12" rx="2" {}
            @if let Some((low, high)) = self.interval.map(|(low, high)| (x(low), x(high))) {
                path class=(class("whisker")) d=(format!("M{low} 0H{high}M{low} -4v8M{high} -4v8")) {}
            }
            circle class=(class("dot")) cx=(x(self.value)) r="3.5" {}
        }
    }
}

fn grey(base: &'static str, is_grey: bool) -> String {
    match is_grey {
        true => format!("{base} grey"),
        false => base.to_owned(),
    }
}

/// From a position on the scale (0 to 1) to one in the chart.
fn across(place: f64) -> f64 {
    tenth(EDGE + (WIDTH - 2.0 * EDGE) * place)
}

/// The text anchor that keeps words near an edge inside the chart.
fn anchor(place: f64) -> &'static str {
    match place {
        p if p < 0.05 => "start",
        p if p > 0.9 => "end",
        _ => "middle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number;

    #[test]
    fn a_logarithmic_axis_says_so_and_words_stay_inside() {
        let chart = RowChart {
            title: "Latency: a name that is far too long to fit into one line of a heading, and too long for two lines as well".into(),
            axis: Axis::new("latency", Scale::log([1e6, 4e7]), number::duration),
            limit: Some((4e7, "limit".into())),
            ..RowChart::default()
        };
        let svg = chart.draw().document();
        assert!(svg.contains("latency (log scale)"), "{svg}");
        assert_eq!(svg.matches("class=\"heading\"").count(), 2, "{svg}");
        assert!(svg.contains("…</text>"), "{svg}");
        assert!(!svg.contains("var("), "alone it has its own colours: {svg}");
    }
}
