//! What a scripted server does with time, and what a client must therefore see.
//!
//! The server is one queue: requests are served in order of arrival, each for a time that the script
//! says. While it is frozen nothing happens in it. When an answer leaves follows from the script and
//! the arrivals alone (Lindley's recursion), so the latency of every request of an open load, and any
//! percentile of them, can be computed without measuring anything.
//!
//! All times count from the first arrival.

mod error;
mod freeze;
mod latencies;
mod service;
mod timeline;

pub use error::ScriptError;
pub use freeze::Freeze;
pub use latencies::{Latencies, even_arrivals};
pub use service::{Service, ServiceTimes};
pub use timeline::Timeline;

use std::time::Duration;

/// When a server answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// When it stands still; `None` for never.
    pub freeze: Option<Freeze>,
    /// How long each request is served.
    pub service: Service,
    /// What random times of service come from: the same number makes the same ones.
    pub seed: u64,
}

impl Script {
    /// The server's time, from the first arrival on.
    pub fn timeline(&self) -> Timeline {
        Timeline::new(self.freeze, self.service.times(self.seed))
    }

    /// The true latency of each request of an open load: from its arrival, which must not be before
    /// the one before it, to the instant at which its answer is due.
    pub fn latencies(&self, arrivals: impl IntoIterator<Item = Duration>) -> Latencies {
        let mut timeline = self.timeline();
        arrivals
            .into_iter()
            .map(|arrival| timeline.answer_due(arrival) - arrival)
            .collect()
    }
}
