//! What several charts have.

use prony_present::words::{Joined, plural};
use prony_stats::Estimate;

use crate::table::{ResultTable, ServerRow};

/// How many ticks an axis has at most.
pub(super) const TICKS: usize = 4;

/// The rows in the order of their rates. In an open loop, which sets the rate, they keep their order: by latency.
pub(super) fn in_order(table: &ResultTable) -> Vec<&ServerRow> {
    let mut sorted: Vec<&ServerRow> = table.rows.iter().collect();
    if !table.is_open() {
        sorted.sort_by(|a, b| b.figures.rate.median.total_cmp(&a.figures.rate.median));
    }
    sorted
}

/// The text alternative of a chart lists the figures of at most this many rows: a table has them all.
pub(super) const MOST_DESCRIBED: usize = 12;

/// The first lines of a text alternative, and how many there are more.
pub(super) fn listed(lines: impl Iterator<Item = String>, count: usize, most: usize) -> String {
    let others = count.saturating_sub(most);
    let others = (others > 0).then(|| format!("{} more, as in the table", plural(others, "row")));
    lines.take(most).chain(others).joined("; ")
}

/// What the rates and the latencies are of.
pub(super) fn what_counts(table: &ResultTable) -> &'static str {
    if table.load.flows {
        "flows"
    } else {
        "responses"
    }
}

pub(super) fn spread(estimate: Estimate) -> Option<(f64, f64)> {
    (estimate.n > 1).then_some((estimate.low, estimate.high))
}
