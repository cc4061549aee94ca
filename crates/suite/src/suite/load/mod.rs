//! A load as a suite asks for it.

mod fields;
#[cfg(test)]
mod tests;

use std::num::{NonZeroU64, NonZeroUsize};
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec, Schedule};
use serde::Deserialize;

use fields::Fields;

/// A load as a suite asks for it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Fields")]
pub struct SuiteLoad {
    /// The arrivals.
    pub shape: LoadShape,
    /// How many connections, over all threads: one for each user, where the shape has users.
    pub connections: NonZeroUsize,
    /// How many connections there may be at the most, where a rate needs more; `None` where no more
    /// are opened.
    pub max_connections: Option<NonZeroUsize>,
    /// How many requests are in flight over one connection at a time.
    pub pipeline: NonZeroUsize,
    /// After how many responses a connection is closed and made anew; `None` to keep it.
    pub requests_per_connection: Option<NonZeroU64>,
    /// How many threads make it; `None` for one on each CPU that is given to the load.
    pub threads: Option<NonZeroUsize>,
    /// How long it is measured; `None` where only `requests` ends it.
    pub duration: Option<Duration>,
    /// How many requests are measured at the most; `None` where only `duration` ends it.
    pub requests: Option<NonZeroU64>,
    /// How long requests are sent before measuring begins.
    pub warmup: Duration,
    /// How long a server may be under this load until it must be warm; `None` for [`WARMUP_LIMIT`].
    pub warmup_limit: Option<Duration>,
    /// How long a response may take from the send.
    pub timeout: Duration,
    /// How long a response may take from the scheduled arrival; what could not be sent by then is shed.
    pub deadline: Option<Duration>,
    /// Whether the generator busy-waits for the instants of its schedule.
    pub spin: bool,
    /// How many streams are held open beside it.
    pub streams: usize,
    /// Whether the time to the first byte of each response is measured.
    pub first_byte: bool,
    /// Whether responses are read as event streams, and their events counted and timed.
    pub events: bool,
}

/// How long a server may be under a load until it must be warm, if nothing else is said.
pub const WARMUP_LIMIT: Duration = Duration::from_secs(20);

impl SuiteLoad {
    /// How long a server may be under this load until it must be warm. A load without a warm-up is meant to have its
    /// first requests measured, so it has none.
    pub fn warmup_limit(&self) -> Duration {
        match self.warmup.is_zero() {
            true => Duration::ZERO,
            false => self.warmup_limit.unwrap_or(WARMUP_LIMIT),
        }
    }

    /// The load for a machine that gives `cpus` CPUs to it. Its seed is 0: each round of the plan has
    /// one of its own.
    pub fn spec(&self, cpus: NonZeroUsize) -> LoadSpec {
        // A thread without a connection would have nothing to do.
        let threads = self.threads.unwrap_or(cpus).min(self.connections);
        LoadSpec {
            shape: self.shape.clone(),
            connections: self.connections.get(),
            max_connections: self.max_connections.map(NonZeroUsize::get),
            pipeline: self.pipeline.get(),
            requests_per_connection: self.requests_per_connection.map(NonZeroU64::get),
            threads: threads.get(),
            duration_s: self.duration.map(|duration| duration.as_secs_f64()),
            requests: self.requests.map(NonZeroU64::get),
            warmup_s: self.warmup.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
            deadline_s: self.deadline.map(|deadline| deadline.as_secs_f64()),
            seed: 0,
            spin: self.spin,
            streams: self.streams,
            first_byte: self.first_byte,
            events: self.events,
        }
    }

    /// Makes it end after `duration` where a duration ends it; the stages of a rate that moves are
    /// shortened alike, so that it moves through the same rates.
    pub(super) fn shorten_to(&mut self, duration: Duration) {
        let Some(own) = self.duration else { return };
        self.duration = Some(duration);
        if let LoadShape::Rate(schedule) = &mut self.shape {
            let factor = duration.as_secs_f64() / own.as_secs_f64();
            let times = schedule.stages.iter_mut();
            for time in times.filter_map(|stage| stage.duration_s.as_mut()) {
                *time *= factor;
            }
        }
    }

    /// What ends it: `10s`, `10000 requests`, or `10000 requests or 10s`.
    pub(super) fn end(&self) -> String {
        let requests = self.requests.map(|requests| format!("{requests} requests"));
        let duration = self
            .duration
            .map(|duration| humantime::format_duration(duration).to_string());
        let ends: Vec<String> = requests.into_iter().chain(duration).collect();
        ends.join(" or ")
    }
}

/// How long the stages of a schedule take together, in seconds; of a last one that lasts as long as
/// the load, nothing.
fn staged_s(schedule: &Schedule) -> f64 {
    let times = schedule.stages.iter().filter_map(|stage| stage.duration_s);
    times.sum()
}
