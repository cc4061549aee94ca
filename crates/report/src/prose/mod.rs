//! The sentences that every kind of report shares.

mod conditions;
mod few_rounds;
mod load;
mod noise;
mod reading;
mod rounds;
mod traits;
mod warming;
mod wrong;

use prony_model::{Run, RunEnd};
use prony_stats::{Band, Estimate};

use crate::{Relative, format};

pub use conditions::{command, conditions};
pub use few_rounds::too_few_rounds;
pub use load::{is_open, latency as latency_of, load, load_in_rounds};
pub use noise::{SEEN, noisy, quiet, seen};
pub use reading::{RANK, RATIOS, asides, baseline, intervals, latency, reading, unranked};
pub use rounds::enough_sentence;
pub use traits::{TraitKind, traits};
pub use warming::warming;
pub use wrong::{wrong, wrong_of};

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

/// A rank band as it stands in a table: `1`, `2–4`.
pub fn band(band: Option<Band>) -> String {
    match band {
        None => format::NONE.to_owned(),
        Some(Band { best, worst }) => {
            format::interval(best as f64, worst as f64, |rank| rank.to_string())
        }
    }
}

/// A ratio, and its interval where there is one, both in the same way of writing: `0.79`, `0.77–0.81`.
pub fn relative(relative: Relative, shown: fn(f64) -> String) -> (String, Option<String>) {
    let interval = relative.interval;
    let interval = interval.map(|(low, high)| format::interval(low, high, shown));
    (shown(relative.ratio), interval)
}

/// A figure with its interval in brackets: `0.79 (0.77–0.81)`. An interval that rounds to the figure says nothing more.
pub fn with(figure: String, small: Option<String>) -> String {
    match small.filter(|small| *small != figure) {
        Some(small) => format!("{figure} ({small})"),
        None => figure,
    }
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
