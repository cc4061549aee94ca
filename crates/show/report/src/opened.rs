//! What a row of a workload's table shows when a reader opens it: how it was made and run, its courses, each of its rounds,
//! and what the server wrote last.

mod courses;
mod log;

use prony_model::{Outcome, ServerRecord};
use prony_present::number::{count, duration, exact, share};
use prony_present::page::Block;
use prony_present::table::{Cell, Head, Row, Table, Tone};
use prony_present::words::{Joined, command_line, outcome};

pub(crate) use log::LogRoom;

use crate::figures::Attempt;
use crate::table::{ResultTable, ServerRow};

/// How much of a hash of sources is shown.
const HASH: usize = 16;

/// The details of each row, in the order of the rows.
pub(crate) fn details(table: &ResultTable, room: LogRoom) -> Vec<Vec<Block>> {
    let rows = table.rows.iter();
    rows.map(|row| {
        let mut blocks = vec![Block::Facts(facts(row))];
        blocks.extend(courses::sparks(table, row));
        blocks.push(Block::Table(rounds(table, row)));
        blocks.extend(log::last_lines(row, room));
        blocks
    })
    .collect()
}

fn facts(row: &ServerRow) -> Vec<(&'static str, String)> {
    let server = &row.server;
    let facts = [
        ("Built with", server.title()),
        ("Class", server.class.clone()),
        ("Command", started_by(server)),
        ("Sources (SHA-256)", short_hash(&server.source_hash)),
        ("Outcomes, all rounds", outcomes(row)),
    ];
    facts
        .into_iter()
        .filter(|(_, words)| !words.is_empty())
        .collect()
}

/// The command that started a server, unless it already ran.
pub(crate) fn started_by(server: &ServerRecord) -> String {
    match &server.outside {
        Some(outside) => format!("already ran at {}", outside.url),
        None => command_line(&server.run_command),
    }
}

/// The beginning of a hash; the record has all of it.
fn short_hash(hash: &str) -> String {
    match hash.char_indices().nth(HASH) {
        Some((end, _)) => format!("{}…", &hash[..end]),
        None => hash.to_owned(),
    }
}

/// `1,204,311 ok, 12 timed out, 64 in flight at the end`.
fn outcomes(row: &ServerRow) -> String {
    let known = row.figures.outcomes.iter().filter(|(_, count)| *count > 0);
    let words = known.map(|(of, count)| match of {
        Outcome::Unfinished => format!("{} in flight at the end", exact(count)),
        other => format!("{} {}", exact(count), outcome(other)),
    });
    words.joined(", ")
}

/// Each attempt at a round with the figure that ranks rows.
fn rounds(table: &ResultTable, row: &ServerRow) -> Table {
    let figure = if table.is_open() {
        "p50"
    } else if table.load.flows {
        "flows/s"
    } else {
        "req/s"
    };
    let heads = [
        Head::words("round"),
        Head::figure(figure),
        Head::figure("p99"),
        Head::figure("CPU time lost"),
        Head::words("remark"),
    ];
    let attempts = &row.figures.rounds;
    // Mostly there is nothing to remark.
    let shown = if attempts.iter().all(|attempt| remark(attempt).is_empty()) {
        heads.len() - 1
    } else {
        heads.len()
    };
    let rows = attempts.iter().map(|one| {
        let mut row = attempt(one, table.is_open());
        row.cells.truncate(shown);
        row
    });
    Table::with(heads.into_iter().take(shown), rows)
}

fn attempt(attempt: &Attempt, is_open: bool) -> Row {
    let round = Cell::text(attempt.round.to_string());
    let tone = if attempt.counts {
        Tone::Plain
    } else {
        Tone::Aside
    };
    match &attempt.result {
        Ok(figures) => Row::of([
            round,
            if is_open {
                Cell::optional(figures.p50_ns, duration)
            } else {
                Cell::text(count(figures.rate))
            },
            Cell::optional(figures.p99_ns, duration),
            Cell::text(share(figures.loss)),
            Cell::blank(remark(attempt)),
        ]),
        Err(message) => Row::of([round]).absent(format!("failed: {message}")),
    }
    .tone(tone)
}

/// `noisy (CPU steal), re-run`, `re-run, attempt 2`.
fn remark(attempt: &Attempt) -> String {
    let again = (attempt.attempt > 1).then(|| format!("attempt {}", attempt.attempt));
    let noisy =
        (!attempt.causes.is_empty()).then(|| format!("noisy ({})", attempt.causes.join(", ")));
    let unused = (!attempt.counts).then(|| "not counted".to_owned());
    [again, noisy, unused].into_iter().flatten().joined(", ")
}
