//! What all charts share: title, axis, grid, and a row a subject with its figure at the end.

use maud::{Markup, html};

use super::scale::Scale;
use crate::{Row, format};

const WIDTH: f64 = 640.0;
const LABELS: f64 = 150.0;
const VALUES: f64 = 158.0;
const ROW: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 26.0;
const HEADING: f64 = 30.0;
/// About how many letters fit where the labels are.
const LABEL_LETTERS: usize = 20;

/// A chart that is ready to be drawn.
pub(super) struct Frame {
    /// What it shows.
    pub title: String,
    /// What it says, for those who cannot see it.
    pub description: String,
    pub scale: Scale,
    /// How a tick is written.
    pub tick: fn(f64) -> String,
    pub rows: Vec<FrameRow>,
    /// What stands above the plot: a legend, or the ceiling's line.
    pub above: Markup,
}

/// One row.
pub(super) struct FrameRow {
    pub label: String,
    pub value: String,
    /// A smaller word after the value.
    pub note: String,
    /// The marks, drawn around y = 0.
    pub marks: Markup,
}

impl Frame {
    /// Width and height of the plain chart and its heading, in its own units.
    pub fn size(&self) -> (f64, f64) {
        (WIDTH, HEADING + self.plot_height())
    }

    fn plot_height(&self) -> f64 {
        TOP + ROW * self.rows.len() as f64 + BOTTOM
    }

    /// Everything but the ground. Alone, it needs more room at the edges.
    pub fn body(&self, alone: bool) -> Markup {
        let inset = if alone { 14 } else { 0 };
        html! {
            text class="heading" x=(inset) y="20" { (self.title) }
            g transform={ "translate(0 " (HEADING) ")" } {
                (self.grid())
                (self.above)
                @for (i, row) in self.rows.iter().enumerate() {
                    g transform={ "translate(0 " (TOP + ROW * (i as f64 + 0.5)) ")" } {
                        title { (row.label) ": " (row.value) " " (row.note) }
                        text class="label" x=(LABELS - 12.0) y="4.5" text-anchor="end" {
                            (shortened(&row.label))
                        }
                        (row.marks)
                        text class="value" x=(WIDTH - VALUES + 14.0) y="4.5" {
                            (row.value)
                            @if !row.note.is_empty() { tspan class="soft" dx="6" { (row.note) } }
                        }
                    }
                }
            }
        }
    }

    fn grid(&self) -> Markup {
        let bottom = self.plot_height() - BOTTOM;
        html! {
            @for tick in &self.scale.ticks {
                @let x = x(&self.scale, *tick);
                line class="grid" x1=(x) x2=(x) y1=(TOP) y2=(bottom) {}
                text class="tick" x=(x) y=(bottom + 17.0) text-anchor="middle" { (format::short(&(self.tick)(*tick))) }
            }
        }
    }

    /// The lower end of the rows.
    pub fn rows_end(rows: usize) -> f64 {
        TOP + ROW * rows as f64
    }
}

/// Where a figure lies on the chart, to a tenth.
pub(super) fn x(scale: &Scale, value: f64) -> f64 {
    let left = LABELS;
    let width = WIDTH - LABELS - VALUES;
    ((left + width * scale.place(value)) * 10.0).round() / 10.0
}

/// The top of the rows.
pub(super) const ROWS_TOP: f64 = TOP;

/// The class of a mark: unranked rows are drawn in grey and hollow.
pub(super) fn mark(base: &'static str, row: &Row) -> String {
    match row.rank() {
        Some(_) => base.to_owned(),
        None => format!("{base} unranked"),
    }
}

/// The rows of a table in the chart's order: by rate, whatever their standing.
pub(super) fn by_rate(rows: &[Row]) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by(|a, b| b.figures.rate.median.total_cmp(&a.figures.rate.median));
    sorted
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL_LETTERS {
        return label.to_owned();
    }
    let head: String = label.chars().take(LABEL_LETTERS - 1).collect();
    format!("{head}…")
}
