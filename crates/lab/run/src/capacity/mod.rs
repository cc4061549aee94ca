//! The capacity of a server: the greatest open-loop rate, of requests or of flows of a scenario, at which it keeps its
//! objectives.
//!
//! [`find`] guides a [`Generator`] from rate to rate: [`Search`] chooses the next one, [`judge`] decides whether the server
//! sustained it, and once the capacity is known the curve of latency against rate is measured. Nothing here sends a load or
//! reads a clock, so the tests run all of it on simulated servers.

mod attempt;
mod broken;
mod chart;
mod curve;
mod finder;
mod guess;
mod hopeless;
mod judge;
mod length;
mod result;
mod search;
#[cfg(test)]
mod tests;
mod unit;

pub use attempt::{AttemptNoise, RateAttempt, ServerPlace};
pub use chart::chart_svg;
pub use curve::supports;
pub use finder::{
    Event, FindError, Generator, Loaded, MOST_RUNS, Observed, Planned, Question, find,
};
pub use hopeless::{Seen, is_hopeless};
pub use judge::{Judgement, judge};
pub use length::Lengths;
pub use result::{CapacityResult, Ended};
pub use search::{Found, LEAST_RATE, MOST_RATE, Precision, Purpose, Search, Step, Tried};
pub use unit::Unit;
