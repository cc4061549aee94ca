//! A table of words, for the terminal and for Markdown.

use std::fmt::Write;

use prony_report::escaped_markdown;

/// A table with a title above and notes below.
pub struct Grid {
    pub title: String,
    pub headings: Vec<String>,
    /// The first cell of a row is its name; the others are figures.
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
}

impl Grid {
    /// In columns as wide as their widest cell.
    pub fn terminal(&self) -> String {
        let mut text = format!("{}\n", self.title);
        let lines = || std::iter::once(&self.headings).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.headings.len()).map(width).collect();
        for line in lines() {
            let cells = line
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(text, "  {}", cells.join("  ").trim_end()); // A string takes everything.
        }
        for note in &self.notes {
            let _ = writeln!(text, "  {note}");
        }
        text
    }

    /// A Markdown table under its title.
    pub fn markdown(&self) -> String {
        let mut text = format!("**{}**\n\n", escaped_markdown(&self.title));
        text.push_str(&row(&self.headings));
        text.push_str("|---|");
        text.push_str(&"--:|".repeat(self.headings.len().saturating_sub(1)));
        text.push('\n');
        for line in &self.rows {
            text.push_str(&row(line));
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        for note in &self.notes {
            let _ = writeln!(text, "- {}", escaped_markdown(note));
        }
        text
    }
}

fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped_markdown(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}
