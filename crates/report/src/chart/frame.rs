//! What all charts share: title, axis, grid, and a row a server with its figure at the end.

use maud::{Markup, html};

use crate::{Row, Table, format};
use prony_present::chart::Scale;

const WIDTH: f64 = 640.0;
const LABELS: f64 = 150.0;
const VALUES: f64 = 158.0;
/// The height of a row that holds one bar.
pub(super) const ROW: f64 = 28.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 26.0;
const HEADING: f64 = 30.0;
/// About how many letters fit where the labels are.
const LABEL_LETTERS: usize = 20;
/// About how many letters of a heading fit.
const HEADING_LETTERS: usize = 78;

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
    /// How high a row is.
    pub row_height: f64,
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
        rows_end(self.rows.len(), self.row_height) + BOTTOM
    }

    /// Everything but the ground. Alone, it needs more room at the edges.
    pub fn body(&self, alone: bool) -> Markup {
        let inset = if alone { 14 } else { 0 };
        html! {
            text class="heading" x=(inset) y="20" { (shortened(&self.title, HEADING_LETTERS)) }
            g transform={ "translate(0 " (HEADING) ")" } {
                (self.grid())
                (self.above)
                @for (i, row) in self.rows.iter().enumerate() {
                    g transform={ "translate(0 " (TOP + self.row_height * (i as f64 + 0.5)) ")" } {
                        title { (row.label) ": " (row.value) " " (row.note) }
                        text class="label" x=(LABELS - 12.0) y="4.5" text-anchor="end" {
                            (shortened(&row.label, LABEL_LETTERS))
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
}

/// The lower end of the rows.
pub(super) fn rows_end(rows: usize, row_height: f64) -> f64 {
    TOP + row_height * rows as f64
}

/// Where a figure lies on the chart, to a tenth.
pub(super) fn x(scale: &Scale, value: f64) -> f64 {
    let width = WIDTH - LABELS - VALUES;
    tenth(LABELS + width * scale.place(value))
}

/// To a tenth: finer is not seen.
pub(super) fn tenth(length: f64) -> f64 {
    (length * 10.0).round() / 10.0
}

/// Where the plot begins on the left.
pub(super) const PLOT_LEFT: f64 = LABELS;

/// The class of a mark: rows that something speaks against are drawn in grey and hollow.
pub(super) fn mark(base: &'static str, row: &Row) -> String {
    grey_unless(row.is_sound(), base)
}

/// The class of a mark, in grey where it is not one of those that count.
pub(super) fn grey_unless(counts: bool, base: &'static str) -> String {
    match counts {
        true => base.to_owned(),
        false => format!("{base} unranked"),
    }
}

/// The rows of a table in the chart's order: by rate, whatever their standing. In an open loop the
/// rate says nothing, and they stay as they are: by latency.
pub(super) fn in_order(table: &Table) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = table.rows.iter().collect();
    if !table.is_open() {
        sorted.sort_by(|a, b| b.figures.rate.median.total_cmp(&a.figures.rate.median));
    }
    sorted
}

/// The reference server's line with its name, through all rows.
pub(super) fn ceiling_line(x: f64, name: &str, rows_end: f64) -> Markup {
    html! {
        line class="ceiling" x1=(x) x2=(x) y1=(TOP - 8.0) y2=(rows_end) {}
        text class="ceiling-text" x=(x) y=(TOP - 13.0) text-anchor="middle" { (name) }
    }
}

fn shortened(label: &str, letters: usize) -> String {
    if label.chars().count() <= letters {
        return label.to_owned();
    }
    let head: String = label.chars().take(letters - 1).collect();
    format!("{head}…")
}
