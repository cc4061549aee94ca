//! Errors with the line in question, a caret and the reason, as Hurl prints them.

use std::fmt::Write as _;

use crate::position::Span;

/// What is wrong, and where.
pub(crate) struct Listing<'a> {
    /// The first line.
    pub(crate) title: &'a str,
    pub(crate) span: Span,
    /// The first line of the entry in question, for errors while it runs.
    pub(crate) entry_line: Option<usize>,
    pub(crate) reason: Reason<'a>,
}

/// The text below the line.
pub(crate) enum Reason<'a> {
    /// Behind carets, below the place in question.
    Carets(&'a str),
    /// Lines as they are.
    Lines(&'a str),
}

impl Listing<'_> {
    /// The error as text, without a newline at its end; `text` is the file's.
    pub(crate) fn render(&self, file: &str, text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        let width = lines.len().to_string().len().max(2);
        let margin = " ".repeat(width);
        let start = self.span.start;
        let line = lines.get(start.line - 1).copied().unwrap_or_default();
        let mut out = format!(
            "{}\n{margin}--> {file}:{}:{}\n{margin} |",
            self.title, start.line, start.column
        );
        if let Some(entry) = self.entry_line.filter(|entry| *entry < start.line) {
            let first = lines.get(entry - 1).copied().unwrap_or_default();
            let _ = write!(out, "\n{margin} | {}", first.replace('\t', "    "));
            if start.line - entry > 1 {
                let _ = write!(out, "\n{margin} | ...");
            }
        }
        let _ = write!(
            out,
            "\n{:>width$} | {}",
            start.line,
            line.replace('\t', "    ")
        );
        let reason = match self.reason {
            Reason::Carets(reason) => carets(reason, self.span, line),
            Reason::Lines(reason) => reason.to_owned(),
        };
        for reason_line in reason.split('\n') {
            let _ = write!(out, "\n{margin} |{reason_line}");
        }
        if !out.ends_with('|') {
            let _ = write!(out, "\n{margin} |");
        }
        out.replace("\r\n", "\n")
    }
}

/// The reason behind carets below `span`. A tab is shown as four spaces.
fn carets(reason: &str, span: Span, line: &str) -> String {
    let column = span.start.column;
    let width = span.end.column.saturating_sub(column).max(1);
    let tabs = line
        .chars()
        .take(column - 1)
        .filter(|character| *character == '\t')
        .count();
    let prefix = format!("{}{} ", " ".repeat(column + tabs * 3), "^".repeat(width));
    let mut out = prefix.clone();
    for (number, reason_line) in reason.lines().enumerate() {
        if number > 0 {
            out.push('\n');
            if !reason_line.is_empty() {
                out.push_str(&" ".repeat(prefix.len()));
            }
        }
        out.push_str(reason_line);
    }
    out
}
