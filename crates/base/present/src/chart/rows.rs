//! A row for each server, with its figures along one shared axis.
//!
//! The label is above the row's marks, so that a chart is narrow enough for a phone without shrinking its text.

use maud::{Markup, html};

use super::marks::Marks;
use super::{Axis, Chart, Dot, HEADING, anchor, heading_lines, legend, tenth};
use crate::terminal::cut;

const WIDTH: f64 = 360.0;
const EDGE: f64 = 8.0;
/// The height of the legend, and of the line with the limit's name.
const LEGEND: f64 = 20.0;
/// The height of the line with a row's label and value.
const LABEL: f64 = 18.0;
/// The height of a row's marks, unless it has several bars.
const MARKS: f64 = 20.0;
const AXIS: f64 = 40.0;
/// How far above and below a row's marks the line of the limit ends.
const LIMIT_GAP: f64 = 1.0;
const ROUND_BAR: f64 = 8.0;
const ROUND_STEP: f64 = 10.0;
/// About how many characters fit in a label next to its value.
const LINE_LETTERS: usize = 52;

#[derive(Clone, Debug, Default)]
pub struct RowChart {
    pub title: String,
    /// The text alternative.
    pub description: String,
    pub axis: Axis,
    pub legend: Vec<(Dot, String)>,
    /// A named line beside the marks of all rows: the ceiling.
    pub limit: Option<(f64, String)>,
    pub rows: Vec<Series>,
}

#[derive(Clone, Debug, Default)]
pub struct Series {
    pub label: String,
    /// The figure, and its name if the title does not give it.
    pub value: String,
    pub note: String,
    pub marks: Vec<Mark>,
}

#[derive(Clone, Debug)]
pub enum Mark {
    Bar(Bar),
    /// A bar for each round, and a line at their summary.
    Rounds {
        values: Vec<f64>,
        middle: f64,
        is_grey: bool,
    },
    Dots(Vec<(Dot, f64)>),
    /// Trials in order, each above or below the middle by its figure's distance from the usual one (-1 to 1).
    Trials(Vec<Trial>),
    /// Trials in order, each a bar whose height is its share (0 to 1) of the row.
    Losses(Vec<Trial>),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Bar {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// Whether it is drawn in grey, because it is not comparable with the others.
    pub is_grey: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub at: f64,
    pub height: f64,
    pub is_noisy: bool,
}

impl RowChart {
    pub fn draw(&self) -> Chart {
        let has_legend = !self.legend.is_empty() || self.limit.is_some();
        let heading = heading_lines(&self.title);
        let below_heading = HEADING * heading.len() as f64 + 8.0;
        let top = below_heading + if has_legend { LEGEND } else { 0.0 };
        let mut ends = top;
        let mut rows: Vec<(f64, &Series)> = Vec::new();
        for row in &self.rows {
            rows.push((ends, row));
            ends += LABEL + row.height();
        }
        let mut marks = Marks::in_order(&STYLES);
        let x = |value: f64| across(self.axis.scale.place(value));
        for (begins, row) in &rows {
            let marks_of_row = row.marks.iter();
            let y = row.middle(*begins);
            marks_of_row.for_each(|mark| mark.draw(&mut marks, &x, y));
        }
        let body = html! {
            (super::heading(&heading, EDGE))
            (legend(&self.legend, EDGE, below_heading))
            (self.grid(top, ends))
            @if let Some((value, name)) = &self.limit { (self.limit_line(*value, name, top, &rows)) }
            (marks.draw())
            (self.words(&rows))
        };
        Chart::of(&self.title, &self.description, [WIDTH, ends + AXIS], body)
    }

    fn grid(&self, top: f64, bottom: f64) -> Markup {
        let lines: String = self
            .axis
            .ticks()
            .map(|(place, _)| format!("M{} {top}V{bottom}", across(place)))
            .collect();
        html! {
            path class="grid" d=(lines) {}
            @for (place, tick) in self.axis.ticks() {
                @let x = across(place);
                text class="tick" x=(x) y=(bottom + 14.0) text-anchor=(anchor(place)) { (tick) }
            }
            text class="axis-title" x=(WIDTH / 2.0) y=(bottom + 31.0) text-anchor="middle" { (self.axis.title) }
        }
    }

    /// A line beside the marks of each row: through the labels it would cross figures.
    fn limit_line(&self, value: f64, name: &str, top: f64, rows: &[(f64, &Series)]) -> Markup {
        let place = self.axis.scale.place(value);
        let x = across(place);
        let beside = rows.iter().map(|(begins, row)| {
            let (middle, half) = (row.middle(*begins), row.height() / 2.0 - LIMIT_GAP);
            format!("M{x} {}V{}", tenth(middle - half), tenth(middle + half))
        });
        html! {
            path class="limit" d=(beside.collect::<String>()) {}
            text class="limit-text" x=(x) y=(top - 9.0) text-anchor=(anchor(place)) { (name) }
        }
    }

    /// The labels of the rows, and their figures at the right edge.
    fn words(&self, rows: &[(f64, &Series)]) -> Markup {
        html! {
            g class="label" transform={ "translate(" (EDGE) " 0)" } {
                @for (begins, row) in rows {
                    @let shown = row.shown_label();
                    text y=(tenth(begins + 13.0)) {
                        // A label that is shown in full needs no tip.
                        @if shown != row.label { title { (row.label) ": " (row.value) " " (row.note) } }
                        (shown)
                    }
                }
            }
            g class="value" transform={ "translate(" (WIDTH - EDGE) " 0)" } {
                @for (begins, row) in rows.iter().filter(|(_, row)| row.has_words()) {
                    text y=(tenth(begins + 13.0)) {
                        (row.value)
                        @if !row.note.is_empty() { tspan dx="6" { (row.note) } }
                    }
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

    /// The middle of its marks in a row that begins there.
    fn middle(&self, begins: f64) -> f64 {
        tenth(begins + LABEL + self.height() / 2.0 - 2.0)
    }

    fn has_words(&self) -> bool {
        !self.value.is_empty() || !self.note.is_empty()
    }

    fn shown_label(&self) -> String {
        let taken = self.value.chars().count() + self.note.chars().count() + 2;
        cut(&self.label, LINE_LETTERS.saturating_sub(taken).max(12))
    }
}

/// The styles of marks, from the lowest to the topmost.
const STYLES: [&str; 16] = [
    "grid",
    "bar",
    "bar grey",
    "round",
    "round grey",
    "span",
    "whisker",
    "whisker grey",
    "dots p999",
    "dots p99",
    "dots p90",
    "dots p50",
    "dots point",
    "dots",
    "loss",
    "loss noisy",
];

impl Marks {
    fn bar(&mut self, bar: &Bar, x: &dyn Fn(f64) -> f64, y: f64) {
        let (fill, whisker) = if bar.is_grey {
            ("bar grey", "whisker grey")
        } else {
            ("bar", "whisker")
        };
        self.add(fill, &format!("M{} {y}H{}", x(0.0), x(bar.value)));
        if let Some((low, high)) = bar.interval.map(|(low, high)| (x(low), x(high))) {
            let top = tenth(y - 4.0);
            self.add(whisker, &format!("M{low} {top}v8m0 -4H{high}m0 -4v8"));
        }
        if bar.is_grey {
            self.circle("dot grey", (x(bar.value), y), 3.5, None);
        } else {
            self.dot("dots point", (x(bar.value), y));
        }
    }

    fn rounds(
        &mut self,
        values: &[f64],
        middle: f64,
        is_grey: bool,
        x: &dyn Fn(f64) -> f64,
        y: f64,
    ) {
        let (fill, whisker) = if is_grey {
            ("round grey", "whisker grey")
        } else {
            ("round", "whisker")
        };
        let half = values.len() as f64 * ROUND_STEP / 2.0;
        for (i, value) in values.iter().enumerate() {
            let middle = tenth(y - half + i as f64 * ROUND_STEP + ROUND_BAR / 2.0);
            self.add(fill, &format!("M{} {middle}H{}", x(0.0), x(*value)));
        }
        let (top, bottom) = (tenth(y - half - 2.0), tenth(y + half));
        self.add(whisker, &format!("M{} {top}V{bottom}", x(middle)));
    }

    fn dots(&mut self, dots: &[(Dot, f64)], x: &dyn Fn(f64) -> f64, y: f64) {
        if let (Some((_, first)), Some((_, last))) = (dots.first(), dots.last()) {
            self.add("span", &format!("M{} {y}H{}", x(*first), x(*last)));
        }
        for (dot, value) in dots {
            let style = match dot {
                Dot::Plain | Dot::Noisy | Dot::Warming => "dots point".to_owned(),
                percentile => format!("dots {}", percentile.class()),
            };
            self.dot(&style, (x(*value), y));
        }
    }

    fn trials(&mut self, trials: &[Trial], x: &dyn Fn(f64) -> f64, y: f64) {
        self.add("grid", &format!("M{EDGE} {y}H{}", WIDTH - EDGE));
        for trial in trials {
            let x = x(trial.at);
            let y = tenth(y - 12.0 * trial.height.clamp(-1.0, 1.0));
            if trial.is_noisy {
                self.circle(Dot::Noisy.class(), (x, y), 2.5, None);
            } else {
                self.dot("dots", (x, y));
            }
        }
    }

    fn losses(&mut self, trials: &[Trial], x: &dyn Fn(f64) -> f64, y: f64) {
        self.loss_width = tenth((x(2.0) - x(1.0)).clamp(1.0, 4.0));
        for trial in trials.iter().filter(|trial| trial.height > 0.0) {
            let style = if trial.is_noisy { "loss noisy" } else { "loss" };
            let high = tenth(trial.height.min(1.0) * 26.0);
            self.add(style, &format!("M{} {}v-{high}", x(trial.at), y + 14.0));
        }
    }
}

impl Mark {
    /// Around the height `y`; `x` says where a figure is.
    fn draw(&self, marks: &mut Marks, x: &dyn Fn(f64) -> f64, y: f64) {
        match self {
            Self::Bar(bar) => marks.bar(bar, x, y),
            Self::Rounds {
                values,
                middle,
                is_grey,
            } => marks.rounds(values, *middle, *is_grey, x, y),
            Self::Dots(dots) => marks.dots(dots, x, y),
            Self::Trials(trials) => marks.trials(trials, x, y),
            Self::Losses(trials) => marks.losses(trials, x, y),
        }
    }
}

/// From a position on the scale (0 to 1) to one in the chart.
fn across(place: f64) -> f64 {
    tenth(EDGE + (WIDTH - 2.0 * EDGE) * place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::number;
    use prony_testkit::contains;

    #[test]
    fn a_logarithmic_axis_says_so_and_words_stay_inside() {
        let chart = RowChart {
            title: "Latency: a name that is far too long to fit into one line of a heading, and too long for two lines as well".into(),
            axis: Axis::new("latency", Scale::log([1e6, 4e7]), number::duration),
            limit: Some((4e7, "limit".into())),
            ..RowChart::default()
        };
        let svg = chart.draw().document();
        contains(&svg, "latency (log scale)");
        assert_eq!(svg.matches("class=\"heading\"").count(), 2, "{svg}");
        contains(&svg, "…</text>");
        assert!(!svg.contains("var("), "alone it has its own colours: {svg}");
    }

    #[test]
    fn the_line_of_the_limit_crosses_no_words() {
        let row = |name: &str| Series {
            label: name.into(),
            value: "107 k".into(),
            ..Series::default()
        };
        let chart = RowChart {
            axis: Axis::new("rate", Scale::linear(100.0, 4), number::count),
            limit: Some((98.0, "ceiling".into())),
            rows: vec![row("go"), row("bun")],
            ..RowChart::default()
        };
        let svg = chart.draw().document();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let mut nodes = tree.descendants();
        let limit = nodes.find(|node| node.attribute("class") == Some("limit"));
        let path = limit.and_then(|node| node.attribute("d")).unwrap();
        let ends = |part: &str| -> Vec<f64> {
            let (_, heights) = part.split_once(' ').unwrap();
            heights.split('V').map(|y| y.parse().unwrap()).collect()
        };
        let parts: Vec<Vec<f64>> = path.split('M').skip(1).map(ends).collect();
        assert_eq!(parts.len(), 2, "{path}");
        let words = tree.descendants();
        let words = words.filter(|node| node.text() == Some("107 k"));
        let baselines = words.filter_map(|node| node.attribute("y")?.parse::<f64>().ok());
        for (part, baseline) in parts.iter().zip(baselines) {
            assert!(baseline + 3.0 < part[0] && part[0] < part[1], "{svg}");
        }
        assert!(parts[0][1] < parts[1][0] - LABEL + 5.0, "{svg}");
    }
}
