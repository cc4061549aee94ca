//! A figure over the runs of one server: a point with its interval for each run, in their order.
//!
//! A line joins points only if the caller says that the two runs are alike. The chart is as narrow as a row chart, so that a
//! phone shows it without shrinking its text.

use maud::{Markup, html};

use super::{Axis, Chart, Dot, Plot, tenth};
use crate::terminal::cut;

const WIDTH: f64 = 360.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 348.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 212.0;
const PLOT: Plot = Plot {
    left: LEFT,
    right: RIGHT,
    top: TOP,
    bottom: BOTTOM,
};
/// Where the marks of changed servers are.
const MARKS: f64 = BOTTOM + 11.0;
const DATES: f64 = BOTTOM + 30.0;
const LEGEND: f64 = BOTTOM + 52.0;
const HEIGHT: f64 = BOTTOM + 62.0;
/// About how many characters fit in the heading and the line below it.
const HEADING_LETTERS: usize = 48;
const LINE_LETTERS: usize = 58;
/// How far apart the names of dates must be.
const DATE_WIDTH: f64 = 72.0;

#[derive(Clone, Debug, Default)]
pub struct HistoryChart {
    pub title: String,
    pub subtitle: String,
    /// The text alternative.
    pub description: String,
    /// The vertical axis. Its title goes into the subtitle's line.
    pub y: Axis,
    pub points: Vec<HistoryPoint>,
}

#[derive(Clone, Debug, Default)]
pub struct HistoryPoint {
    /// Its date, as the axis shows it.
    pub date: String,
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// Whether the figure needs care: a lower bound, or of a run that did not complete.
    pub is_unsure: bool,
    /// Whether it was measured under the same conditions as the point before, so that a line may join the two.
    pub joins_previous: bool,
    /// How the conditions differ from those of the point before; empty if they do not, and for the first point.
    pub conditions: String,
    /// How the server differs from that of the point before: its version or its sources; empty if it does not.
    pub server: String,
    pub tip: String,
    pub href: String,
}

impl HistoryChart {
    pub fn draw(&self) -> Chart {
        let body = html! {
            text class="heading" x="8" y="18" { (cut(&self.title, HEADING_LETTERS)) }
            text class="soft tick" x="8" y="36" { (cut(&self.subtitle, LINE_LETTERS)) }
            (self.grid())
            (self.dates())
            @for (i, point) in self.points.iter().enumerate() { (self.changes(i, point)) }
            @for joined in self.joined() {
                polyline class="joined" points=(joined.join(" ")) {}
            }
            @for (i, point) in self.points.iter().enumerate() { (self.point(i, point)) }
            (self.legend())
        };
        Chart::of(&self.title, &self.description, [WIDTH, HEIGHT], body)
    }

    /// Where a run is. Runs are equally far apart, because many may be of one day.
    fn x(&self, place: usize) -> f64 {
        PLOT.across((place as f64 + 0.5) / self.points.len().max(1) as f64)
    }

    fn y(&self, value: f64) -> f64 {
        PLOT.up(self.y.scale.place(value))
    }

    fn grid(&self) -> Markup {
        html! {
            @for (place, tick) in self.y.ticks() {
                @let y = PLOT.up(place);
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                text class="tick" x=(LEFT - 6.0) y=(y + 4.0) text-anchor="end" { (tick) }
            }
        }
    }

    /// Dates below the runs, each once, and only as many as there is room for.
    fn dates(&self) -> Markup {
        let mut shown: Vec<(f64, &str)> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let half = DATE_WIDTH / 2.0;
            let x = self.x(i).clamp(LEFT + half - 20.0, RIGHT - half + 6.0);
            let mut last = shown.last().into_iter();
            let has_room = last.all(|(last, date)| x - last >= DATE_WIDTH && *date != point.date);
            if has_room {
                shown.push((x, &point.date));
            }
        }
        html! {
            @for (x, date) in shown {
                text class="tick" x=(tenth(x)) y=(DATES) text-anchor="middle" { (date) }
            }
        }
    }

    /// The points of each line: runs of points that may be joined.
    fn joined(&self) -> Vec<Vec<String>> {
        let mut lines: Vec<Vec<String>> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let here = format!("{},{}", self.x(i), self.y(point.value));
            match lines.last_mut() {
                Some(line) if point.joins_previous => line.push(here),
                _ => lines.push(vec![here]),
            }
        }
        lines.retain(|line| line.len() > 1);
        lines
    }

    fn changes(&self, i: usize, point: &HistoryPoint) -> Markup {
        let x = self.x(i);
        let between = match i {
            0 => x,
            _ => tenth(f64::midpoint(self.x(i - 1), x)),
        };
        html! {
            @if !point.conditions.is_empty() {
                line class="limit" x1=(between) x2=(between) y1=(TOP - 6.0) y2=(BOTTOM) data-tip=(point.conditions) {
                    title { (point.conditions) }
                }
            }
            @if !point.server.is_empty() {
                path class="changed" d=(triangle(x, MARKS)) data-tip=(point.server) { title { (point.server) } }
            }
        }
    }

    fn point(&self, i: usize, point: &HistoryPoint) -> Markup {
        let (x, y) = (self.x(i), self.y(point.value));
        let dot = if point.is_unsure {
            Dot::Noisy
        } else {
            Dot::Plain
        };
        let marks = html! {
            @if let Some((low, high)) = point.interval {
                line class="whisker" x1=(x) x2=(x) y1=(self.y(high)) y2=(self.y(low)) {}
            }
            circle class=(dot.class()) cx=(x) cy=(y) r="3.5" data-tip=(point.tip) { title { (point.tip) } }
        };
        html! {
            @if point.href.is_empty() { (marks) } @else {
                a href=(point.href) aria-label=(point.tip) { (marks) }
            }
        }
    }

    fn legend(&self) -> Markup {
        let has = |mark: fn(&HistoryPoint) -> bool| self.points.iter().any(mark);
        let y = LEGEND;
        let mut x = 12.0;
        let mut next = |words: &str| {
            let here = x;
            x += 26.0 + 5.6 * words.chars().count() as f64;
            tenth(here)
        };
        html! {
            @if has(|point| !point.conditions.is_empty()) {
                @let words = "other conditions";
                @let x = next(words);
                line class="limit" x1=(x) x2=(x) y1=(y - 9.0) y2=(y + 1.0) {}
                text class="tick" x=(x + 8.0) y=(y) { (words) }
            }
            @if has(|point| !point.server.is_empty()) {
                @let words = "other version or sources";
                @let x = next(words);
                path class="changed" d=(triangle(x, y - 4.0)) {}
                text class="tick" x=(x + 8.0) y=(y) { (words) }
            }
            @if has(|point| point.is_unsure) {
                @let words = "read with care";
                @let x = next(words);
                circle class=(Dot::Noisy.class()) cx=(x) cy=(y - 4.0) r="3.5" {}
                text class="tick" x=(x + 8.0) y=(y) { (words) }
            }
        }
    }
}

fn triangle(x: f64, y: f64) -> String {
    let (left, right) = (tenth(x - 4.5), tenth(x + 4.5));
    format!("M{left} {}L{x} {}L{right} {}Z", y + 4.0, y - 4.0, y + 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::number;
    use prony_testkit::page;

    fn point(value: f64, joins_previous: bool) -> HistoryPoint {
        HistoryPoint {
            date: "2026-11-21".into(),
            value,
            interval: Some((value * 0.98, value * 1.02)),
            joins_previous,
            conditions: if joins_previous { "" } else { "kernel" }.into(),
            tip: "a <b>".into(),
            href: "../runs/a.html".into(),
            ..HistoryPoint::default()
        }
    }

    fn chart(points: Vec<HistoryPoint>) -> HistoryChart {
        HistoryChart {
            title: "hello".into(),
            y: Axis::new("rate", Scale::linear(110.0, 4), number::count),
            points,
            ..HistoryChart::default()
        }
    }

    #[test]
    fn no_line_crosses_a_change_of_conditions() {
        let joins = [false, true, true, false, true];
        let values = [100.0, 101.0, 99.0, 50.0, 51.0];
        let points = values.into_iter().zip(joins);
        let points = points.map(|(value, joins)| point(value, joins));
        let svg = chart(points.collect()).draw().document();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let lines = page::all(tree.root(), "polyline").into_iter();
        let lines = lines.map(|node| node.attribute("points").unwrap().split(' ').count());
        assert_eq!(lines.collect::<Vec<_>>(), [3, 2]);
        assert_eq!(page::all(tree.root(), "circle").len(), values.len());
    }

    #[test]
    fn a_point_alone_has_no_line_and_no_points_are_an_empty_chart() {
        let alone = chart(vec![point(100.0, false)]).draw().document();
        assert!(!alone.contains("<polyline") && alone.contains("a &lt;b&gt;"));
        assert!(!chart(Vec::new()).draw().document().contains("NaN"));
    }

    #[test]
    fn dates_do_not_overlap() {
        let many = (0..50).map(|i| HistoryPoint {
            date: format!("2026-11-{:02}", i % 28 + 1),
            ..point(100.0, i > 0)
        });
        let svg = chart(many.collect()).draw().document();
        let dates = svg.matches(">2026-").count();
        assert!((3..=5).contains(&dates), "{svg}");
    }
}
