//! Curves over two axes, with marked levels, a marked interval and a marked point.

use maud::{Markup, html};

use super::{
    Axis, Chart, Dot, HEADING, NOTE, Plot, anchor, heading, heading_lines, note_lines, notes, tenth,
};
use crate::terminal::cut;

/// How large a chart of curves is, and where the names of its curves are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Frame {
    /// A picture of its own, with the names at the ends of the curves.
    #[default]
    Wide,
    /// As narrow as a row chart, so that a phone shows it without shrinking its text; the names are in a legend below.
    Narrow,
}

const WIDE: Plot = Plot {
    left: 90.0,
    right: 690.0,
    top: 56.0,
    bottom: 350.0,
};
const WIDE_SIZE: [f64; 2] = [760.0, 420.0];
const NARROW_WIDTH: f64 = 360.0;
/// How high the plot of a narrow chart is.
const NARROW_HEIGHT: f64 = 190.0;
/// How many columns a legend has, and how many letters fit in an entry.
const LEGEND_COLUMNS: usize = 2;
const LEGEND_LETTERS: usize = 22;
const EDGE: f64 = 8.0;

#[derive(Clone, Debug, Default)]
pub struct CurveChart {
    pub title: String,
    /// A line below the title; in a narrow chart lines below the legend.
    pub subtitle: String,
    /// The text alternative.
    pub description: String,
    pub frame: Frame,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
    pub levels: Vec<Level>,
    pub band: Option<Band>,
    pub point: Option<(f64, String)>,
}

#[derive(Clone, Debug)]
pub struct Curve {
    pub name: String,
    pub style: Line,
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Of a percentile, with a dot at each point.
    Measured(Dot),
    /// The nth of several, told apart by colour and dashes.
    Nth(usize),
    Grey,
}

impl Line {
    /// How many curves beside each other can be told apart.
    pub const MOST: usize = 8;

    fn class(self) -> String {
        match self {
            Self::Measured(dot) => format!("curve {}", dot.class()),
            // Colours that some readers confuse have different dashes.
            Self::Nth(n) => {
                let dash = (n + 2 * (n / 4)) % 4 + 1;
                format!("curve line-{} dash-{dash}", n % 4 + 1)
            }
            Self::Grey => "curve grey".to_owned(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Level {
    pub at: f64,
    pub name: String,
}

/// A marked value of the horizontal axis with its interval.
#[derive(Clone, Debug)]
pub struct Band {
    pub at: f64,
    pub interval: Option<(f64, f64)>,
    pub name: String,
}

impl CurveChart {
    pub fn draw(&self) -> Chart {
        let plot = self.plot();
        let legend = self.legend_lines();
        let (size, words) = match self.frame {
            Frame::Wide => (WIDE_SIZE, self.wide_words()),
            Frame::Narrow => {
                let below = plot.bottom + 42.0 + NOTE * legend.len() as f64;
                let said = note_lines(&self.subtitle);
                let words = html! {
                    (heading(&heading_lines(&self.title), EDGE))
                    (self.legend(&legend, plot.bottom + 42.0))
                    (notes(&said, EDGE, below))
                };
                let height = below + NOTE * said.len() as f64 + 8.0;
                ([NARROW_WIDTH, height], words)
            }
        };
        let body = html! {
            (self.grid())
            @if let Some(band) = &self.band { (self.band(band)) }
            @for level in &self.levels {
                @let y = self.y(level.at);
                line class="level" x1=(plot.left) x2=(plot.right) y1=(y) y2=(y) {}
                text class="level-text" x=(plot.left + 6.0) y=(y - 5.0) { (level.name) }
            }
            @for curve in &self.curves { (self.curve(curve)) }
            (words)
            @if let Some((at, name)) = &self.point { (self.point(*at, name)) }
        };
        Chart::of(&self.title, &self.description, size, body)
    }

    fn plot(&self) -> Plot {
        if self.frame == Frame::Wide {
            return WIDE;
        }
        let top = HEADING * heading_lines(&self.title).len() as f64 + 24.0;
        Plot {
            left: 54.0,
            right: 346.0,
            top,
            bottom: top + NARROW_HEIGHT,
        }
    }

    fn wide_words(&self) -> Markup {
        html! {
            text class="heading" x=(WIDE.left) y="20" { (cut(&self.title, 80)) }
            text class="soft" x=(WIDE.left) y="38" { (cut(&self.subtitle, 95)) }
            (self.names())
        }
    }

    fn x(&self, value: f64) -> f64 {
        self.plot().across(self.x.scale.place(value))
    }

    fn y(&self, value: f64) -> f64 {
        self.plot().up(self.y.scale.place(value))
    }

    fn grid(&self) -> Markup {
        let plot = self.plot();
        let Plot {
            left,
            right,
            top,
            bottom,
        } = plot;
        let middle = (top + bottom) / 2.0;
        let lines = self.y.ticks();
        let lines = lines.map(|(place, _)| format!("M{left} {}H{right}", plot.up(place)));
        let marks = self.x.ticks();
        let marks = marks.map(|(place, _)| format!("M{} {bottom}v5", plot.across(place)));
        html! {
            path class="grid" d=(lines.chain(marks).collect::<String>()) {}
            g class="tick" text-anchor="end" {
                @for (place, tick) in self.y.ticks() { text x=(left - 8.0) y=(tenth(plot.up(place) + 4.0)) { (tick) } }
            }
            g class="tick" {
                @for (place, tick) in self.x.ticks() {
                    text x=(plot.across(place)) y=(bottom + 20.0) text-anchor=(anchor(place)) { (tick) }
                }
            }
            @match self.frame {
                Frame::Wide => {
                    text class="axis-title" x=((left + right) / 2.0) y=(bottom + 44.0) text-anchor="middle" { (self.x.title) }
                    text class="axis-title" transform={ "rotate(-90 20 " (middle) ")" } x="20" y=(middle) text-anchor="middle" {
                        (self.y.title)
                    }
                }
                Frame::Narrow => {
                    text class="axis-title" x=((left + right) / 2.0) y=(bottom + 36.0) text-anchor="middle" { (self.x.title) }
                    text class="axis-title" x=(EDGE) y=(top - 10.0) { (self.y.title) }
                }
            }
        }
    }

    fn curve(&self, curve: &Curve) -> Markup {
        let points = curve.points.iter();
        let points: Vec<_> = points.map(|(x, y)| (self.x(*x), self.y(*y))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        html! {
            @if !points.is_empty() {
                polyline class=(curve.style.class()) points=(path.join(" ")) {}
                @if let Line::Measured(dot) = curve.style {
                    @for (x, y) in &points { circle class=(dot.class()) cx=(x) cy=(y) r="3" {} }
                }
            }
        }
    }

    fn legend_lines(&self) -> Vec<&[Curve]> {
        match self.frame {
            Frame::Wide => Vec::new(),
            Frame::Narrow => self.curves.chunks(LEGEND_COLUMNS).collect(),
        }
    }

    fn legend(&self, lines: &[&[Curve]], top: f64) -> Markup {
        let column = (NARROW_WIDTH - 2.0 * EDGE) / LEGEND_COLUMNS as f64;
        let entries = lines.iter().enumerate().flat_map(|(line, curves)| {
            let y = top + NOTE * (line + 1) as f64;
            let places = curves.iter().enumerate();
            places.map(move |(place, curve)| (EDGE + column * place as f64, y, curve))
        });
        let names = entries.clone();
        html! {
            @for (x, y, curve) in entries {
                path class=(curve.style.class()) d=(format!("M{x} {}h22", y - 4.0)) {}
            }
            g class="tick" {
                @for (x, y, curve) in names {
                    @let shown = cut(&curve.name, LEGEND_LETTERS);
                    text x=(x + 28.0) y=(y) {
                        @if shown != curve.name { title { (curve.name) } }
                        (shown)
                    }
                }
            }
        }
    }

    /// Places the names of the curves at their ends, from the highest down, without overlaps.
    fn names(&self) -> Markup {
        let ends = self.curves.iter().filter_map(|curve| {
            let &(x, y) = curve.points.last()?;
            Some((self.x(x), self.y(y), curve))
        });
        let mut ends: Vec<(f64, f64, &Curve)> = ends.collect();
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
        let (x, Plot { top, bottom, .. }) = (self.x(band.at), self.plot());
        html! {
            @if let Some((low, high)) = band.interval.map(|(low, high)| (self.x(low), self.x(high))) {
                rect class="band" x=(low) y=(top) width=(tenth(high - low)) height=(bottom - top) {}
            }
            line class="middle" x1=(x) x2=(x) y1=(top) y2=(bottom) {}
            text class="label" x=(x - 5.0) y=(top + 12.0) text-anchor="end" { (band.name) }
        }
    }

    fn point(&self, at: f64, name: &str) -> Markup {
        let (x, bottom) = (self.x(at), self.plot().bottom);
        let up = bottom - 10.0;
        html! {
            path class="knee" d=(format!("M{} {up}L{x} {bottom}L{} {up}", x - 6.0, x + 6.0)) {}
            text class="label" x=(x) y=(bottom - 16.0) text-anchor="middle" { (name) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Scale, percentile};
    use crate::number;
    use prony_testkit::page;

    #[test]
    fn higher_is_longer_and_farther_right_is_more() {
        let chart = CurveChart {
            x: Axis::new("rate", Scale::linear(200.0, 5), number::count),
            y: Axis::new("latency", Scale::log([1e6, 1e8]), number::duration),
            ..CurveChart::default()
        };
        assert!(chart.y(1e8) < chart.y(1e6) && chart.x(200.0) > chart.x(100.0));
        assert_eq!((chart.x(0.0), chart.y(1e6)), (WIDE.left, WIDE.bottom));
    }

    #[test]
    fn a_tick_at_the_right_edge_ends_there() {
        let chart = CurveChart {
            frame: Frame::Narrow,
            x: Axis::new("percentile", Scale::percentiles([0.6, 1e-4]), percentile),
            y: Axis::new("latency", Scale::log([1e6, 1e8]), number::duration),
            ..CurveChart::default()
        };
        let svg = chart.draw().document();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let anchor = |tick: &str| {
            let node = tree.descendants().find(|node| node.text() == Some(tick));
            node.and_then(|node| node.attribute("text-anchor"))
        };
        assert_eq!(["99.99", "99"].map(anchor), [Some("end"), Some("middle")]);
    }

    #[test]
    fn no_two_lines_look_alike() {
        let class = |n| Line::Nth(n).class();
        let classes: std::collections::HashSet<String> = (0..Line::MOST).map(class).collect();
        assert_eq!(classes.len(), Line::MOST);
        // Blue and purple are alike without red, blue and green nearly so without blue.
        let dash = |n| class(n).rsplit(' ').next().unwrap().to_owned();
        for (blue, purple) in [(0, 3), (0, 7), (4, 3), (4, 7)] {
            assert_ne!(dash(blue), dash(purple), "{blue} {purple}");
        }
    }

    #[test]
    fn a_narrow_chart_names_its_curves_in_a_legend_and_says_the_rest_below() {
        let curve = |n: usize| Curve {
            name: format!("server-{n} with a name that is too long for the legend"),
            style: Line::Nth(n),
            points: vec![(1.0, 1e6), (2.0, 1e7)],
        };
        let chart = CurveChart {
            frame: Frame::Narrow,
            subtitle: "Three of nine servers.".into(),
            x: Axis::new("rate", Scale::linear(2.0, 5), number::count),
            y: Axis::new("latency", Scale::log([1e6, 1e7]), number::duration),
            curves: (0..3).map(curve).collect(),
            ..CurveChart::default()
        };
        let svg = chart.draw().document();
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let number = |node: roxmltree::Node<'_, '_>, name| -> f64 {
            node.attribute(name).unwrap().parse().unwrap()
        };
        let height = number(tree.root_element(), "height");
        for text in page::all(tree.root(), "text") {
            assert!(number(text, "y") < height, "{svg}");
        }
        assert_eq!(svg.matches("<title>server-").count(), 3, "{svg}");
        let below = page::texts(tree.root(), "text").into_iter();
        assert_eq!(
            below.filter(|text| text.contains("Three of nine")).count(),
            1,
            "{svg}"
        );
    }
}
