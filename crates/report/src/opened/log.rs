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
        Self::shared_by(rows.count())
    }

    fn shared_by(rows: usize) -> Self {
        Self((Self::ALL / rows.max(1)).min(Self::MOST))
    }
}

/// The last lines that fit, those of standard error at the end.
pub fn last_lines(row: &ServerRow, room: LogRoom) -> Vec<Block> {
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
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for (all, name) in written {
        let shown = fitting(all, room);
        lines.extend_from_slice(shown);
        names.extend((!shown.is_empty()).then_some(*name));
    }
    if lines.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Caption(format!("Last on {}:", names.join(" and "))),
        Block::Code(lines.join("\n")),
    ]
}

/// The last lines that fit into so much of a page.
fn fitting(lines: &[String], mut room: usize) -> &[String] {
    let fits = |line: &&String| {
        let left = room.checked_sub(escaped_length(line) + 1);
        room = left.unwrap_or(room);
        left.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &[&str], errors: &[&str], room: usize) -> Option<(String, String)> {
        let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let tail = LogTail {
            output: owned(output),
            errors: owned(errors),
        };
        match &blocks(&tail, LogRoom(room))[..] {
            [Block::Caption(caption), Block::Code(code)] => Some((caption.clone(), code.clone())),
            _ => None,
        }
    }

    fn pair(caption: &str, code: &str) -> Option<(String, String)> {
        Some((caption.into(), code.into()))
    }

    #[test]
    fn the_last_lines_that_fit_are_shown_as_long_as_a_page_writes_them() {
        assert_eq!(
            shown(&["a", "b"], &[], 2),
            pair("Last on standard output:", "b")
        );
        let both = "Last on standard output and standard error:";
        assert_eq!(shown(&["a", "b"], &["c"], 8), pair(both, "a\nb\nc"));
        assert_eq!(
            shown(&["<b>"], &[], 9),
            None,
            "`&lt;b&gt;` has nine characters"
        );
        assert_eq!(
            shown(&["<b>"], &[], 10),
            pair("Last on standard output:", "<b>")
        );
        assert_eq!(
            shown(&["a", "too long"], &["c"], 8),
            pair("Last on standard error:", "c")
        );
    }

    #[test]
    fn each_row_of_a_large_report_has_little_room() {
        assert!(LogRoom::shared_by(310).0 < 330);
        assert_eq!(LogRoom::shared_by(0), LogRoom::shared_by(1));
    }
}
