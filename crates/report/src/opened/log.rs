//! What a server wrote last, in an open row.

use prony_model::LogTail;
use prony_present::page::Block;

use crate::summary::RunSummary;
use crate::table::ServerRow;

/// How much a row shows of what its server wrote, in bytes of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRoom(usize);

impl LogRoom {
    /// All rows together.
    const ALL: usize = 100_000;
    /// A row of a report with few rows shows everything: two logs, of which any character may be escaped.
    const MOST: usize = 2 * 6 * LogTail::MOST_BYTES;

    /// An equal share for each row of the report.
    pub fn of(summary: &RunSummary) -> Self {
        let rows = summary.rows().filter(|row| row.figures.log_tail.is_some());
        Self((Self::ALL / rows.count().max(1)).min(Self::MOST))
    }
}

/// What the server wrote last, newest lines first to go in: those that fit.
pub fn last_lines(row: &ServerRow, room: LogRoom) -> Vec<Block> {
    let Some(tail) = &row.figures.log_tail else {
        return Vec::new();
    };
    let logs = [
        ("standard output", &tail.output),
        ("standard error", &tail.errors),
    ];
    let written: Vec<_> = logs.iter().filter(|(_, lines)| !lines.is_empty()).collect();
    let room = room.0 / written.len().max(1);
    let blocks = written.iter().flat_map(|(name, lines)| {
        let shown = fitting(lines, room);
        let caption = format!("Last on {name} in the last trial");
        (!shown.is_empty())
            .then(|| [Block::Caption(caption), Block::Code(shown.join("\n"))])
            .into_iter()
            .flatten()
    });
    blocks.collect()
}

/// The last lines that fit into so many bytes of a page.
fn fitting(lines: &[String], mut room: usize) -> &[String] {
    let fits = |line: &&String| {
        let length = escaped_length(line) + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let count = lines.iter().rev().take_while(fits).count();
    &lines[lines.len() - count..]
}

/// How long a text is in a page.
fn escaped_length(text: &str) -> usize {
    let length = |character: char| match character {
        '<' | '>' => "&lt;".len(),
        '&' => "&amp;".len(),
        '"' => "&quot;".len(),
        other => other.len_utf8(),
    };
    text.chars().map(length).sum()
}
