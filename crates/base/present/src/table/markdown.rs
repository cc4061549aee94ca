//! A table in Markdown: at most seven columns, figures that do not break, and flags as footnotes.

use super::{Cell, Colour, Head, Row, Table};
use crate::markdown::escaped;
use crate::number;
use crate::words::{Joined, non_empty};

/// With more columns, pages that render Markdown break the figures.
const MOST_COLUMNS: usize = 7;

impl Table {
    /// The table as Markdown, with its footnotes below. Columns beyond the limit are in a folded table.
    pub fn markdown(&self) -> String {
        let shown = if self.is_whole {
            (0..self.heads.len()).collect()
        } else {
            self.most_important(MOST_COLUMNS)
        };
        let mut text = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("**{}**\n\n", escaped(caption)),
        };
        let mut notes: Vec<String> = Vec::new();
        let marks: Vec<String> = self.rows.iter().map(|row| marks(row, &mut notes)).collect();
        text += &self.grid(&shown, Some(&marks));
        let numbered = notes.iter().enumerate();
        let notes = numbered.map(|(i, note)| format!("{} {}", superscript(i + 1), escaped(note)));
        if let Some(notes) = non_empty(notes.joined("  \n")) {
            text += &format!("\n{notes}\n");
        }
        let rest = (0..self.heads.len()).filter(|i| !shown.contains(i));
        let rest: Vec<usize> = rest.collect();
        let more = rest.chunks(MOST_COLUMNS - 1);
        let more: String = more
            .map(|rest| self.grid(&[&[self.name()], rest].concat(), None) + "\n")
            .collect();
        if more.is_empty() {
            text
        } else {
            format!("{text}\n<details>\n<summary>More columns</summary>\n\n{more}</details>\n")
        }
    }

    fn grid(&self, shown: &[usize], marks: Option<&[String]>) -> String {
        let heads = || shown.iter().map(|&i| &self.heads[i]);
        let mut text = line(heads().map(|head| escaped(&head.title)));
        text += &format!("|{}|\n", heads().map(rule).collect::<Vec<_>>().join("|"));
        for (place, row) in self.rows.iter().enumerate() {
            let mark = marks.map_or("", |marks| marks[place].as_str());
            text += &line(shown.iter().map(|&i| {
                if i == self.name() {
                    self.cell(row, i) + mark
                } else {
                    self.cell(row, i)
                }
            }));
        }
        text
    }

    fn cell(&self, row: &Row, i: usize) -> String {
        match (row.cells.get(i), &row.absent) {
            (Some(cell), _) => cell_text(cell, &self.heads[i]),
            (None, Some(why)) if i == row.cells.len() => escaped(why),
            (None, _) => String::new(),
        }
    }
}

/// The figure with its unit, and the detail: a line may break between them, but not within either.
fn cell_text(cell: &Cell, head: &Head) -> String {
    let whole = |text: &str| {
        if head.is_words {
            escaped(text)
        } else {
            escaped(text).replace(' ', number::NO_BREAK)
        }
    };
    match cell.detail.as_str() {
        "" if matches!(cell.colour, Some(Colour::Good | Colour::Bad)) => {
            format!("**{}**", escaped(&cell.text))
        }
        "" => whole(cell.plain().trim_end()),
        detail => format!("{} ({})", whole(&cell.plain()), whole(detail)),
    }
}

/// The footnote marks of a row's flags; rows with the same flag share a number.
fn marks(row: &Row, notes: &mut Vec<String>) -> String {
    let marks = row.flags.iter().map(|flag| {
        let known = notes.iter().position(|note| *note == flag.text);
        let number = known.unwrap_or_else(|| {
            notes.push(flag.text.clone());
            notes.len() - 1
        });
        format!(" {}", superscript(number + 1))
    });
    marks.collect()
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
    if head.is_words { "---" } else { "---:" }
}

/// A line of a table; the cells are already escaped.
fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}
