//! What a scripted server does with time, and what a client must therefore see.
//!
//! The server is one queue with one worker or several: requests are begun in order of arrival, each by
//! the worker that is free first, and each takes one for a time that the script says. While the server is
//! frozen nothing happens in it. When a response leaves follows from the script and the arrivals alone
//! (the recursions of Lindley and, for several workers, of Kiefer and Wolfowitz), so the latency of every
//! request of an open load, and any percentile of them, can be computed without measuring anything.
//!
//! All times count from the first arrival.

mod error;
mod freeze;
mod latencies;
mod service;
mod timeline;

pub use error::ScriptError;
pub use freeze::Freeze;
pub use latencies::{Latencies, even_arrivals, poisson_arrivals};
pub use service::{Service, ServiceTimes};
pub use timeline::Timeline;

use std::num::NonZeroUsize;
use std::time::Duration;

/// When a server responds.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// When it stands still; `None` for never.
    pub freeze: Option<Freeze>,
    /// How long each request is served.
    pub service: Service,
    /// How many requests are served at a time.
    pub workers: NonZeroUsize,
    /// What random times of service come from: the same number makes the same ones.
    pub seed: u64,
}

impl Default for Script {
    /// One worker that takes no time.
    fn default() -> Self {
        Self {
            freeze: None,
            service: Service::default(),
            workers: NonZeroUsize::MIN,
            seed: 0,
        }
    }
}

impl Script {
    /// The server's time, from the first arrival on.
    pub fn timeline(&self) -> Timeline {
        Timeline::new(self.freeze, self.service.times(self.seed), self.workers)
    }

    /// The true latency of each request of an open load: from its arrival, which must not be before
    /// the one before it, to the instant at which its response is due.
    pub fn latencies(&self, arrivals: impl IntoIterator<Item = Duration>) -> Latencies {
        let mut timeline = self.timeline();
        arrivals
            .into_iter()
            .map(|arrival| timeline.response_due(arrival) - arrival)
            .collect()
    }
}
