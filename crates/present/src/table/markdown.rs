//! A table in Markdown: at most seven columns, figures that do not break, and flags as footnotes.

use super::{Cell, Head, Row, Table};
use crate::markdown::escaped;
use crate::number;

/// More columns than this break their figures on the pages that show Markdown.
const MOST_COLUMNS: usize = 7;

impl Table {
    /// The table as Markdown, with its footnotes beneath.
    pub fn markdown(&self) -> String {
        let shown = match self.is_whole {
            true => (0..self.heads.len()).collect(),
            false => self.most_important(MOST_COLUMNS),
        };
        let mut text = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("**{}**\n\n", escaped(caption)),
        };
        let heads = || shown.iter().map(|&i| &self.heads[i]);
        text += &line(heads().map(|head| escaped(&head.title)));
        text += &format!("|{}|\n", heads().map(rule).collect::<Vec<_>>().join("|"));
        let mut notes: Vec<String> = Vec::new();
        for row in &self.rows {
            let marks = marks(row, &mut notes);
            let name = shown
                .iter()
                .position(|&i| self.heads[i].is_words)
                .unwrap_or(0);
            let cells = shown.iter().enumerate().map(|(place, &i)| {
                let text = self.cell(row, i);
                if place == name { text + &marks } else { text }
            });
            text += &line(cells);
        }
        let numbered = notes.iter().enumerate();
        let notes: Vec<String> = numbered
            .map(|(i, note)| format!("{} {}", superscript(i + 1), escaped(note)))
            .collect();
        match notes.is_empty() {
            true => text,
            false => format!("{text}\n{}\n", notes.join("  \n")),
        }
    }

    fn cell(&self, row: &Row, i: usize) -> String {
        match (row.cells.get(i), &row.absent) {
            (Some(cell), _) => cell_text(cell, &self.heads[i]),
            (None, Some(why)) if i == row.cells.len() => escaped(why),
            (None, _) => String::new(),
        }
    }
}

/// The figure with its unit, and the detail, may each stand on a line of their own, but neither is broken.
fn cell_text(cell: &Cell, head: &Head) -> String {
    let whole = |text: &str| match head.is_words {
        true => escaped(text),
        false => escaped(text).replace(' ', number::NO_BREAK),
    };
    match cell.detail.as_str() {
        "" => whole(&cell.plain()),
        detail => format!("{} ({})", whole(&cell.plain()), whole(detail)),
    }
}

/// The marks of a row's flags; what was said of another row already has its number.
fn marks(row: &Row, notes: &mut Vec<String>) -> String {
    let mut numbers = row.flags.iter().map(|flag| {
        let known = notes.iter().position(|note| *note == flag.text);
        known.unwrap_or_else(|| {
            notes.push(flag.text.clone());
            notes.len() - 1
        })
    });
    let marks: Vec<String> = numbers
        .by_ref()
        .map(|number| superscript(number + 1))
        .collect();
    match marks.is_empty() {
        true => String::new(),
        false => format!(" {}", marks.join("⁺")),
    }
}

fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = number.to_string();
    digits
        .bytes()
        .map(|digit| DIGITS[usize::from(digit - b'0')])
        .collect()
}

fn rule(head: &Head) -> &'static str {
    match head.is_words {
        true => "---",
        false => "---:",
    }
}

/// A line of a table; the cells are escaped already.
fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
