//! The sentences that every kind of report shares.

mod conditions;
mod load;
mod reading;
mod traits;

use prony_record::{Run, RunEnd};
use prony_stats::Estimate;

use crate::{Row, format};

pub use conditions::{command, conditions};
pub use load::{is_open, latency as latency_of, load, load_in_rounds};
pub use reading::{RATIOS, asides, intervals, latency, reading, unranked};
pub use traits::{TraitKind, traits};

pub fn plural(count: usize, thing: &str) -> String {
    match count {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// A count with the words that agree with it: `1 request was`, `1,204 requests were`.
pub fn verb(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        n => format!("{} {many}", format::exact(n)),
    }
}

/// `±1.2 %`, or nothing to show for a single round.
pub fn plus_minus(estimate: &Estimate) -> String {
    estimate
        .half_width_share()
        .map_or(format::NONE.to_owned(), |share| {
            format!("±{}", format::share(share))
        })
}

/// The rank as it stands in a table.
pub fn rank(row: &Row) -> String {
    row.rank()
        .map_or(format::NONE.to_owned(), |rank| rank.to_string())
}

/// What must be said of a run that did not come to its end; a complete one needs no word.
pub fn end(run: &Run) -> Option<&'static str> {
    match run.end {
        RunEnd::Complete => None,
        RunEnd::Open => {
            Some("This run is not over, or Prony was killed in it: rounds are missing.")
        }
        RunEnd::Interrupted => Some("This run was stopped by its user: rounds are missing."),
        RunEnd::Failed => Some("This run could not go on to its end: rounds are missing."),
    }
}
