//! Curves over two axes, with marked levels, a marked interval and a marked point.

use maud::{Markup, html};

use super::{Axis, Chart, Dot, tenth};
use crate::terminal::cut;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 350.0;

/// Curves over two axes.
#[derive(Clone, Debug, Default)]
pub struct CurveChart {
    /// The title.
    pub title: String,
    /// A line below the title.
    pub subtitle: String,
    /// The text alternative.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Marked values of the vertical axis.
    pub levels: Vec<Level>,
    /// A marked interval of the horizontal axis.
    pub band: Option<Band>,
    /// A named value, marked on the horizontal axis.
    pub point: Option<(f64, String)>,
}

/// A curve with its name at the end.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// The style of its line.
    pub style: Dot,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// A marked value of the vertical axis.
#[derive(Clone, Debug)]
pub struct Level {
    /// The value.
    pub at: f64,
    /// Its name.
    pub name: String,
}

/// A marked value of the horizontal axis with its interval.
#[derive(Clone, Debug)]
pub struct Band {
    /// The value.
    pub at: f64,
    /// The interval.
    pub interval: Option<(f64, f64)>,
    /// Its name.
    pub name: String,
}

impl CurveChart {
    /// Draws it.
    pub fn draw(&self) -> Chart {
        let body = html! {
            text class="heading" x=(LEFT) y="20" { (cut(&self.title, 80)) }
            text class="soft" x=(LEFT) y="38" { (cut(&self.subtitle, 95)) }
            (self.grid())
            @if let Some(band) = &self.band { (self.band(band)) }
            @for level in &self.levels {
                @let y = self.y(level.at);
                line class="level" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                text class="level-text" x=(LEFT + 6.0) y=(y - 5.0) { (level.name) }
            }
            @for curve in &self.curves { (self.curve(curve)) }
            (self.names())
            @if let Some((at, name)) = &self.point { (self.point(*at, name)) }
        };
        Chart {
            title: self.title.clone(),
            description: self.description.clone(),
            width: WIDTH,
            height: HEIGHT,
            body,
        }
    }

    fn x(&self, value: f64) -> f64 {
        tenth(LEFT + (RIGHT - LEFT) * self.x.scale.place(value))
    }

    fn y(&self, value: f64) -> f64 {
        tenth(BOTTOM - (BOTTOM - TOP) * self.y.scale.place(value))
    }

    fn grid(&self) -> Markup {
        let middle = (TOP + BOTTOM) / 2.0;
        html! {
            @for (place, tick) in self.y.ticks() {
                @let y = tenth(BOTTOM - (BOTTOM - TOP) * place);
                line class="grid" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                text class="tick" x=(LEFT - 8.0) y=(y + 4.0) text-anchor="end" { (tick) }
            }
            @for (place, tick) in self.x.ticks() {
                @let x = tenth(LEFT + (RIGHT - LEFT) * place);
                line class="grid" x1=(x) x2=(x) y1=(BOTTOM) y2=(BOTTOM + 5.0) {}
                text class="tick" x=(x) y=(BOTTOM + 20.0) text-anchor="middle" { (tick) }
            }
            text class="axis-title" x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 44.0) text-anchor="middle" { (self.x.title) }
            text class="axis-title" transform={ "rotate(-90 20 " (middle) ")" } x="20" y=(middle) text-anchor="middle" {
                (self.y.title)
            }
        }
    }

    fn curve(&self, curve: &Curve) -> Markup {
        let points: Vec<(f64, f64)> = curve
            .points
            .iter()
            .map(|(x, y)| (self.x(*x), self.y(*y)))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        html! {
            @if !points.is_empty() {
                polyline class={ "curve " (curve.style.class()) } points=(path.join(" ")) {}
                @for (x, y) in &points { circle class=(curve.style.class()) cx=(x) cy=(y) r="3" {} }
            }
        }
    }

    /// Places the names of the curves at their ends, from the highest down, without overlaps.
    fn names(&self) -> Markup {
        let mut ends: Vec<(f64, f64, &Curve)> = self
            .curves
            .iter()
            .filter_map(|curve| {
                let &(x, y) = curve.points.last()?;
                Some((self.x(x), self.y(y), curve))
            })
            .collect();
        ends.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut lowest = 0.0_f64;
        html! {
            @for (x, y, curve) in ends {
                @let () = lowest = (y + 4.0).max(lowest + 13.0);
                text class="label" x=(x + 8.0) y=(tenth(lowest)) { (curve.name) }
            }
        }
    }

    fn band(&self, band: &Band) -> Markup {
        let x = self.x(band.at);
        html! {
            @if let Some((low, high)) = band.interval.map(|(low, high)| (self.x(low), self.x(high))) {
                rect class="band" x=(low) y=(TOP) width=(tenth(high - low)) height=(BOTTOM - TOP) {}
            }
            line class="middle" x1=(x) x2=(x) y1=(TOP) y2=(BOTTOM) {}
            text class="label" x=(x - 5.0) y=(TOP + 12.0) text-anchor="end" { (band.name) }
        }
    }

    fn point(&self, at: f64, name: &str) -> Markup {
        let x = self.x(at);
        let up = BOTTOM - 10.0;
        html! {
            path class="knee" d=(format!("M{} {up}L{x} {BOTTOM}L{} {up}", x - 6.0, x + 6.0)) {}
            text class="label" x=(x) y=(BOTTOM - 16.0) text-anchor="middle" { (name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::number;

    #[test]
    fn higher_is_longer_and_farther_right_is_more() {
        let chart = CurveChart {
            x: Axis::new("rate", Scale::linear(200.0, 5), number::count),
            y: Axis::new("latency", Scale::log([1e6, 1e8]), number::duration),
            ..CurveChart::default()
        };
        assert!(chart.y(1e8) < chart.y(1e6) && chart.x(200.0) > chart.x(100.0));
        assert_eq!((chart.x(0.0), chart.y(1e6)), (LEFT, BOTTOM));
    }
}
