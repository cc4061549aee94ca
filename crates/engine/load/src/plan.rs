//! The plan of a load.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec, MeasuredBy, Protocol, Schedule, Stage, Target};
use prony_traffic::{Expected, HttpVersion, Traffic};
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};

use crate::target::Endpoint;
use crate::tls::TlsClient;

/// A load on one target: everything that [`crate::run`] needs. As data, it has secrets and private keys if it has them
/// here, and [`sources`](Self::sources) and [`cpus`](Self::cpus) are those of this host, which may be wrong on others.
#[derive(Clone, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Where connections go.
    pub endpoint: Endpoint,
    /// The URL, for the result.
    pub url: String,
    /// What to send.
    pub request: Traffic,
    /// How to set up TLS; `None` to send in the clear.
    pub tls: Option<TlsClient>,
    /// When requests are due.
    pub shape: LoadShape,
    /// The mean time (exponentially distributed) that a user of a scenario waits between two requests of a flow; `None`
    /// for no time.
    pub flow_think_time: Option<Duration>,
    /// How many connections, over all threads; or users, with a connection each. A closed loop opens no more than it
    /// has `requests`.
    pub connections: usize,
    /// For a rate: how many connections it may open in all, if the initial `connections` are not enough.
    pub max_connections: usize,
    /// How many requests may be in flight over one connection.
    pub pipeline: usize,
    /// After how many responses to replace a connection; `None` to keep it.
    pub requests_per_connection: Option<NonZeroU64>,
    /// How many threads; if several agents share the load, of each agent.
    pub threads: usize,
    /// How many agents share the load: processes, usually on different hosts. Each takes the same share of everything, so
    /// the load is that of one process with as many threads as all agents have together.
    pub agents: usize,
    /// How long to measure; `None` if only `requests` ends the load.
    pub duration: Option<Duration>,
    /// Whether a closed loop that has completed no request when its time is up continues until it has completed one per
    /// connection, at most as long as a response may take. Otherwise a machine that stands still for the whole time
    /// would leave no result.
    pub overtime: bool,
    /// Divides the requests of a closed loop into batches; `None` to send them one after another.
    #[serde(skip_deserializing, serialize_with = "only_here")]
    pub batches: Option<Batches>,
    /// The most requests to measure, or flows if there is a scenario. If more are in flight when the time of the warm-up is up, those that end first still
    /// belong to it.
    pub requests: Option<u64>,
    /// How long to send requests before measuring.
    pub warmup: Duration,
    /// How long a response may take from the send.
    pub timeout: Duration,
    /// Requests that cannot be sent within this time of their due time are shed. For users with a schedule, as in
    /// httpmon, it also bounds the arrival of the response.
    pub deadline: Option<Duration>,
    /// Whether to busy-wait for due times: more exact, but occupies one CPU per thread.
    pub spin: bool,
    /// Which event loop to use.
    pub event_loop: EventLoopChoice,
    /// Local addresses to connect from, in turn; if empty, the engine chooses.
    pub sources: Vec<IpAddr>,
    /// Whether to acknowledge received bytes at once. A server that writes head and body apart then need not wait for a
    /// delayed acknowledgement, as it does in other loads.
    pub acknowledges_at_once: bool,
    /// CPUs to pin the threads to, in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Which responses to compare with the expected one; `None` accepts every 2xx and 3xx.
    pub sampling: Option<Sampling>,
    /// The seed of random arrivals and choices.
    pub seed: u64,
    /// Whether to measure the time to the first byte of each response.
    pub first_byte: bool,
    /// For each of these latencies, in nanoseconds, to count the ok responses in each interval of the timeline that took
    /// this long or longer.
    pub slow_from_ns: Vec<u64>,
    /// Whether to read responses as event streams, and count and time their events.
    pub events: bool,
    /// How many streams to hold open beside the load, over all threads: responses to the same requests whose end nobody
    /// waits for.
    pub streams: usize,
}

impl fmt::Debug for LoadPlan {
    // The rest may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("LoadPlan");
        shown
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

fn only_here<S: Serializer>(batches: &Option<Batches>, to: S) -> Result<S::Ok, S::Error> {
    match batches {
        None => to.serialize_unit(),
        Some(_) => Err(S::Error::custom(
            "a load in batches cannot be sent to other hosts",
        )),
    }
}

/// The requests of a closed loop in batches. When the last one is over, the load ends.
#[derive(Clone)]
pub struct Batches {
    /// The first batch.
    pub first: Batch,
    /// Called with the number of a batch, counted from 0, when all of its requests have ended: none is in flight, and
    /// none is sent until it returns the next batch, or `None` after the last one.
    pub next: Arc<dyn Fn(usize) -> Option<Batch> + Send + Sync>,
}

/// Requests that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// How many requests it has, or flows if there is a scenario; at least one.
    pub requests: NonZeroU64,
    /// How long a connection waits before each request, so that the server has ended all work for the last one.
    pub pause: Duration,
}

/// Which event loop to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventLoopChoice {
    /// epoll if responses are long or io_uring is unavailable, else io_uring. If their length is unknown, the first
    /// responses tell it.
    #[default]
    Auto,
    /// io_uring; fails if it is unavailable.
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

/// Which responses to compare whole while the load runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// The expected response.
    pub check: Arc<Expected>,
    /// Which responses to compare. The first one of each thread in the warm-up and the first one after it always are.
    pub choice: SampleChoice,
}

/// Which responses to compare whole with the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleChoice {
    /// Every Nth of each thread.
    EveryNth(NonZeroU64),
    /// Randomly chosen ones (from the load's seed): about 700 per second over all threads, or all, if there are fewer.
    /// If there is one expected body and it is short, every body is compared as well.
    AtRandom,
}

/// Bodies up to this many bytes are compared in every response: that takes some 20 ns of the microseconds that a
/// response costs the generator.
const SHORT_BODY: usize = 1024;

/// Why a load cannot run as planned.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum PlanError {
    #[error("a load needs at least one connection")]
    NoConnections,
    #[error("a load needs at least one thread")]
    NoThreads,
    #[error("{threads} threads share {connections} connections: give each thread at least one")]
    ThreadsWithoutConnections { threads: usize, connections: usize },
    #[error("a load needs at least one agent")]
    NoAgents,
    #[error(
        "{agents} agents with {} need at least {} connections or users, but there are {connections}: use more of them, or fewer agents",
        counted(*threads, "thread each", "threads each"),
        agents.saturating_mul(*threads)
    )]
    AgentsWithoutConnections {
        agents: usize,
        threads: usize,
        connections: usize,
    },
    #[error("one process cannot run a load of {0} agents")]
    SeveralAgents(usize),
    #[error("there is no agent {agent}: the load has {agents}, counted from 0")]
    NoSuchAgent { agent: usize, agents: usize },
    #[error("a load ends by a duration, by a number of requests, or by both: give at least one")]
    Endless,
    #[error("{what} must be more than zero")]
    Zero { what: &'static str },
    #[error("{0}")]
    Schedule(&'static str),
    #[error("{one} cannot be combined with {other}")]
    Contradiction {
        one: &'static str,
        other: &'static str,
    },
    #[error("{given} {what} are too many: at most {most}")]
    TooMany {
        what: &'static str,
        given: u64,
        most: u64,
    },
    #[error("the plan has a time of more than 100 years")]
    TooLong,
    #[error(
        "{connections} connections with {in_flight} requests of {bytes} bytes in flight over each need more memory than the {} MiB that requests in flight may take: use fewer connections, fewer requests in flight or shorter requests",
        MOST_BYTES_IN_FLIGHT / (1024 * 1024)
    )]
    BytesInFlight {
        connections: usize,
        in_flight: usize,
        bytes: u64,
    },
    #[error(
        "at most {most} connections are fewer than the {connections} that the load starts with"
    )]
    FewerThanConnections { most: usize, connections: usize },
}

/// The most threads of a load, or of each agent.
pub const MOST_THREADS: usize = 1024;
/// The most agents of a load.
pub const MOST_AGENTS: usize = 10_000;
/// The most latencies to count slow responses for.
pub const MOST_SLOW: usize = 8;
/// The most requests in flight over one connection.
pub const MOST_PIPELINE: usize = 1000;
/// The most bytes that requests in flight may take over all connections.
const MOST_BYTES_IN_FLIGHT: u64 = 512 * 1024 * 1024;
/// The most connections and the like: far more than any fleet has, and sums of them do not overflow.
const MOST: u64 = 1_000_000_000;
/// The longest time: no instant overflows.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// How many streams a rate uses on a connection by default.
const USUAL_STREAMS: u64 = 100;
/// Roughly the memory per request in flight beside its bytes.
const KEPT_OF_REQUEST: u64 = 160;

impl LoadPlan {
    /// A closed loop of one connection on one thread, without an end. Change the fields that should differ.
    pub fn new(endpoint: Endpoint, url: impl Into<String>, request: impl Into<Traffic>) -> Self {
        Self {
            endpoint,
            url: url.into(),
            request: request.into(),
            tls: None,
            shape: LoadShape::Closed,
            flow_think_time: None,
            connections: 1,
            max_connections: 1,
            pipeline: 1,
            requests_per_connection: None,
            threads: 1,
            agents: 1,
            duration: None,
            overtime: false,
            batches: None,
            requests: None,
            warmup: Duration::ZERO,
            timeout: Duration::from_secs(10),
            deadline: None,
            spin: false,
            event_loop: EventLoopChoice::default(),
            sources: Vec::new(),
            acknowledges_at_once: false,
            cpus: Vec::new(),
            sampling: None,
            seed: 0,
            first_byte: false,
            slow_from_ns: Vec::new(),
            events: false,
            streams: 0,
        }
    }

    /// Checks the plan before anything is opened.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (threads, agents, connections) = (self.threads, self.agents, self.connections);
        match (self.duration, self.requests) {
            _ if connections == 0 => Err(PlanError::NoConnections),
            _ if threads == 0 => Err(PlanError::NoThreads),
            _ if agents == 0 => Err(PlanError::NoAgents),
            _ if self.all_threads() > connections => Err(self.threads_without_connections()),
            (None, None) if self.batches.is_none() => Err(PlanError::Endless),
            (Some(Duration::ZERO), _) => Err(zero("the duration")),
            (_, Some(0)) => Err(zero("the number of requests")),
            _ if self.timeout.is_zero() => Err(zero("the timeout")),
            _ if self.deadline == Some(Duration::ZERO) => Err(zero("the deadline")),
            _ if self.pipeline == 0 => Err(zero(self.in_flight_words().depth)),
            _ => self
                .validate_sizes()
                .and_then(|()| self.validate_shape())
                .and_then(|()| self.validate_together()),
        }
    }

    /// How many threads all agents have together.
    pub fn all_threads(&self) -> usize {
        self.threads.saturating_mul(self.agents)
    }

    fn threads_without_connections(&self) -> PlanError {
        let (threads, agents, connections) = (self.threads, self.agents, self.connections);
        match agents {
            1 => PlanError::ThreadsWithoutConnections {
                threads,
                connections,
            },
            _ => PlanError::AgentsWithoutConnections {
                agents,
                threads,
                connections,
            },
        }
    }

    fn validate_sizes(&self) -> Result<(), PlanError> {
        at_most("agents", self.agents as u64, MOST_AGENTS as u64)?;
        at_most("threads", self.threads as u64, MOST_THREADS as u64)?;
        let counts = [
            ("connections", self.connections),
            ("connections at most", self.max_connections),
            ("streams", self.streams),
        ];
        for (what, given) in counts {
            at_most(what, given as u64, MOST)?;
        }
        let always = [self.warmup, self.timeout];
        let sometimes = [self.flow_think_time, self.duration, self.deadline];
        let mut times = always.into_iter().chain(sometimes.into_iter().flatten());
        if times.any(|time| time > LONGEST) {
            return Err(PlanError::TooLong);
        }
        let slow = self.slow_from_ns.len() as u64;
        at_most("percentiles with a limit", slow, MOST_SLOW as u64)?;
        let in_flight = self.pipeline as u64;
        at_most(
            self.in_flight_words().requests,
            in_flight,
            MOST_PIPELINE as u64,
        )?;
        // Each agent has memory of its own.
        let connections = self.connections.max(self.max_connections);
        let connections = connections.div_ceil(self.agents);
        let bytes = self.request.longest_bytes() + KEPT_OF_REQUEST;
        let all_bytes = (connections as u64).saturating_mul(in_flight.saturating_mul(bytes));
        if in_flight > 1 && all_bytes > MOST_BYTES_IN_FLIGHT {
            return Err(PlanError::BytesInFlight {
                connections,
                in_flight: self.pipeline,
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

    fn validate_batches(&self) -> Result<(), PlanError> {
        let contradiction = |other| {
            let one = "a load in batches";
            Err(PlanError::Contradiction { one, other })
        };
        if self.shape != LoadShape::Closed {
            contradiction("a schedule or think times")
        } else if self.all_threads() > 1 {
            contradiction("several threads")
        } else if self.pipeline > 1 {
            contradiction(self.in_flight_words().several)
        } else if !self.warmup.is_zero() {
            contradiction("a warm-up")
        } else if self.requests.is_some() {
            contradiction("a number of requests")
        } else {
            Ok(())
        }
    }

    fn validate_together(&self) -> Result<(), PlanError> {
        let contradiction = |one, other| Err(PlanError::Contradiction { one, other });
        if self.batches.is_some() {
            self.validate_batches()?;
        }
        let is_rate = matches!(self.shape, LoadShape::Rate(_));
        if is_rate && self.max_connections < self.connections {
            return Err(PlanError::FewerThanConnections {
                most: self.max_connections,
                connections: self.connections,
            });
        }
        if self.pipeline > 1 && !is_rate && self.shape != LoadShape::Closed {
            return contradiction(self.in_flight_words().several, "users with think time");
        }
        if self.deadline.is_some() && !self.shape.is_open() {
            return contradiction("a deadline, which needs a schedule,", "a closed loop");
        }
        if self.streams > 0 && self.request.is_grpc() {
            return contradiction("held streams", "gRPC");
        }
        if let Some(scenario) = self.request.scenario() {
            let is_one_request = scenario.is_one_request();
            let one = if self.pipeline > 1 {
                self.in_flight_words().several
            } else if self.streams > 0 {
                "held streams"
            } else if self.events {
                "event streams"
            } else if self.sampling.is_some() && !is_one_request {
                "one expected response"
            } else {
                return Ok(());
            };
            return if is_one_request {
                contradiction(one, "requests that differ")
            } else {
                contradiction(one, "a scenario")
            };
        }
        Ok(())
    }

    /// How many streams a rate uses on a connection of HTTP/2 before it opens another one: as many as servers should allow at
    /// least (RFC 9113, 6.5.2), or fewer if the requests are so long that those of all connections would not fit.
    pub fn usual_streams(&self) -> usize {
        let connections = self
            .connections
            .max(self.max_connections)
            .div_ceil(self.agents);
        let bytes =
            (connections as u64).saturating_mul(self.request.longest_bytes() + KEPT_OF_REQUEST);
        (MOST_BYTES_IN_FLIGHT / bytes.max(1)).clamp(1, USUAL_STREAMS) as usize
    }

    /// The one length in bytes that every expected body has, if known.
    pub(crate) fn body_length(&self) -> Option<u64> {
        self.sampling.as_ref()?.check.body_length()
    }

    /// The body that every response is compared with, if there is one.
    pub(crate) fn body_compared_always(&self) -> Option<&[u8]> {
        let sampling = self.sampling.as_ref()?;
        let at_random = sampling.choice == SampleChoice::AtRandom;
        // Events are read from the body as it arrives, and a gRPC message is split into frames.
        let is_plain = !self.request.is_grpc() && !self.events;
        let body = sampling
            .check
            .exact_body()
            .filter(|_| at_random && is_plain)?;
        (body.len() <= SHORT_BODY).then_some(body)
    }

    /// The load in the form of the result.
    pub fn spec(&self) -> LoadSpec {
        let seconds = |duration: Duration| duration.as_secs_f64();
        LoadSpec {
            shape: self.shape.clone(),
            connections: self.connections,
            max_connections: matches!(self.shape, LoadShape::Rate(_))
                .then_some(self.max_connections),
            pipeline: self.pipeline,
            multiplexed: false,
            requests_per_connection: self.requests_per_connection.map(NonZeroU64::get),
            threads: self.all_threads(),
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
            messages: self.events && self.request.is_grpc(),
            flows: self.request.flows().is_some(),
            // A run may have the instructions of its server counted.
            by: MeasuredBy::Time,
        }
        .over(self.protocol())
    }

    /// What several requests in flight over one connection are called.
    fn in_flight_words(&self) -> InFlightWords {
        if self.protocol().is_http1() {
            InFlightWords {
                depth: "the pipeline's depth",
                requests: "requests in a pipeline",
                several: "pipelining",
            }
        } else {
            InFlightWords {
                depth: "the number of streams per connection",
                requests: "streams per connection",
                several: "several streams per connection",
            }
        }
    }

    /// How its requests travel.
    pub fn protocol(&self) -> Protocol {
        let is_tls = self.tls.is_some();
        match (self.request.is_grpc(), self.request.http(), is_tls) {
            (true, _, false) => Protocol::Grpc,
            (true, _, true) => Protocol::GrpcTls,
            (false, HttpVersion::Http1, false) => Protocol::Http11,
            (false, HttpVersion::Http1, true) => Protocol::Https11,
            (false, HttpVersion::Http2, false) => Protocol::H2c,
            (false, HttpVersion::Http2, true) => Protocol::H2,
        }
    }

    /// The target in the form of the result.
    pub fn target(&self) -> Target {
        Target {
            url: self.url.clone(),
            method: self.request.method().into(),
            protocol: self.protocol(),
            address: self.endpoint.to_string(),
        }
    }
}

struct InFlightWords {
    depth: &'static str,
    requests: &'static str,
    several: &'static str,
}

fn zero(what: &'static str) -> PlanError {
    PlanError::Zero { what }
}

fn at_most(what: &'static str, given: u64, most: u64) -> Result<(), PlanError> {
    if given > most {
        Err(PlanError::TooMany { what, given, most })
    } else {
        Ok(())
    }
}

fn validate_stages(stages: &[Stage]) -> Result<(), PlanError> {
    let most = Schedule::MOST_STAGES as u64;
    at_most("stages", stages.len() as u64, most)?;
    let wrong = |what| Err(PlanError::Schedule(what));
    let Some((_, before_last)) = stages.split_last() else {
        return wrong("a rate needs at least one stage");
    };
    let mut rates = stages.iter().flat_map(|it| [it.from_per_s, it.to_per_s]);
    if !rates.all(|rate| (0.0..=Schedule::MOST_PER_S).contains(&rate)) {
        return wrong("a rate must be from 0 to 1,000 million requests per second");
    }
    if stages.iter().all(|stage| stage.peak_per_s() == 0.0) {
        return wrong("a rate must be above 0 at some time");
    }
    if before_last.iter().any(|stage| stage.duration_s.is_none()) {
        return wrong("only the last stage may go without a duration");
    }
    let mut durations = stages.iter().filter_map(|stage| stage.duration_s);
    if !durations.all(has_microseconds) {
        return wrong("a stage must be longer than zero");
    }
    Ok(())
}

fn has_microseconds(seconds: f64) -> bool {
    Duration::try_from_secs_f64(seconds).is_ok_and(|duration| duration.as_micros() > 0)
}

/// The `index`th of `parts` nearly equal shares of `whole`. The first shares include the remainder.
pub(crate) fn share_of(whole: u64, parts: u64, index: u64) -> u64 {
    whole / parts + u64::from(index < whole % parts)
}

/// The sum of the shares before the `index`th.
pub(crate) fn shares_before(whole: u64, parts: u64, index: u64) -> u64 {
    whole / parts * index + index.min(whole % parts)
}

fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
pub(crate) mod tests;
