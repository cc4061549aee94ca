//! The comparison as a table in a terminal.

use crate::{Comparison, Percentile, Row, Standing, Table, format, prose};

/// The comparison as text with lines of at most `width` letters (40 at the least): the least
/// important columns are left out where there is no room for all. `colour` allows ANSI colours.
pub fn terminal(comparison: &Comparison, width: usize, colour: bool) -> String {
    let paint = Paint { colour };
    let width = width.max(40);
    let mut lines = Vec::new();
    for table in &comparison.tables {
        lines.extend(table_lines(table, width, paint));
        lines.push(String::new());
    }
    lines.extend(absence_lines(comparison, width, paint));
    if !comparison.tables.is_empty() {
        lines.extend(
            prose::intervals(comparison)
                .iter()
                .flat_map(|text| wrapped(text, width)),
        );
        lines.extend(wrapped(
            "Rank: one more than the rows whose whole interval lies above. Latency is of a closed loop.",
            width,
        ));
    }
    let text = lines.join("\n");
    format!("{}\n", text.trim_end_matches('\n'))
}

/// What may be coloured.
#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.colour {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
    fn bold(self, text: &str) -> String {
        self.with("1", text)
    }
    fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
    fn warn(self, text: &str) -> String {
        self.with("33", text)
    }
    fn bad(self, text: &str) -> String {
        self.with("31", text)
    }
}

/// A column. The first is aligned to the left.
struct Column {
    title: &'static str,
    /// The highest goes first where there is no room for all.
    luxury: usize,
    cell: fn(&Row) -> String,
}

const fn column(title: &'static str, luxury: usize, cell: fn(&Row) -> String) -> Column {
    Column {
        title,
        luxury,
        cell,
    }
}

const COLUMNS: [Column; 10] = [
    column("server", 0, |row| match row.standing {
        Standing::Reference => format!("{} (reference)", row.subject.id),
        _ => row.subject.id.clone(),
    }),
    column("req/s", 0, |row| format::count(row.figures.rate.median)),
    column("interval", 4, |row| match row.figures.rate.n {
        1 => format::NONE.to_owned(),
        _ => format::count_interval(row.figures.rate.low, row.figures.rate.high),
    }),
    column("ceiling", 3, |row| {
        optional(row.share_of_ceiling, format::share)
    }),
    column("p50", 2, |row| percentile(row, Percentile::P50)),
    column("p99", 1, |row| percentile(row, Percentile::P99)),
    column("p99.9", 8, |row| percentile(row, Percentile::P999)),
    column("CPU/req", 5, |row| {
        let cpu = row
            .figures
            .cpu_ns_per_request
            .map(|estimate| estimate.median);
        optional(cpu, format::duration)
    }),
    column("memory", 6, |row| {
        format::bytes(row.figures.peak_memory_bytes as f64)
    }),
    column("start", 9, |row| {
        let startup = row.figures.startup_ns.map(|estimate| estimate.median);
        optional(startup, format::duration)
    }),
];

/// A server's name is cut to this, so that figures keep their room.
const NAME_LETTERS: usize = 24;
const RANK_WIDTH: usize = 4;
const GAP: usize = 2;

fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> String {
    figure.map_or(format::NONE.to_owned(), shown)
}

fn percentile(row: &Row, percentile: Percentile) -> String {
    optional(row.figures.percentile(percentile), format::duration)
}

fn table_lines(table: &Table, width: usize, paint: Paint) -> Vec<String> {
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let cells = COLUMNS.iter().map(|column| (column.cell)(row));
            cells.map(|cell| cut(&cell, NAME_LETTERS)).collect()
        })
        .collect();
    let widths = shown_widths(&cells, width);
    let mut lines = heading(table, width, paint);
    let titles: Vec<String> = COLUMNS
        .iter()
        .map(|column| column.title.to_owned())
        .collect();
    lines.push(paint.dim(&line("#", &titles, &widths)));
    let mut unranked = false;
    for (row, cells) in table.rows.iter().zip(&cells) {
        if row.rank().is_none() && !unranked {
            unranked = true;
            lines.push(paint.dim(&"╌".repeat(used_width(&widths))));
        }
        let text = line(&prose::rank(row), cells, &widths);
        lines.push(match row.rank() {
            Some(1) => paint.bold(&text),
            Some(_) => text,
            None => paint.dim(&text),
        });
        lines.extend(flag_lines(row, width, paint));
    }
    lines
}

fn flag_lines(row: &Row, width: usize, paint: Paint) -> Vec<String> {
    let flags = match row.standing {
        Standing::Reference => row.figures.flags(), // Its name says the rest.
        _ => row.flags(),
    };
    if flags.is_empty() {
        return Vec::new();
    }
    let indent = " ".repeat(RANK_WIDTH);
    wrapped(&flags.join(", "), width - RANK_WIDTH - 2)
        .iter()
        .map(|text| format!("{indent}{}", paint.warn(&format!("↳ {text}"))))
        .collect()
}

fn heading(table: &Table, width: usize, paint: Paint) -> Vec<String> {
    let name = cut(&table.workload, width);
    let load = prose::load(&table.load);
    match name.chars().count() + 2 + load.chars().count() <= width {
        true => vec![format!("{}  {}", paint.bold(&name), paint.dim(&load))],
        false => std::iter::once(paint.bold(&name))
            .chain(wrapped(&load, width).iter().map(|text| paint.dim(text)))
            .collect(),
    }
}

/// The width of each column that fits; `None` for those that are left out.
fn shown_widths(cells: &[Vec<String>], width: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = COLUMNS
        .iter()
        .enumerate()
        .map(|(i, column)| {
            let letters = cells.iter().map(|row| row[i].chars().count());
            letters.chain([column.title.chars().count()]).max()
        })
        .collect();
    while used_width(&widths) > width {
        let most = (0..COLUMNS.len())
            .filter(|&i| widths[i].is_some() && COLUMNS[i].luxury > 0)
            .max_by_key(|&i| COLUMNS[i].luxury);
        match most {
            Some(i) => widths[i] = None,
            None => break,
        }
    }
    widths
}

fn used_width(widths: &[Option<usize>]) -> usize {
    let columns: usize = widths.iter().flatten().map(|width| width + GAP).sum();
    RANK_WIDTH + columns - GAP
}

fn line(rank: &str, cells: &[String], widths: &[Option<usize>]) -> String {
    let mut text = format!("{rank:>2}  ");
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let Some(width) = *width else { continue };
        match column {
            0 => text.push_str(&format!("{cell:<width$}")),
            _ => text.push_str(&format!("{:GAP$}{cell:>width$}", "")),
        }
    }
    text.trim_end().to_owned()
}

fn absence_lines(comparison: &Comparison, width: usize, paint: Paint) -> Vec<String> {
    if comparison.absences.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![paint.bold("Not measured")];
    for absence in &comparison.absences {
        let place = absence
            .why
            .workload()
            .map(|workload| format!(" {workload}"));
        let text = format!(
            "{}{}: {}: {}",
            absence.subject.id,
            place.unwrap_or_default(),
            absence.why.label(),
            last_line(&absence.why.text()),
        );
        let texts = wrapped(&text, width - 2);
        lines.extend(texts.iter().map(|text| format!("  {}", paint.bad(text))));
    }
    lines.push(String::new());
    lines
}

/// The last line that says something: of a build's output that is where the error is.
fn last_line(text: &str) -> &str {
    text.lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("")
        .trim()
}

fn cut(text: &str, letters: usize) -> String {
    let clean = text.chars().map(visible);
    match text.chars().count() > letters {
        true => clean.take(letters - 1).chain(['…']).collect(),
        false => clean.collect(),
    }
}

/// Control characters in a name or message would move the cursor.
fn visible(c: char) -> char {
    if c.is_control() { '�' } else { c }
}

/// The text in lines of at most `width` letters, broken at spaces where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line: Vec<char> = Vec::new();
    for word in text.split_whitespace() {
        let word: Vec<char> = word.chars().map(visible).collect();
        for (i, piece) in word.chunks(width).enumerate() {
            let fits = i == 0 && line.len() + 1 + piece.len() <= width;
            if !line.is_empty() {
                match fits {
                    true => line.push(' '),
                    false => lines.push(line.drain(..).collect()),
                }
            }
            line.extend(piece);
        }
    }
    lines.push(line.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_and_control_characters_stay_within_the_line() {
        assert_eq!(wrapped("a bc defghij k", 4), ["a bc", "defg", "hij", "k"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("a\u{1b}[2J", 9), "a�[2J");
    }
}
