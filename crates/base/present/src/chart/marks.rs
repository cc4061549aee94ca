//! The marks of a chart by their styles: all of a style are one path, because a page has thousands of them. Circles are
//! for those that are hollow or have a tip.

use maud::{Markup, html};

#[derive(Default)]
pub(super) struct Marks {
    /// Each style with its path, from the lowest to the topmost.
    paths: Vec<(String, String)>,
    circles: Vec<Circle>,
    /// How wide the lines of losses are, which depends on their number.
    pub(super) loss_width: f64,
}

struct Circle {
    class: &'static str,
    at: (f64, f64),
    radius: f64,
    tip: Option<String>,
}

impl Marks {
    /// Marks of which those in these styles are drawn in this order, below all others.
    pub(super) fn in_order(styles: &[&str]) -> Self {
        let paths = styles
            .iter()
            .map(|style| ((*style).to_owned(), String::new()));
        Self {
            paths: paths.collect(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, style: &str, path: &str) {
        match self.paths.iter_mut().find(|(of, _)| of == style) {
            Some((_, drawn)) => drawn.push_str(path),
            None => self.paths.push((style.to_owned(), path.to_owned())),
        }
    }

    /// A line with round ends and no length: a disc.
    pub(super) fn dot(&mut self, style: &str, (x, y): (f64, f64)) {
        self.add(style, &format!("M{x} {y}h0"));
    }

    /// `tip` is what pointing at it shows.
    pub(super) fn circle(
        &mut self,
        class: &'static str,
        at: (f64, f64),
        radius: f64,
        tip: Option<String>,
    ) {
        self.circles.push(Circle {
            class,
            at,
            radius,
            tip,
        });
    }

    pub(super) fn draw(&self) -> Markup {
        let width = |style: &str| style.starts_with("loss").then_some(self.loss_width);
        html! {
            @for (style, path) in self.paths.iter().filter(|(_, path)| !path.is_empty()) {
                path class=(style) stroke-width=[width(style)] d=(path) {}
            }
            @for circle in &self.circles {
                circle class=(circle.class) cx=(circle.at.0) cy=(circle.at.1) r=(circle.radius) {
                    @if let Some(tip) = &circle.tip { title { (tip) } }
                }
            }
        }
    }
}
