//! How to read a report, and what must be said of a table besides its figures.

use prony_stats::Estimate;

use super::verb;
use crate::{Comparison, Table, format};

/// What the intervals mean for as many rounds as there were.
pub fn intervals(comparison: &Comparison) -> Vec<String> {
    comparison
        .round_counts()
        .into_iter()
        .map(|n| match n {
            1 => "With one round there is no interval, and nothing can be ranked apart.".to_owned(),
            n => {
                let places: Vec<f64> = (1..=n).map(|place| place as f64).collect();
                let estimate = Estimate::of(&places);
                let coverage = estimate.map_or(0.0, |estimate| estimate.coverage);
                let ends = match estimate.map_or(1.0, |estimate| estimate.low) {
                    low if low > 1.0 => format!("value {low} from either end of {n} rounds"),
                    _ => format!("the lowest and the highest of {n} rounds"),
                };
                let percent = (coverage * 10_000.0).floor() / 100.0;
                format!("Intervals run between {ends}: they hold the true median with a chance of {percent} %.")
            }
        })
        .collect()
}

/// How to read the tables, a paragraph each: those that this comparison needs.
pub fn reading(comparison: &Comparison) -> Vec<String> {
    let mut paragraphs: Vec<&str> = Vec::new();
    if comparison.published.is_some() {
        paragraphs.extend(PUBLISHED);
    }
    paragraphs.extend(RANKS);
    if comparison.has_closed() {
        paragraphs.push(CLOSED);
    }
    if comparison.has_users_closed() {
        paragraphs.push(USERS_CLOSED);
    }
    if comparison.has_open() {
        paragraphs.extend(OPEN);
    }
    if comparison.tables.iter().any(Table::has_events) {
        paragraphs.push(EVENTS);
    }
    paragraphs.extend(COSTS);
    paragraphs.push(GENERATOR);
    let mut paragraphs: Vec<String> = paragraphs.into_iter().map(str::to_owned).collect();
    paragraphs.extend(intervals(comparison));
    paragraphs
}

const PUBLISHED: [&str; 2] = [
    "The document's tables: the rows are the document's, the figures were measured here. Another machine gives other \
     figures, so only what stands inside of one table is held against the document: each row as a ratio to the \
     document's best row that was measured here, and the order of the rows.",
    "The order: a pair of rows whose published figures differ is in the published order, or reversed, or cannot be \
     told apart here. It cannot where the intervals of the rounds touch, where there was one round, or where the figure is \
     not the server's own: the generator was the limit, the rate was not made, or answers were wrong.",
];

/// What the ratios beside a document's table are.
pub const RATIOS: &str = "Published → measured here, each as a ratio to the document's best row that was measured here, \
     of the same workload; that row is 1.00. Shares stand as they are. A question mark: the row, or the one that is 1.00, was \
     client-limited, was not asked at its rate, or answered wrong here, so the ratio is not that of the servers.";

const RANKS: [&str; 3] = [
    "Rank: rows are ordered by the median of their rounds. A rank says how many rows are faster with their whole \
     interval: rank 3 means that two are. Rows whose intervals overlap are not told apart by these data.",
    "Ceiling: the built-in reference server does the least work that still answers right. It shows what \
     this machine can do at all and is never ranked.",
    "Client-limited: in at least one round the generator was at its limit while the server was not: a thread of it was \
     busy nearly all the time, or fell ever further behind its schedule. The row says which. The server can do more \
     than the figure says, so such a row is never ranked.",
];

const CLOSED: &str = "Latency: from the send of a request to the last byte of its answer, ok answers only, from the histograms of \
     all rounds merged. It is measured in a closed loop: a connection sends its next request only when it has \
     its answer, so a server that stalls is asked less while it does. Compare it between rows of one table; it is \
     not what users who arrive by themselves would meet.";

const OPEN: [&str; 3] = [
    "Open loop: requests are due on a schedule that no answer moves. Latency runs from the scheduled arrival to the last \
     byte of the answer, so the time that a request had to wait for its user, or in a rate for a free connection, is in \
     it. A late request is one whose instant had passed when there was one. Requests a second are those that were \
     offered: they rank nobody.",
    "Sent: the share of the requests due in the measured time that were begun, in the worst round. Below 99.9 % the rate \
     that was asked for was not made, and the row says so: its latencies are those of another rate.",
    "Schedule lag: the generator's own lateness, from the instant at which a request was due and its user free to the \
     one at which it was begun. It is in the latency too; where it comes near it, the figure is the generator's.",
];

const EVENTS: &str = "Events: of answers that are event streams. The first event is timed from where the latency begins, the gap \
     from one event of a stream to its next; both are of the worst round. Rows are ranked by whole answers, not by events.";

const USERS_CLOSED: &str = "Users who think: each waits for an answer, thinks, and asks again. Their thinking sets most of the \
     pace, so their requests a second tell servers apart only where these are slow beside it; latency does.";

const GENERATOR: &str = "The generator's cost: CPU time, system calls, cycles and instructions of the load's own threads for one request, in user mode \
     and in the kernel, measured part only, the median of the rounds; how busy the busiest thread was in the worst one. What \
     the machine cannot count is left out.";

const COSTS: [&str; 2] = [
    "CPU: user and kernel time of the server's whole process tree for one ok answer, warm-up included on both \
     sides. Memory: the most that the process tree held at once in any round.",
    "Transfer counts every byte received, heads included. Rates count ok answers only; an error is never throughput.",
];

/// What must be said of a table's rows besides their figures, a sentence each.
pub fn asides(table: &Table) -> Vec<String> {
    let mut sentences: Vec<String> = table.rows.iter().filter_map(resent).collect();
    sentences.extend(table.rows.iter().filter_map(port_waits));
    sentences.extend(table.rows.iter().filter_map(held));
    sentences.extend(table.rows.iter().filter_map(|row| {
        let wrong = row.figures.first_wrong.as_ref()?;
        Some(format!("First wrong answer of {}: {wrong}", row.subject.id))
    }));
    sentences
}

/// Why the rows of a table have no rank, where that is the load's doing.
pub fn unranked(table: &Table) -> Option<&'static str> {
    table.is_open().then_some(
        "Nobody is ranked: in an open loop the requests a second are those that were offered. Rows are ordered by \
         their median latency, which runs from the scheduled arrival. Late requests are those of all rounds; the \
         schedule lag is the generator's own lateness, of the worst round.",
    )
}

fn resent(row: &crate::Row) -> Option<String> {
    let count = row.figures.resent;
    (count > 0).then(|| {
        format!(
            "{}: {} sent again over a new connection, because the server had closed the old one after a whole answer. \
             An orderly close is no error, and each of them counts once.",
            row.subject.id,
            verb(count, "request was", "requests were"),
        )
    })
}

fn port_waits(row: &crate::Row) -> Option<String> {
    let count = row.figures.port_waits;
    (count > 0).then(|| {
        format!(
            "{}: {} a new connection had to wait for a free local port, so its figures are those of the machine's \
             ports too.",
            row.subject.id,
            match count {
                1 => "once".to_owned(),
                n => format!("{} times", format::exact(n)),
            },
        )
    })
}

/// What the streams brought that were held beside the load.
fn held(row: &crate::Row) -> Option<String> {
    let held = row.figures.held?;
    let mut text = format!(
        "{}: the {} held beside the load brought {} a second",
        row.subject.id,
        verb(held.asked, "stream", "streams"),
        match held.events.per_s.median {
            1.0 => "1 event".to_owned(),
            rate => format!("{} events", format::count(rate)),
        },
    );
    if let Some(gap) = held.events.gap {
        let (p50, p99) = (format::duration(gap.p50_ns), format::duration(gap.p99_ns));
        text.push_str(&format!(
            ", with {p50} from one to the next in the median and {p99} at p99 (worst round)"
        ));
    }
    Some(format!("{text}."))
}

/// What the latency of these tables is, in a line.
pub fn latency(comparison: &Comparison) -> &'static str {
    match (comparison.has_closed(), comparison.has_open()) {
        (_, false) => "Latency is of a closed loop.",
        (false, true) => "Latency is of an open loop: from the scheduled arrival.",
        (true, true) => {
            "Latency of a closed loop runs from the send, of an open loop from the scheduled arrival."
        }
    }
}
