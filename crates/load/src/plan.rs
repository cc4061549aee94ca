//! The load that is asked for.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec, Schedule, Stage, Target};

use crate::request::WireRequest;
use crate::response::ResponseCheck;
use crate::target::Endpoint;

/// A load on one target: everything that [`crate::run`] needs to know.
#[derive(Clone)]
pub struct LoadPlan {
    /// Where it goes.
    pub endpoint: Endpoint,
    /// The URL, for the record.
    pub url: String,
    /// What is sent.
    pub request: WireRequest,
    /// When requests are due.
    pub shape: LoadShape,
    /// How many connections, over all threads, or users, with a connection each; in a closed loop no
    /// more are opened than there are `requests`.
    pub connections: usize,
    /// Where the shape is a rate: how many connections there may be, over all threads, if it needs
    /// more than `connections`, which are there from the beginning.
    pub max_connections: usize,
    /// How many requests may be in flight over one connection.
    pub pipeline: usize,
    /// After how many responses a connection is closed and made anew; `None` to keep it.
    pub requests_per_connection: Option<NonZeroU64>,
    /// How many threads.
    pub threads: usize,
    /// How long it is measured; `None` where only `requests` ends it.
    pub duration: Option<Duration>,
    /// Whether a closed loop of which no request has ended when its time is up goes on until as many have ended as it
    /// has connections, at most as long as a response may take. If the machine stands still for all of the measured
    /// time, there would be nothing to tell otherwise.
    pub overtime: bool,
    /// How many measured requests there are at the most. Those in flight when the warm-up ends count
    /// as measured: where they are more than that, so are the measured ones.
    pub requests: Option<u64>,
    /// How long requests are sent before measuring begins.
    pub warmup: Duration,
    /// How long a response may take from the send.
    pub timeout: Duration,
    /// What cannot be sent so long after its scheduled arrival is shed. Where the shape is users with a
    /// schedule, as httpmon has them, a response must have come by then, too.
    pub deadline: Option<Duration>,
    /// Whether to busy-wait for the instants of a schedule: more exact, and a whole CPU a thread.
    pub spin: bool,
    /// Which event loop to run.
    pub event_loop: EventLoopChoice,
    /// The local addresses that connections come from, in turn; empty to leave it to the engine.
    pub sources: Vec<IpAddr>,
    /// The CPUs that the threads are pinned to in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Which responses are compared with the right one; `None` accepts every 2xx and 3xx.
    pub sampling: Option<Sampling>,
    /// What the random arrivals and choices come from.
    pub seed: u64,
    /// Whether the time to the first byte of each response is measured.
    pub first_byte: bool,
    /// Whether responses are read as event streams, and their events counted and timed.
    pub events: bool,
    /// How many streams are held open beside the load, over all threads: responses to the same requests
    /// whose end is not waited for.
    pub streams: usize,
}

/// Which event loop to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventLoopChoice {
    /// epoll if responses are long or the kernel allows no io_uring, else io_uring. If nobody knows their length, the
    /// first ones tell it.
    #[default]
    Auto,
    /// io_uring, or nothing.
    IoUring,
    /// epoll.
    Epoll,
}

impl fmt::Display for EventLoopChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::IoUring => "io_uring",
            Self::Epoll => "epoll",
        })
    }
}

/// Which responses are looked at whole while the load runs.
#[derive(Clone)]
pub struct Sampling {
    /// What the expected response is.
    pub check: Arc<dyn ResponseCheck>,
    /// Which responses are compared whole. The first one that a thread requests in the warm-up and the first one after
    /// it always are.
    pub choice: SampleChoice,
}

/// Which responses are compared whole with the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleChoice {
    /// Every Nth of each thread.
    EveryNth(NonZeroU64),
    /// Some, drawn at random from the load's seed: about 700 a second over all threads, or all, if there are fewer.
    /// Besides, the body of every response is compared if the one expected body is short.
    AtRandom,
}

/// A body of that many bytes at the most is compared in every response: that takes some 20 ns, of the microseconds that
/// a response costs the generator.
const SHORT_BODY: usize = 1024;

/// Why a load cannot be made as asked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PlanError {
    #[error("a load needs at least one connection")]
    NoConnections,
    #[error("a load needs at least one thread")]
    NoThreads,
    #[error(
        "{threads} threads share {connections} connections: give at least one connection a thread"
    )]
    ThreadsWithoutConnections { threads: usize, connections: usize },
    #[error("a load ends by a duration, by a number of requests, or by both: neither was given")]
    Endless,
    #[error("{what} must be longer than zero")]
    Zero { what: &'static str },
    #[error("{0}")]
    Schedule(&'static str),
    #[error("{one} cannot be had together with {other}")]
    Contradiction {
        one: &'static str,
        other: &'static str,
    },
    #[error("{asked} {what} are too many: at most {most}")]
    TooMany {
        what: &'static str,
        asked: u64,
        most: u64,
    },
    #[error(
        "{connections} connections with {pipeline} requests of {bytes} bytes in flight over each need more memory than the {} MiB that a pipeline may take: use fewer connections, a shallower pipeline or shorter requests",
        MOST_PIPELINED_BYTES / (1024 * 1024)
    )]
    PipelinedBytes {
        connections: usize,
        pipeline: usize,
        bytes: u64,
    },
    #[error("at most {most} connections are fewer than the {connections} that a load begins with")]
    FewerThanConnections { most: usize, connections: usize },
}

/// The most threads of a load.
pub const MOST_THREADS: usize = 1024;
/// The deepest pipeline: the most requests in flight over one connection.
pub const MOST_PIPELINE: usize = 1000;
/// The most memory that the requests of a pipeline take over all connections, in bytes.
const MOST_PIPELINED_BYTES: u64 = 512 * 1024 * 1024;
/// About what is kept of a request in flight beside its bytes.
const KEPT_OF_REQUEST: u64 = 160;

impl LoadPlan {
    /// A closed loop of one connection on one thread, without an end: set what is to be otherwise.
    pub fn new(
        endpoint: Endpoint,
        url: impl Into<String>,
        request: impl Into<WireRequest>,
    ) -> Self {
        Self {
            endpoint,
            url: url.into(),
            request: request.into(),
            shape: LoadShape::Closed,
            connections: 1,
            max_connections: 1,
            pipeline: 1,
            requests_per_connection: None,
            threads: 1,
            duration: None,
            overtime: false,
            requests: None,
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(10),
            deadline: None,
            spin: false,
            event_loop: EventLoopChoice::default(),
            sources: Vec::new(),
            cpus: Vec::new(),
            sampling: None,
            seed: 0,
            first_byte: false,
            events: false,
            streams: 0,
        }
    }

    /// Says what is wrong with it before anything is opened.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (threads, connections) = (self.threads, self.connections);
        match (self.duration, self.requests) {
            _ if connections == 0 => Err(PlanError::NoConnections),
            _ if threads == 0 => Err(PlanError::NoThreads),
            _ if threads > connections => Err(PlanError::ThreadsWithoutConnections {
                threads,
                connections,
            }),
            (None, None) => Err(PlanError::Endless),
            (Some(Duration::ZERO), _) => Err(zero("the duration")),
            (_, Some(0)) => Err(zero("the number of requests")),
            _ if self.timeout.is_zero() => Err(zero("the timeout")),
            _ if self.deadline == Some(Duration::ZERO) => Err(zero("the deadline")),
            _ if self.pipeline == 0 => Err(zero("the pipeline's depth")),
            _ => self
                .validate_sizes()
                .and_then(|()| self.validate_shape())
                .and_then(|()| self.validate_together()),
        }
    }

    fn validate_sizes(&self) -> Result<(), PlanError> {
        at_most("threads", self.threads as u64, MOST_THREADS as u64)?;
        let pipeline = self.pipeline as u64;
        at_most("requests in a pipeline", pipeline, MOST_PIPELINE as u64)?;
        let connections = self.connections.max(self.max_connections);
        let bytes = self.request.longest_bytes() + KEPT_OF_REQUEST;
        let pipelined = (connections as u64).saturating_mul(pipeline.saturating_mul(bytes));
        if pipeline > 1 && pipelined > MOST_PIPELINED_BYTES {
            return Err(PlanError::PipelinedBytes {
                connections,
                pipeline: self.pipeline,
                bytes,
            });
        }
        Ok(())
    }

    fn validate_shape(&self) -> Result<(), PlanError> {
        match &self.shape {
            LoadShape::UsersOpen { think_time_s } | LoadShape::UsersClosed { think_time_s }
                if !has_microseconds(*think_time_s) =>
            {
                Err(zero("the mean think time, to the microsecond,"))
            }
            LoadShape::Rate(schedule) if schedule.burst == 0 => Err(zero("a burst")),
            LoadShape::Rate(schedule) => {
                at_most("requests in a burst", schedule.burst, Schedule::MOST_BURST)?;
                validate_stages(&schedule.stages)
            }
            LoadShape::Closed | LoadShape::UsersClosed { .. } | LoadShape::UsersOpen { .. } => {
                Ok(())
            }
        }
    }

    fn validate_together(&self) -> Result<(), PlanError> {
        let contradiction = |one, other| Err(PlanError::Contradiction { one, other });
        let is_rate = matches!(self.shape, LoadShape::Rate(_));
        if is_rate && self.max_connections < self.connections {
            return Err(PlanError::FewerThanConnections {
                most: self.max_connections,
                connections: self.connections,
            });
        }
        if self.pipeline > 1 && !is_rate && self.shape != LoadShape::Closed {
            return contradiction("pipelining", "users who think");
        }
        if self.deadline.is_some() && !self.shape.is_open() {
            return contradiction("a deadline, which runs from a schedule,", "a closed loop");
        }
        if let WireRequest::Grpc(_) = self.request {
            if self.pipeline > 1 {
                return contradiction("pipelining", "gRPC");
            }
            if self.events || self.streams > 0 {
                return contradiction("event streams", "gRPC");
            }
        }
        Ok(())
    }

    /// The one length in bytes that every expected body has, if it is known.
    pub(crate) fn body_length(&self) -> Option<u64> {
        self.sampling.as_ref()?.check.body_length()
    }

    /// The body that every response is compared with, if every one is.
    pub(crate) fn body_compared_always(&self) -> Option<&[u8]> {
        let sampling = self.sampling.as_ref()?;
        let at_random = sampling.choice == SampleChoice::AtRandom;
        // Events are read from the body as it comes, and a message of gRPC is cut into frames.
        let is_plain = matches!(self.request, WireRequest::Http1(_)) && !self.events;
        let body = sampling.check.body().filter(|_| at_random && is_plain)?;
        (body.len() <= SHORT_BODY).then_some(body)
    }

    /// The load as the record has it.
    pub fn spec(&self) -> LoadSpec {
        let seconds = |duration: Duration| duration.as_secs_f64();
        LoadSpec {
            shape: self.shape.clone(),
            connections: self.connections,
            max_connections: matches!(self.shape, LoadShape::Rate(_))
                .then_some(self.max_connections),
            pipeline: self.pipeline,
            requests_per_connection: self.requests_per_connection.map(NonZeroU64::get),
            threads: self.threads,
            duration_s: self.duration.map(seconds),
            requests: self.requests,
            warmup_s: seconds(self.warmup),
            timeout_s: seconds(self.timeout),
            deadline_s: self.deadline.map(seconds),
            seed: self.seed,
            spin: self.spin,
            streams: self.streams,
            first_byte: self.first_byte,
            events: self.events,
        }
    }

    /// The target as the record has it.
    pub fn target(&self) -> Target {
        Target {
            url: self.url.clone(),
            method: self.request.method().into(),
            address: self.endpoint.to_string(),
        }
    }
}

fn zero(what: &'static str) -> PlanError {
    PlanError::Zero { what }
}

fn at_most(what: &'static str, asked: u64, most: u64) -> Result<(), PlanError> {
    match asked > most {
        true => Err(PlanError::TooMany { what, asked, most }),
        false => Ok(()),
    }
}

fn validate_stages(stages: &[Stage]) -> Result<(), PlanError> {
    let most = Schedule::MOST_STAGES as u64;
    at_most("stages", stages.len() as u64, most)?;
    let wrong = |what| Err(PlanError::Schedule(what));
    let Some((_, before_last)) = stages.split_last() else {
        return wrong("a rate needs at least one stage");
    };
    let is_rate = |rate: f64| (0.0..=Schedule::MOST_PER_S).contains(&rate);
    if !stages
        .iter()
        .all(|stage| is_rate(stage.from_per_s) && is_rate(stage.to_per_s))
    {
        return wrong("a rate is a number of requests a second, from 0 to 1,000 million");
    }
    if stages
        .iter()
        .all(|stage| stage.from_per_s.max(stage.to_per_s) == 0.0)
    {
        return wrong("a rate must be more than 0 at some time");
    }
    if before_last.iter().any(|stage| stage.duration_s.is_none()) {
        return wrong("only the last stage may go without a duration");
    }
    if stages.iter().any(|stage| {
        stage
            .duration_s
            .is_some_and(|duration| !has_microseconds(duration))
    }) {
        return wrong("a stage must take some time");
    }
    Ok(())
}

fn has_microseconds(seconds: f64) -> bool {
    Duration::try_from_secs_f64(seconds).is_ok_and(|duration| duration.as_micros() > 0)
}

/// `whole` split into `parts` as evenly as can be: the `index`th part. The remainder is spread
/// over the first parts, so that nothing is dropped.
pub(crate) fn share_of(whole: u64, parts: u64, index: u64) -> u64 {
    whole / parts + u64::from(index < whole % parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_add_up_to_the_whole_and_differ_by_one_at_most(
            whole in 0u64..1_000_000,
            parts in 1u64..64,
        ) {
            let shares: Vec<u64> = (0..parts).map(|index| share_of(whole, parts, index)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), whole);
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }
}
