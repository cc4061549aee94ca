//! The plan of a load.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec, MeasuredBy, Protocol, Schedule, Seconds, Stage, Target};
use prony_traffic::{Expected, HttpVersion, Traffic};
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};

use crate::target::Endpoint;
use crate::tls::TlsClient;

/// A load on one target: everything that [`crate::run`] needs. As data, it has secrets and private keys if it has them
/// here, and [`sources`](Here::sources) and [`cpus`](Here::cpus) are those of this host, which may be wrong on others.
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
    /// Which responses to compare with the expected one; `None` accepts every 2xx and 3xx.
    pub sampling: Option<Sampling>,
    /// The load, with the threads of each agent. What follows from the other fields is only in
    /// [what is recorded](Self::recorded).
    pub load: LoadSpec,
    /// The mean time (exponentially distributed) that a user of a scenario waits between two requests of a flow; `None`
    /// for no time.
    pub flow_think_time: Option<Duration>,
    /// How many agents share the load: processes, usually on different hosts. Each takes the same share of everything, so
    /// the load is that of one process with as many threads as all agents have together.
    pub agents: usize,
    /// Whether a closed loop that has completed no request when its time is up continues until it has completed one per
    /// connection, at most as long as a response may take. Otherwise a machine that stands still for the whole time
    /// would leave no result.
    pub overtime: bool,
    /// For each of these latencies, in nanoseconds, to count the ok responses in each interval of the timeline that took
    /// this long or longer.
    pub slow_from_ns: Vec<u64>,
    /// What concerns only the processes that generate the load.
    pub here: Here,
}

/// What concerns only the processes that generate a load. Nothing of it is recorded as part of the load.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Here {
    /// Which event loop to use.
    pub event_loop: EventLoopChoice,
    /// Local addresses to connect from, in turn; if empty, the engine chooses.
    pub sources: Vec<IpAddr>,
    /// CPUs to pin the threads to, in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Divides the requests of a closed loop into batches; `None` to send them one after another.
    #[serde(skip_deserializing, serialize_with = "only_here")]
    pub batches: Option<Batches>,
    /// Whether to acknowledge received bytes at once. A server that writes head and body apart then need not wait for a
    /// delayed acknowledgement, as it does in other loads.
    pub acknowledges_at_once: bool,
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
pub(crate) const MOST_SLOW: usize = 8;
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
            sampling: None,
            load: LoadSpec::default(),
            flow_think_time: None,
            agents: 1,
            overtime: false,
            slow_from_ns: Vec::new(),
            here: Here::default(),
        }
    }

    /// The plan after a change.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Checks the plan before anything is opened.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (threads, agents, connections) =
            (self.load.threads, self.agents, self.load.connections);
        match (self.load.duration, self.load.requests) {
            _ if connections == 0 => Err(PlanError::NoConnections),
            _ if threads == 0 => Err(PlanError::NoThreads),
            _ if agents == 0 => Err(PlanError::NoAgents),
            _ if self.all_threads() > connections => Err(self.threads_without_connections()),
            (None, None) if self.here.batches.is_none() => Err(PlanError::Endless),
            (Some(Seconds::ZERO), _) => Err(zero("the duration")),
            (_, Some(0)) => Err(zero("the number of requests")),
            _ if self.load.timeout.is_zero() => Err(zero("the timeout")),
            _ if self.load.deadline == Some(Seconds::ZERO) => Err(zero("the deadline")),
            _ if self.load.requests_per_connection == Some(0) => {
                Err(zero("the number of requests per connection"))
            }
            _ if self.load.pipeline == 0 => Err(zero(self.in_flight_words().depth)),
            _ => self
                .validate_sizes()
                .and_then(|()| self.validate_shape())
                .and_then(|()| self.validate_together()),
        }
    }

    /// How many threads all agents have together.
    pub fn all_threads(&self) -> usize {
        self.load.threads.saturating_mul(self.agents)
    }

    fn threads_without_connections(&self) -> PlanError {
        let (threads, agents, connections) =
            (self.load.threads, self.agents, self.load.connections);
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
        at_most("threads", self.load.threads as u64, MOST_THREADS as u64)?;
        let counts = [
            ("connections", self.load.connections),
            ("connections at most", self.load.most_connections()),
            ("streams", self.load.streams),
        ];
        for (what, given) in counts {
            at_most(what, given as u64, MOST)?;
        }
        let always = [*self.load.warmup, *self.load.timeout];
        let given = [self.load.duration, self.load.deadline].map(|time| time.map(Duration::from));
        let sometimes = given.into_iter().chain([self.flow_think_time]);
        let mut times = always.into_iter().chain(sometimes.flatten());
        if times.any(|time| time > LONGEST) {
            return Err(PlanError::TooLong);
        }
        let slow = self.slow_from_ns.len() as u64;
        at_most("percentiles with a limit", slow, MOST_SLOW as u64)?;
        let in_flight = self.load.pipeline as u64;
        at_most(
            self.in_flight_words().requests,
            in_flight,
            MOST_PIPELINE as u64,
        )?;
        // Each agent has memory of its own.
        let connections = self.load.most_connections().div_ceil(self.agents);
        let bytes = self.request.longest_bytes() + KEPT_OF_REQUEST;
        let all_bytes = (connections as u64).saturating_mul(in_flight.saturating_mul(bytes));
        if in_flight > 1 && all_bytes > MOST_BYTES_IN_FLIGHT {
            return Err(PlanError::BytesInFlight {
                connections,
                in_flight: self.load.pipeline,
                bytes,
            });
        }
        Ok(())
    }

    fn validate_shape(&self) -> Result<(), PlanError> {
        match &self.load.shape {
            LoadShape::UsersOpen { think_time } | LoadShape::UsersClosed { think_time }
                if think_time.as_micros() == 0 =>
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
        if self.load.shape != LoadShape::Closed {
            contradiction("a schedule or think times")
        } else if self.all_threads() > 1 {
            contradiction("several threads")
        } else if self.load.pipeline > 1 {
            contradiction(self.in_flight_words().several)
        } else if !self.load.warmup.is_zero() {
            contradiction("a warm-up")
        } else if self.load.requests.is_some() {
            contradiction("a number of requests")
        } else {
            Ok(())
        }
    }

    fn validate_together(&self) -> Result<(), PlanError> {
        let contradiction = |one, other| Err(PlanError::Contradiction { one, other });
        if self.here.batches.is_some() {
            self.validate_batches()?;
        }
        let is_rate = matches!(self.load.shape, LoadShape::Rate(_));
        let connections = self.load.connections;
        if let Some(most) = self
            .load
            .max_connections
            .filter(|most| is_rate && *most < connections)
        {
            return Err(PlanError::FewerThanConnections { most, connections });
        }
        if self.load.pipeline > 1 && !is_rate && self.load.shape != LoadShape::Closed {
            return contradiction(self.in_flight_words().several, "users with think time");
        }
        if self.load.deadline.is_some() && !self.load.shape.is_open() {
            return contradiction("a deadline, which needs a schedule,", "a closed loop");
        }
        if self.load.streams > 0 && self.request.is_grpc() {
            return contradiction("held streams", "gRPC");
        }
        if let Some(scenario) = self.request.scenario() {
            let is_one_request = scenario.is_one_request();
            let one = if self.load.pipeline > 1 {
                self.in_flight_words().several
            } else if self.load.streams > 0 {
                "held streams"
            } else if self.load.events {
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
        let connections = self.load.most_connections().div_ceil(self.agents);
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
        let is_plain = !self.request.is_grpc() && !self.load.events;
        let body = sampling
            .check
            .exact_body()
            .filter(|_| at_random && is_plain)?;
        (body.len() <= SHORT_BODY).then_some(body)
    }

    /// The load in the form of the result: with the threads of all agents, and with what follows from what is sent.
    pub fn recorded(&self) -> LoadSpec {
        let is_rate = matches!(self.load.shape, LoadShape::Rate(_));
        LoadSpec {
            max_connections: is_rate.then_some(self.load.most_connections()),
            threads: self.all_threads(),
            messages: self.load.events && self.request.is_grpc(),
            flows: self.request.flows().is_some(),
            // A run may have the instructions of its server counted.
            by: MeasuredBy::Time,
            ..self.load.clone()
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
