//! What the command shows while it works and when it is done.

mod agents;
pub(crate) mod capacity_progress;
pub(crate) mod capacity_summary;
pub(crate) mod explanation_files;
mod live_line;
mod live_view;
pub(crate) mod load_report;
pub(crate) mod load_summary;
pub(crate) mod load_view;
pub(crate) mod objectives;
pub(crate) mod report_files;
pub(crate) mod run_progress;
pub(crate) mod screen_thread;
mod time_left;

#[cfg(test)]
mod tests;

pub(crate) use prony_present::number::minutes;

use std::io::IsTerminal;

use prony_model::{LatencySummary, LoadSpec, Target};
use prony_present::number::duration;
use prony_present::table::{Cell, Table};
use prony_present::terminal::Paint;

use crate::output;

/// Without a terminal lines are as long as they need to be.
const UNLIMITED: usize = 1000;

/// How many columns standard output has.
pub(crate) fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(UNLIMITED, |(columns, _)| columns.0.into())
}

/// The widest table without a terminal.
pub(crate) const WIDTH_OF_A_FILE: usize = 100;

/// How standard output shows tables.
pub(crate) struct Console {
    pub(crate) width: usize,
    pub(crate) colour: bool,
}

impl Console {
    pub(crate) fn stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self {
            width: if is_terminal {
                width()
            } else {
                WIDTH_OF_A_FILE
            },
            colour: is_terminal && output::shows_colours(&std::io::stdout()),
        }
    }
}

/// What a load requested: its method and URL, or only the URL if a scenario's entries have the methods.
fn requested(target: &Target, load: &LoadSpec) -> String {
    if load.flows {
        target.url.clone()
    } else {
        format!("{} {}", target.method, target.url)
    }
}

/// What else helps if too few connections are open, after other advice.
fn or_more_streams(target: &Target) -> &'static str {
    if target.protocol.is_http1() {
        ""
    } else {
        ", or more streams (--streams-per-connection)"
    }
}

/// The text with lines of at most `width` characters. Longer lines are broken at spaces, and go on indented.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.chars().take_while(|c| *c == ' ').count() + 4;
        let (mut rest, mut start) = (line.to_owned(), String::new());
        while let Some(space) = break_at(&rest, width.saturating_sub(start.len())) {
            out += &format!("{start}{}\n", &rest[..space]);
            rest = rest[space + 1..].to_owned();
            start = " ".repeat(indent);
        }
        out += &format!("{start}{rest}\n");
    }
    out
}

/// Where to break a line that is longer than `width`: at a space after its first word, and not before a unit.
fn break_at(line: &str, width: usize) -> Option<usize> {
    let (end, _) = line.char_indices().nth(width)?;
    let first_word = line.len() - line.trim_start().len();
    let is_before_unit = |space: usize| {
        let unit = line[space + 1..].split(' ').next().unwrap_or_default();
        line[..space].ends_with(|c: char| c.is_ascii_digit()) && unit.chars().count() <= 3
    };
    let spaces = line[first_word..].match_indices(' ');
    let spaces = spaces.map(|(at, _)| first_word + at);
    let mut spaces = spaces.filter(|space| !is_before_unit(*space)).peekable();
    let first = spaces.peek().copied();
    spaces.take_while(|space| *space <= end).last().or(first)
}

/// A figure of a latency, if there is one.
fn figure(latency: Option<&LatencySummary>, of: fn(&LatencySummary) -> u64) -> Cell {
    Cell::optional(latency.map(|latency| of(latency) as f64), duration)
}

/// A table below a line of text, in lines of at most `width` characters.
pub(crate) fn indented(table: &Table, width: usize) -> Vec<String> {
    let lines = table.terminal(width.saturating_sub(2), Paint { colour: false });
    lines.iter().map(|line| format!("  {line}")).collect()
}
