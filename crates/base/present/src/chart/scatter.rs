//! A point for each server over two axes, with its name if there is room.

use maud::{Markup, html};

use super::labels::{Area, LabelPosition, positions};
use super::marks::Marks;
use super::{Axis, Chart, HEADING, NOTE, Plot, heading, heading_lines, note_lines, notes, tenth};
use crate::words::plural;

const WIDTH: f64 = 360.0;
const EDGE: f64 = 8.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 342.0;
const HEIGHT: f64 = 220.0;
/// Keeps points away from the edges of the plot.
const MARGIN: f64 = 8.0;
const RADIUS: f64 = 4.0;

#[derive(Clone, Debug, Default)]
pub struct ScatterChart {
    pub title: String,
    /// The text alternative.
    pub description: String,
    pub x: Axis,
    /// The vertical axis; its title is above it.
    pub y: Axis,
    /// The points; the first ones choose first where their names go.
    pub points: Vec<ScatterPoint>,
}

#[derive(Clone, Debug, Default)]
pub struct ScatterPoint {
    pub name: String,
    pub x: f64,
    pub y: f64,
    /// The interval of the vertical value.
    pub interval: Option<(f64, f64)>,
    /// Whether it is drawn in grey, because it is not comparable with the others.
    pub is_grey: bool,
}

impl ScatterChart {
    pub fn draw(&self) -> Chart {
        let heading_of = heading_lines(&self.title);
        let top = HEADING * heading_of.len() as f64 + 24.0;
        let bottom = top + HEIGHT;
        let plot = Plot {
            left: LEFT + MARGIN,
            right: RIGHT - MARGIN,
            top,
            bottom,
        };
        let placed = self.placed(plot);
        let unnamed = placed.iter().filter(|place| place.is_none()).count();
        let said = match unnamed {
            0 => Vec::new(),
            n => note_lines(&format!(
                "{} without a name, for lack of room: point at one, or see the table.",
                plural(n, "server")
            )),
        };
        let body = html! {
            (heading(&heading_of, EDGE))
            (self.grid(plot))
            (self.marks(&placed, plot))
            (self.names(&placed))
            (notes(&said, EDGE, bottom + 40.0))
        };
        let height = bottom + 46.0 + NOTE * said.len() as f64;
        Chart::of(&self.title, &self.description, [WIDTH, height], body)
    }

    fn at(&self, plot: Plot, x: f64, y: f64) -> (f64, f64) {
        let (x, y) = (self.x.scale.place(x), self.y.scale.place(y));
        (plot.across(x), plot.up(y))
    }

    fn placed(&self, plot: Plot) -> Vec<Option<LabelPosition>> {
        let points = self.points.iter();
        let (points, names): (Vec<_>, Vec<_>) = points
            .map(|point| (self.at(plot, point.x, point.y), point.name.as_str()))
            .unzip();
        let dots = points.iter().map(|point| Area::around(*point, RADIUS));
        let whiskers = self.points.iter().filter_map(|point| {
            let (low, high) = point.interval?;
            let (x, low) = self.at(plot, point.x, low);
            let (_, high) = self.at(plot, point.x, high);
            Some(Area {
                left: x - 1.0,
                right: x + 1.0,
                top: high,
                bottom: low,
            })
        });
        let taken = dots.chain(whiskers).collect();
        let within = Area {
            left: LEFT,
            right: WIDTH,
            top: plot.top - 6.0,
            bottom: plot.bottom,
        };
        positions(&points, &names, taken, &within)
    }

    fn grid(&self, plot: Plot) -> Markup {
        let Plot { top, bottom, .. } = plot;
        let lines = self.y.ticks();
        let lines = lines.map(|(place, _)| format!("M{LEFT} {}H{RIGHT}", plot.up(place)));
        let upright = self.x.ticks();
        let upright = upright.map(|(place, _)| format!("M{} {top}V{bottom}", plot.across(place)));
        html! {
            path class="grid" d=(lines.chain(upright).collect::<String>()) {}
            g class="tick" text-anchor="end" {
                @for (place, tick) in self.y.ticks() { text x=(LEFT - 6.0) y=(tenth(plot.up(place) + 4.0)) { (tick) } }
            }
            // The last tick has room at its right, and none at its left for its whole width.
            g class="tick" text-anchor="middle" {
                @for (place, tick) in self.x.ticks() { text x=(plot.across(place)) y=(bottom + 15.0) { (tick) } }
            }
            text class="axis-title" x=((LEFT + RIGHT) / 2.0) y=(bottom + 32.0) text-anchor="middle" { (self.x.title) }
            text class="axis-title" x=(EDGE) y=(top - 10.0) { (self.y.title) }
        }
    }

    fn marks(&self, placed: &[Option<LabelPosition>], plot: Plot) -> Markup {
        let mut marks = Marks::in_order(&["whisker grey", "whisker", "dots point"]);
        for (point, place) in self.points.iter().zip(placed) {
            let (x, y) = self.at(plot, point.x, point.y);
            if let Some((low, high)) = point.interval {
                let (_, low) = self.at(plot, point.x, low);
                let (_, high) = self.at(plot, point.x, high);
                let whisker = if point.is_grey {
                    "whisker grey"
                } else {
                    "whisker"
                };
                marks.add(whisker, &format!("M{x} {low}V{high}"));
            }
            if !point.is_grey && place.is_some() {
                marks.dot("dots point", (x, y));
                continue;
            }
            marks.circle(
                if point.is_grey { "dot grey" } else { "dot" },
                (x, y),
                3.5,
                place.is_none().then(|| point.name.clone()),
            );
        }
        marks.draw()
    }

    fn names(&self, placed: &[Option<LabelPosition>]) -> Markup {
        let named = self.points.iter().zip(placed);
        html! {
            g class="label tick" {
                @for (point, place) in named {
                    @if let Some(LabelPosition { x, y }) = place { text x=(tenth(*x)) y=(tenth(*y)) { (point.name) } }
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
    use prony_testkit::page;

    fn chart(points: usize) -> ScatterChart {
        let point = |n: usize| ScatterPoint {
            name: format!("server-{n:02}"),
            x: 1e6,
            y: 100.0 + n as f64 / 100.0,
            interval: Some((99.0, 103.0)),
            is_grey: n == 0,
        };
        ScatterChart {
            title: "Throughput and memory: hello".into(),
            x: Axis::new("peak memory", Scale::log([5e5, 2e6]), number::bytes),
            y: Axis::new("rate", Scale::linear(110.0, 4), number::count),
            points: (0..points).map(point).collect(),
            ..ScatterChart::default()
        }
    }

    #[test]
    fn every_point_has_a_name_or_a_tip_and_the_chart_counts_the_tips() {
        for points in [1, 3, 30] {
            let svg = chart(points).draw().document();
            let tree = roxmltree::Document::parse(&svg).unwrap();
            let tips = svg.matches("<title>server-").count();
            let names = page::texts(tree.root(), "text").into_iter();
            let names = names.filter(|text| text.starts_with("server-")).count();
            assert_eq!(names + tips, points, "{svg}");
            assert_eq!(svg.contains("without a name"), tips > 0, "{svg}");
            assert_eq!(svg.matches("class=\"dot grey\"").count(), 1, "{svg}");
            assert!(points > 1 || names == 1, "{svg}");
        }
    }
}
