//! A small curve beside words that have its figures: it shows a course at a glance.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::Axis;

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 72.0;
const LEFT: f64 = 34.0;
const RIGHT: f64 = 226.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 58.0;
const WORDS: f64 = HEIGHT - 2.0;

/// A small curve and its words. Every page has hundreds of them, so the drawing is terse: whole units, and each point
/// relative to the one before. Attributes have no quotes where HTML needs none.
#[derive(Clone, Debug, Default)]
pub struct Spark {
    /// What it shows, with its figures: the drawing itself is hidden from screen readers.
    pub words: String,
    /// The horizontal axis. Its title is not drawn, nor are ticks without words.
    pub x: Axis,
    /// The vertical axis. Its title is not drawn.
    pub y: Axis,
    pub points: Vec<(f64, f64)>,
    /// An interval of the horizontal axis that is shaded.
    pub shaded: Option<(f64, f64)>,
    /// An interval of the horizontal axis that is underlined.
    pub underlined: Option<(f64, f64)>,
}

impl Spark {
    pub(crate) fn inline(&self) -> Markup {
        html! {
            figure {
                svg aria-hidden="true" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } { (PreEscaped(self.drawing())) }
                figcaption { (self.words) }
            }
        }
    }

    /// The elements in their short form, which SVG has in a page too.
    fn drawing(&self) -> String {
        let mut svg = String::new();
        let xs = |(from, to): (f64, f64)| (self.x(from), self.x(to));
        // Writing to a string cannot fail.
        if let Some((from, to)) = self.shaded.map(xs) {
            let (width, height) = (to - from, BOTTOM - TOP);
            let _ = write!(
                svg,
                "<rect x={from} y={TOP} width={width} height={height} />"
            );
        }
        let y_ticks: Vec<(f64, String)> = self.y_ticks().collect();
        let above = y_ticks.iter().filter(|(y, _)| *y < BOTTOM);
        let lines = above.map(|(y, _)| format!("M{LEFT} {y}H{RIGHT}"));
        let lines = lines.collect::<String>();
        let _ = write!(svg, r#"<path d="{lines}M{LEFT} {BOTTOM}H{RIGHT}"/>"#);
        if let Some((from, to)) = self.underlined.map(xs) {
            let _ = write!(svg, r#"<path class=on d="M{from} {BOTTOM}H{to}"/>"#);
        }
        let _ = write!(svg, r#"<path d="{}"/>"#, self.line());
        for (y, tick) in y_ticks {
            let (x, y) = (LEFT / 2.0, y + 3.0);
            let _ = write!(svg, "<text x={x} y={y}>{}</text>", html! { (tick) }.0);
        }
        for (place, tick) in self.x.ticks().filter(|(_, tick)| !tick.is_empty()) {
            let x = (LEFT + (RIGHT - LEFT) * place).round();
            let tick = html! { (tick) }.0;
            let _ = write!(svg, "<text x={x} y={WORDS}>{tick}</text>");
        }
        svg
    }

    /// The ticks above the base line: the highest, and the lowest if there is room between them.
    fn y_ticks(&self) -> impl Iterator<Item = (f64, String)> {
        let at = |(place, tick): (f64, String)| ((BOTTOM - (BOTTOM - TOP) * place).round(), tick);
        let worded = self.y.ticks().filter(|(_, tick)| !tick.is_empty());
        let ticks: Vec<(f64, String)> = worded.map(at).collect();
        let highest = ticks.last().cloned();
        let lowest = ticks.first().cloned();
        let apart =
            |low: &(f64, String)| highest.as_ref().is_some_and(|high| low.0 - high.0 > 14.0);
        let lowest = lowest.filter(apart);
        highest.into_iter().chain(lowest)
    }

    fn line(&self) -> String {
        let mut line = String::new();
        let mut last: Option<(f64, f64)> = None;
        for (x, y) in self.points.iter().map(|(x, y)| (self.x(*x), self.y(*y))) {
            let _ = match last {
                None => write!(line, "M{x} {y}l"),
                Some(before) if before == (x, y) => continue,
                Some((left, above)) => {
                    let (right, down) = (x - left, y - above);
                    let between = if right < 0.0 || line.ends_with('l') {
                        ""
                    } else {
                        " "
                    };
                    let before_y = if down < 0.0 { "" } else { " " };
                    write!(line, "{between}{right}{before_y}{down}")
                }
            };
            last = Some((x, y));
        }
        line
    }

    fn x(&self, value: f64) -> f64 {
        (LEFT + (RIGHT - LEFT) * self.x.scale.place(value)).round()
    }

    fn y(&self, value: f64) -> f64 {
        (BOTTOM - (BOTTOM - TOP) * self.y.scale.place(value)).round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;
    use crate::number;
    use prony_testkit::contains;

    fn spark(points: Vec<(f64, f64)>) -> Spark {
        Spark {
            words: "a < b".into(),
            x: Axis::new("time", Scale::linear(100.0, 2), number::count),
            y: Axis::new("rate", Scale::linear(100.0, 2), number::count),
            points,
            shaded: Some((0.0, 50.0)),
            underlined: Some((50.0, 100.0)),
        }
    }

    #[test]
    fn a_line_is_relative_and_leaves_out_what_nobody_sees() {
        let line = |points| spark(points).line();
        assert_eq!(line(vec![]), "");
        let drawn = line(vec![(0.0, 0.0), (50.0, 50.0), (50.01, 50.01), (100.0, 0.0)]);
        assert_eq!(drawn, "M34 58l92-25 93 25");
    }

    #[test]
    fn the_words_have_the_figures_and_the_drawing_is_hidden() {
        let html = spark(vec![(0.0, 1.0), (9.0, 9.0)]).inline().into_string();
        contains(&html, r#"aria-hidden="true""#);
        contains(&html, "<figcaption>a &lt; b</figcaption>");
        contains(&html, "<rect x=34 y=6 width=92 height=52 />");
        contains(&html, r#"<path class=on d="M126 58H219"/>"#);
    }

    #[test]
    fn ticks_that_would_touch_are_left_out() {
        let mut near = spark(Vec::new());
        assert_eq!(near.y_ticks().count(), 2);
        near.y = Axis::new("time", Scale::log([1.0, 1.5]), number::count);
        assert_eq!(near.y_ticks().count(), 2);
        near.y.scale.ticks = vec![1.0, 1.1];
        assert_eq!(near.y_ticks().count(), 1);
    }
}
