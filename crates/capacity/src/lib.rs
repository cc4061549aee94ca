//! The capacity of a server: the greatest open-loop rate at which it keeps what is asked of it.
//!
//! [`find`] guides a [`Generator`] from rate to rate: [`Search`] says which one to try, [`judge`] whether the
//! server held it, and when the capacity is found the curve of latency against rate is taken. Nothing here
//! makes a load or knows a clock, so that all of it is tested on simulated servers.
#![forbid(unsafe_code)]

mod attempt;
mod chart;
mod curve;
mod finder;
mod format;
mod growth;
mod hopeless;
mod judge;
mod length;
mod noise;
mod result;
mod search;
mod slo;
#[cfg(test)]
mod testing;

pub use attempt::{Attempt, Purpose};
pub use chart::chart_svg;
pub use curve::supports;
pub use finder::{
    Event, FindError, Generator, Loaded, MOST_RUNS, Observed, Planned, Question, find,
};
pub use format::per_second;
pub use hopeless::{Seen, is_hopeless};
pub use judge::{Judgement, judge};
pub use length::Lengths;
pub use noise::{AttemptNoise, ServerPlace};
pub use result::{CapacityResult, Ended};
pub use search::{Found, LEAST_RATE, MOST_RATE, Precision, Search, Step, Tried};
pub use slo::{Broken, Clause, Figures, Slo, SloError, Statistic};
