//! When a scripted server responds, and the latencies that a client must therefore see.
//!
//! The server is a queue with one or more workers. Requests are served in order of arrival, each by the first worker that
//! is free, for a time given by the script. While the server is frozen, nothing happens. The instant of each response
//! follows from the script and the arrivals alone (the recursions of Lindley and, for several workers, of Kiefer and
//! Wolfowitz), so the latency of every request of an open load, and any percentile, can be computed without measuring.
//!
//! All times count from the first arrival.

mod freeze;
mod service;

pub use crate::error::ScriptError;
pub use freeze::Freeze;
pub use service::{Service, ServiceTimes};

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;
use std::time::Duration;

/// When a server responds.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// When it is frozen; `None` for never.
    pub freeze: Option<Freeze>,
    /// How long each request is served.
    pub service: Service,
    /// How many requests are served at once.
    pub workers: NonZeroUsize,
    /// The seed of random service times.
    pub seed: u64,
}

impl Default for Script {
    /// One worker that needs no time.
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
    /// When responses are due, from the first arrival on.
    pub fn timeline(&self) -> Timeline {
        Timeline {
            freeze: self.freeze,
            times: self.service.times(self.seed),
            free_at: vec![Reverse(Duration::ZERO); self.workers.get()].into(),
        }
    }

    /// The true latency of each request of an open load, from its arrival until its response is due. Arrivals must be in
    /// order.
    pub fn latencies(&self, arrivals: impl IntoIterator<Item = Duration>) -> Latencies {
        let mut timeline = self.timeline();
        arrivals
            .into_iter()
            .map(|arrival| timeline.response_due(arrival) - arrival)
            .collect()
    }
}

/// When the response to each request is due, computed from one arrival after the other.
#[derive(Clone, Debug)]
pub struct Timeline {
    freeze: Option<Freeze>,
    times: ServiceTimes,
    /// When each worker will be free; the earliest is on top.
    free_at: BinaryHeap<Reverse<Duration>>,
}

impl Timeline {
    /// When the response to the next request is due; arrivals must be in order. With several workers it may be due
    /// before the response to an earlier request.
    pub fn response_due(&mut self, arrival: Duration) -> Duration {
        let Reverse(free_at) = self.free_at.pop().unwrap_or_default();
        let start = arrival.max(free_at);
        let work = self.times.next().unwrap_or_default();
        let due = match &self.freeze {
            None => start + work,
            Some(freeze) => freeze.end_of(start, work),
        };
        self.free_at.push(Reverse(due));
        due
    }
}

/// The latency of every request of a load, possibly none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latencies {
    ascending: Vec<Duration>,
}

impl Latencies {
    /// The smallest latency that at least the share `quantile` (0 to 1) of all latencies do not exceed. It is exact,
    /// not interpolated; zero if there are none.
    pub fn at(&self, quantile: f64) -> Duration {
        let count = self.ascending.len();
        // In floating point 0.55 × 100 is slightly above 55.
        let rank = (quantile * count as f64 - 1e-6).ceil() as usize;
        let index = rank.clamp(1, count.max(1)) - 1;
        self.ascending.get(index).copied().unwrap_or_default()
    }

    /// The arithmetic mean; zero if there is none.
    pub fn mean(&self) -> Duration {
        let total: u128 = self.ascending.iter().map(Duration::as_nanos).sum();
        let mean = total / self.ascending.len().max(1) as u128;
        Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ascending.len()
    }
}

impl FromIterator<Duration> for Latencies {
    fn from_iter<I: IntoIterator<Item = Duration>>(latencies: I) -> Self {
        let mut ascending: Vec<Duration> = latencies.into_iter().collect();
        ascending.sort_unstable();
        Self { ascending }
    }
}

/// `count` arrivals at an even rate per second, the first at once.
pub fn even_arrivals(per_s: f64, count: u64) -> impl Iterator<Item = Duration> {
    (0..count).map(move |number| Duration::from_secs_f64(number as f64 / per_s))
}

/// Endless random arrivals at a rate per second, a Poisson process; the same seed gives the same arrivals.
pub fn poisson_arrivals(per_s: f64, seed: u64) -> impl Iterator<Item = Duration> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut now_s = 0.0;
    std::iter::repeat_with(move || {
        // 1 - f64() lies above 0 and up to 1, so its logarithm is finite.
        now_s -= (1.0 - random.f64()).ln() / per_s;
        Duration::try_from_secs_f64(now_s).unwrap_or(Duration::MAX)
    })
}

#[cfg(test)]
mod tests;
