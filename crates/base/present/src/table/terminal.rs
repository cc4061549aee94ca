//! A table in a terminal: the most important columns that fit its width.

use super::{Cell, Colour, Head, Row, Table, Tone, Weight, least_important};
use crate::terminal::{Paint, cut, cut_middle, wrapped};
use crate::words::Joined;

const GAP: usize = 2;
/// Words are cut to this length, or to a third of the width if that is more, so that figures keep their room.
const MOST_LETTERS: usize = 28;
const INDENT: usize = 4;
/// Names are not cut to fewer letters for the sake of the other columns.
const LEAST_LETTERS: usize = 12;

/// A column's title and cells as text, and its alignment.
struct Set {
    of: usize,
    lines: Vec<String>,
    width: usize,
    is_words: bool,
    drop: u8,
}

impl Table {
    /// The table in lines of at most `width` characters. If there is no room for all columns, those that may be dropped are; if
    /// the others still do not fit, the rest go into a second block below, which repeats the names.
    pub fn terminal(&self, width: usize, paint: Paint) -> Vec<String> {
        let columns = self.columns_that_fit(width);
        let mut lines = Vec::new();
        if !self.caption.is_empty() {
            let caption = wrapped(&self.caption, width);
            lines.extend(caption.iter().map(|line| paint.bold(line)));
        }
        // Every block has the columns of words at the beginning, and the rank before them.
        let begin = columns
            .iter()
            .position(|column| column.is_words)
            .unwrap_or(0);
        let words = columns[begin..].iter().take_while(|column| column.is_words);
        let words = words.count();
        let names = (begin + words).max(1).min(columns.len());
        let mut next = names;
        loop {
            let first = next;
            let mut block: Vec<&Set> = columns[..names].iter().collect();
            while next < columns.len() {
                block.push(&columns[next]);
                if next > first && whole_width(block.iter().copied()) > width {
                    block.pop();
                    break;
                }
                next += 1;
            }
            lines.extend(self.block(&block, names, width, paint, first == names));
            if next >= columns.len() {
                return lines;
            }
        }
    }

    /// Whether a terminal of this width shows the column with this title.
    pub fn shows(&self, title: &str, width: usize) -> bool {
        let mut columns = self.columns_that_fit(width).into_iter();
        columns.any(|column| self.heads[column.of].title == title)
    }

    fn columns_that_fit(&self, width: usize) -> Vec<Set> {
        let mut heads = self.heads.iter();
        let cuts_first = heads.any(|head| head.drop > 0 || head.detail.is_some());
        let letters = if cuts_first {
            MOST_LETTERS.max(width / 3)
        } else {
            width
        };
        let sets = (0..self.heads.len()).flat_map(|i| self.set(i, letters));
        let mut columns: Vec<Set> = sets.collect();
        while whole_width(&columns) > width {
            let Some(least) = least_important(columns.iter().map(|column| column.drop)) else {
                break;
            };
            columns.remove(least);
        }
        // Shorter names are better than a table in two parts.
        let over = whole_width(&columns).saturating_sub(width);
        let words = columns.iter_mut().filter(|column| column.is_words);
        if let Some(longest) = words.max_by_key(|column| column.width)
            && over > 0
            && longest.width >= LEAST_LETTERS + over
        {
            longest.width -= over;
            let cut = self.heads[longest.of].cut();
            for line in &mut longest.lines {
                *line = cut(line, longest.width);
            }
        }
        columns
    }

    fn block(
        &self,
        columns: &[&Set],
        names: usize,
        width: usize,
        paint: Paint,
        with_flags: bool,
    ) -> Vec<String> {
        let line = |place: usize, columns: &[&Set], paint: Paint| -> String {
            let cells = columns.iter().map(|column| {
                let (cell, width) = (&column.lines[place], column.width);
                let padded = if column.is_words {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                };
                let colour = place
                    .checked_sub(1)
                    .and_then(|row| self.rows[row].cells.get(column.of)?.colour);
                painted(colour, &padded, paint)
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        let plain = Paint { colour: false };
        let mut lines = Vec::new();
        if self.heads.iter().any(|head| !head.title.is_empty()) {
            lines.push(paint.dim(&cut(&line(0, columns, plain), width)));
        }
        let whole = whole_width(columns.iter().copied());
        for (i, row) in self.rows.iter().enumerate() {
            // The line separates what is not compared, and that must come last.
            let begins_aside = row.tone == Tone::Aside
                && i > 0
                && self.rows[i - 1].tone != Tone::Aside
                && self.rows[i..].iter().all(|row| row.tone == Tone::Aside);
            if begins_aside {
                lines.push(paint.dim(&"╌".repeat(whole.min(width))));
            }
            let text = match &row.absent {
                Some(why) => format!("{}  {why}", line(i + 1, &columns[..names], plain)),
                None => line(i + 1, columns, plain),
            };
            let text = cut(&text, width);
            lines.push(match row.tone {
                Tone::Leading => paint.bold(&text),
                Tone::Plain if row.absent.is_none() && text.chars().count() < width => {
                    line(i + 1, columns, paint)
                }
                Tone::Plain if row.absent.is_none() => text,
                Tone::Plain | Tone::Aside => paint.dim(&text),
            });
            if with_flags {
                lines.extend(flags(row, width, paint));
            }
        }
        lines
    }

    /// A column, and its details as another one.
    fn set(&self, i: usize, letters: usize) -> Vec<Set> {
        let head = &self.heads[i];
        let cells = |of: fn(&Cell) -> String| {
            let cells = self.rows.iter().map(move |row| row.cells.get(i));
            let cut = head.cut();
            cells.map(move |cell| cut(&cell.map_or(String::new(), of), letters))
        };
        let set = |title: &str, cells: Vec<String>, drop| {
            let lines: Vec<String> = std::iter::once(cut(title, letters)).chain(cells).collect();
            let width = lines
                .iter()
                .map(|line| line.chars().count())
                .max()
                .unwrap_or(0);
            Set {
                of: i,
                lines,
                width,
                is_words: head.is_words,
                drop,
            }
        };
        let main = set(&head.title, cells(Cell::plain).collect(), head.drop);
        let details: Vec<String> = cells(|cell| cell.detail.clone()).collect();
        let has_details = details.iter().any(|detail| !detail.is_empty());
        let detail = head.detail.filter(|_| has_details);
        let detail = detail.map(|(title, drop)| set(title, details, drop));
        std::iter::once(main).chain(detail).collect()
    }
}

impl Head {
    fn cut(&self) -> fn(&str, usize) -> String {
        if self.keeps_ends { cut_middle } else { cut }
    }
}

fn whole_width<'s>(columns: impl IntoIterator<Item = &'s Set>) -> usize {
    let widths = columns.into_iter().map(|column| column.width + GAP);
    widths.sum::<usize>().saturating_sub(GAP)
}

fn flags(row: &Row, width: usize, paint: Paint) -> Vec<String> {
    let Some(worst) = row.flags.iter().map(|flag| flag.weight).min() else {
        return Vec::new();
    };
    let words = row.flags.iter().map(|flag| flag.text.as_str()).joined("; ");
    let indent = " ".repeat(INDENT);
    let lines = wrapped(&format!("↳ {words}"), width.saturating_sub(INDENT));
    let painted = lines.iter().map(|line| match worst {
        Weight::Bad => paint.bad(line),
        Weight::Warning => paint.warn(line),
        Weight::Note => paint.dim(line),
    });
    painted.map(|line| format!("{indent}{line}")).collect()
}

fn painted(colour: Option<Colour>, text: &str, paint: Paint) -> String {
    match colour {
        None => text.to_owned(),
        Some(Colour::Good) => paint.with("1;32", text),
        Some(Colour::Bad) => paint.with("1;31", text),
        Some(Colour::Warning) => paint.warn(text),
        Some(Colour::Soft) => paint.dim(text),
    }
}
