//! What a server wrote last, in an open row.

use prony_model::LogTail;
use prony_present::page::Block;

use crate::summary::RunSummary;
use crate::table::ServerRow;

/// How much a row shows of what its server wrote, in bytes of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogRoom(usize);

impl LogRoom {
    /// All rows together.
    const ALL: usize = 30_000;
    /// A row of a report with few rows shows everything: two logs, of which any character may be escaped.
    const MOST: usize = 2 * 6 * LogTail::MOST_BYTES;

    /// An equal share for each row of the report.
    pub(crate) fn of(summary: &RunSummary) -> Self {
        let rows = summary.rows().filter(|row| row.figures.log_tail.is_some());
        Self::shared_by(rows.count())
    }

    fn shared_by(rows: usize) -> Self {
        Self((Self::ALL / rows.max(1)).min(Self::MOST))
    }
}

/// The last lines that fit, those of each log under its own caption.
pub(super) fn last_lines(row: &ServerRow, room: LogRoom) -> Vec<Block> {
    let tail = row.figures.log_tail.as_ref();
    tail.map_or_else(Vec::new, |tail| blocks(tail, room))
}

fn blocks(tail: &LogTail, room: LogRoom) -> Vec<Block> {
    let logs = [
        (&tail.output, "standard output"),
        (&tail.errors, "standard error"),
    ];
    let written: Vec<_> = logs.iter().filter(|(lines, _)| !lines.is_empty()).collect();
    let room = room.0 / written.len().max(1);
    let shown = written.into_iter().filter_map(|(lines, name)| {
        let lines = fitting(lines, room)?;
        Some([
            Block::Caption(format!("Last on {name}:")),
            Block::Code(lines),
        ])
    });
    shown.flatten().collect()
}

/// The last lines that fit into so much of a page, or the beginning of the last one; `None` if not even that fits.
fn fitting(lines: &[String], room: usize) -> Option<String> {
    let mut left = room;
    let fits = |line: &&String| {
        let after = left.checked_sub(escaped_length(line) + 1);
        left = after.unwrap_or(left);
        after.is_some()
    };
    match lines.iter().rev().take_while(fits).count() {
        0 => beginning(lines.last()?, room),
        count => Some(lines[lines.len() - count..].join("\n")),
    }
}

/// As much of a line as fits, with a mark for the rest.
fn beginning(line: &str, room: usize) -> Option<String> {
    let most = room.checked_sub(CUT.len() + 1)?;
    let ends = line.char_indices().map(|(at, _)| at);
    let fits = |end: &usize| escaped_length(&line[..*end]) <= most;
    let end = ends.take_while(fits).last().filter(|&end| end > 0)?;
    Some(format!("{}{CUT}", &line[..end]))
}

/// The mark that replaces the rest of a line that was cut.
const CUT: &str = "…";

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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &[&str], errors: &[&str], room: usize) -> Vec<String> {
        let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let tail = LogTail {
            output: owned(output),
            errors: owned(errors),
        };
        let blocks = blocks(&tail, LogRoom(room)).into_iter();
        let texts = blocks.map(|block| match block {
            Block::Caption(text) | Block::Code(text) => text,
            other => panic!("{other:?}"),
        });
        texts.collect()
    }

    const OUTPUT: &str = "Last on standard output:";
    const ERRORS: &str = "Last on standard error:";

    #[test]
    fn the_last_lines_that_fit_are_shown_as_long_as_a_page_writes_them() {
        assert_eq!(shown(&["a", "b"], &[], 2), [OUTPUT, "b"]);
        assert_eq!(shown(&["<b>"], &[], 10), [OUTPUT, "<b>"]);
        assert_eq!(shown(&[], &["c"], 8), [ERRORS, "c"]);
        // Each log has its own lines.
        assert_eq!(shown(&["a", "b"], &["c"], 8), [OUTPUT, "a\nb", ERRORS, "c"]);
    }

    #[test]
    fn a_last_line_that_does_not_fit_is_cut() {
        // `&lt;b&gt;` has nine characters.
        assert_eq!(shown(&["<b>"], &[], 9), [OUTPUT, "<b…"]);
        let both = shown(&["a", "too long"], &["c"], 14);
        assert_eq!(both, [OUTPUT, "too…", ERRORS, "c"]);
        // No part of a letter.
        assert_eq!(shown(&["äääää"], &[], 7), [OUTPUT, "ä…"]);
        assert!(shown(&["too long"], &[], 4).is_empty());
    }

    #[test]
    fn each_row_of_a_large_report_has_little_room() {
        assert!(LogRoom::shared_by(310).0 < 330);
        assert_eq!(LogRoom::shared_by(0), LogRoom::shared_by(1));
    }
}
