//! The result of one load on one target: the body of `prony load --json`.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Checked, LatencySummary, MeasuredBy, Outcome, Outcomes, Protocol, Schedule, Seconds, Stage,
    TcpEvents, Throttled,
};

/// The arrivals of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub enum LoadShape {
    /// Each connection sends its next request when the last response is complete.
    Closed,
    /// Requests are due at a rate regardless of response times, and the next free connection sends them. Latency runs
    /// from the scheduled arrival.
    Rate(Schedule),
    /// Each connection is a user who thinks for a random time (exponentially distributed), sends a
    /// request, and waits for its response before thinking again. Latency runs from the send.
    UsersClosed {
        /// Mean thinking time, in seconds.
        #[serde(rename = "think_time_s")]
        think_time: Seconds,
    },
    /// Each connection is a user whose requests arrive at random (a Poisson source), regardless of response times. A
    /// request that arrives while its user still waits for a response is sent as soon as the user is free. Latency runs
    /// from the scheduled arrival.
    UsersOpen {
        /// Mean time between two arrivals of a user, in seconds.
        #[serde(rename = "think_time_s")]
        think_time: Seconds,
    },
}

impl LoadShape {
    /// The name used in JSON, CSV and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            LoadShape::Closed => "closed",
            LoadShape::Rate(_) => "rate",
            LoadShape::UsersClosed { .. } => "users-closed",
            LoadShape::UsersOpen { .. } => "users-open",
        }
    }

    /// Whether it is an open loop: requests arrive on a schedule, regardless of response times.
    pub const fn is_open(&self) -> bool {
        matches!(self, LoadShape::Rate(_) | LoadShape::UsersOpen { .. })
    }
}

/// The load as configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadSpec {
    /// The arrivals.
    #[serde(flatten)]
    pub shape: LoadShape,
    /// How many connections, over all threads.
    pub connections: usize,
    /// How many connections there may be at most, if a rate needs more than `connections`;
    /// `None` if no more are opened.
    #[serde(default)]
    pub max_connections: Option<usize>,
    /// How many requests are in flight over one connection at a time.
    #[serde(default = "one")]
    pub pipeline: usize,
    /// Whether `pipeline` counts streams of HTTP/2 or gRPC; otherwise requests are pipelined.
    #[serde(default)]
    pub multiplexed: bool,
    /// After how many responses a connection is closed and replaced; `None` to keep it.
    #[serde(default)]
    pub requests_per_connection: Option<u64>,
    /// How many threads generate the load.
    pub threads: usize,
    /// How long it is measured, in seconds; `None` if only `requests` ends it.
    #[serde(rename = "duration_s")]
    pub duration: Option<Seconds>,
    /// How many requests are started at most, warm-up not counted.
    pub requests: Option<u64>,
    /// The warm-up: how long requests are sent before measuring begins, in seconds.
    #[serde(rename = "warmup_s")]
    pub warmup: Seconds,
    /// How long a response may take, in seconds from the send; in open loops recorded before `deadline_s` existed, from
    /// the scheduled arrival.
    #[serde(rename = "timeout_s")]
    pub timeout: Seconds,
    /// How long a response may take, in seconds from the scheduled arrival; requests that cannot be sent by then are
    /// dropped.
    #[serde(rename = "deadline_s", default)]
    pub deadline: Option<Seconds>,
    /// The seed of random arrivals and choices: the same seed repeats them.
    #[serde(default)]
    pub seed: u64,
    /// Whether the generator busy-waits until requests are due.
    #[serde(default)]
    pub spin: bool,
    /// How many streams are held open beside the load.
    #[serde(default)]
    pub streams: usize,
    /// Whether the time to the first byte of each response is measured.
    #[serde(default)]
    pub first_byte: bool,
    /// Whether responses are read as event streams, and their events counted and timed.
    #[serde(default)]
    pub events: bool,
    /// Whether the events are the messages of gRPC streams.
    #[serde(default)]
    pub messages: bool,
    /// Whether arrivals and `requests` count flows of a scenario instead of single requests.
    #[serde(default)]
    pub flows: bool,
    /// What it measures of its server. A load that measures instructions runs `requests` requests after a warm-up, whose
    /// number of requests is searched.
    #[serde(default, skip_serializing_if = "MeasuredBy::is_time")]
    pub by: MeasuredBy,
}

impl LoadSpec {
    /// The load over a protocol, which decides how several requests are in flight over one connection.
    pub fn over(self, protocol: Protocol) -> Self {
        Self {
            multiplexed: self.pipeline > 1 && !protocol.is_http1(),
            ..self
        }
    }

    /// How many connections may be open at a time.
    pub fn most_connections(&self) -> usize {
        self.connections.max(self.max_connections.unwrap_or(0))
    }

    /// Whether two loads of a workload are the same apart from the seed: each round of a run has its own. The
    /// workload's protocol decides whether a load is multiplexed, and older records do not tell.
    pub fn same_load(&self, other: &LoadSpec) -> bool {
        let like_other = LoadSpec {
            seed: other.seed,
            multiplexed: other.multiplexed,
            ..self.clone()
        };
        like_other == *other
    }
}

impl Default for LoadSpec {
    /// A closed loop of one connection and one thread, without an end, with a timeout of 10 s.
    fn default() -> Self {
        Self {
            shape: LoadShape::Closed,
            connections: 1,
            max_connections: None,
            pipeline: one(),
            multiplexed: false,
            requests_per_connection: None,
            threads: 1,
            duration: None,
            requests: None,
            warmup: Seconds::ZERO,
            timeout: Seconds::from_secs(10),
            deadline: None,
            seed: 0,
            spin: false,
            streams: 0,
            first_byte: false,
            events: false,
            messages: false,
            flows: false,
            by: MeasuredBy::Time,
        }
    }
}

fn one() -> usize {
    1
}

/// The target of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// The URL.
    pub url: String,
    /// The request's method.
    pub method: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The socket address.
    pub address: String,
}

impl Target {
    /// The URL without its query, which may hold a secret.
    pub fn url_without_query(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }
}

/// Why a load ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its duration was over.
    #[default]
    Duration,
    /// All its requests completed.
    Requests,
    /// The user stopped it; the figures cover the time until then.
    Interrupted,
}

/// The TLS of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsResult {
    /// The version of TLS; `None` if no handshake succeeded.
    pub version: Option<String>,
    /// The IANA name of the cipher suite; `None` if no handshake succeeded.
    pub cipher_suite: Option<String>,
    /// Handshakes with a key exchange and a certificate.
    pub full: Handshakes,
    /// Handshakes that resumed an earlier session.
    pub resumed: Handshakes,
}

/// Handshakes of one kind, measured part only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Handshakes {
    /// How many succeeded.
    pub count: u64,
    /// From the established connection until requests may be sent; `None` if there was none.
    pub duration_ns: Option<LatencySummary>,
    /// The histogram behind `duration_ns`: HdrHistogram V2, base64.
    pub histogram: String,
}

/// What happened before measuring began. The other figures do not include it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmupResult {
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// The outcomes of the requests that ended in it.
    pub outcomes: Outcomes,
    /// How many flows could not go on in it although no request had failed.
    #[serde(default)]
    pub failed_without_request: u64,
}

/// The first wrong response, as an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrongResponse {
    /// The name of its outcome.
    #[cfg_attr(feature = "schema", schemars(with = "Outcome"))]
    pub outcome: String,
    /// What was expected and what came.
    pub detail: String,
}

/// What the load cost the generator itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GeneratorCost {
    /// CPU time in user mode of all workers, in seconds, measured part only.
    pub cpu_user_s: f64,
    /// CPU time in the kernel of all workers, in seconds, measured part only.
    pub cpu_system_s: f64,
    /// The busiest worker's CPU time as a share (0 to 1) of the measured time.
    pub busy_max: f64,
    /// How much of the workers' CPU time was busy-waiting until requests were due, in seconds. `busy_max` does not
    /// include it.
    #[serde(default)]
    pub spin_s: f64,
    /// System calls of all workers, measured part only; 0 in older records.
    #[serde(default)]
    pub system_calls: u64,
    /// CPU cycles of all workers, in user mode and in the kernel, measured part only; `None` if the
    /// machine has no counters for it.
    #[serde(default)]
    pub cycles: Option<u64>,
    /// Instructions of all workers, in user mode and in the kernel, measured part only; `None` if
    /// the machine has no counters for it.
    #[serde(default)]
    pub instructions: Option<u64>,
    /// What generated the load: Prony's event loop, `io_uring` or `epoll`, or another generator (`prony run --driver`),
    /// such as `wrk 4.1.0`.
    #[serde(rename = "loop")]
    pub event_loop: String,
    /// Whether the generator may have been the bottleneck. Whether the server was busy too is not known here.
    pub client_limited: bool,
    /// All evidence for that: a thread was more than 90 % busy, the generator was behind its schedule and its threads
    /// waited for a CPU, or connections waited for a free local port.
    #[serde(default)]
    pub client_limited_by: Option<String>,
    /// The CPUs that the workers were pinned to; empty if they were not.
    pub cpus: Vec<usize>,
    /// How the kernel scheduled the workers, summed, measured part only; `None` if it does not report that.
    #[serde(default)]
    pub scheduling: Option<Scheduling>,
    /// How its CPU quota stopped it, warm-up included: of several agents the one that was stopped longest. `None` without
    /// a quota, and in older records.
    #[serde(default)]
    pub throttled: Option<Throttled>,
}

impl GeneratorCost {
    /// Adds evidence that the generator may have been the bottleneck. Every verdict on a load uses only this evidence.
    pub fn limited_by(&mut self, evidence: &str) {
        self.client_limited = true;
        match &mut self.client_limited_by {
            Some(before) => *before += &format!("; {evidence}"),
            none => *none = Some(evidence.into()),
        }
    }
}

/// How the kernel scheduled some threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduling {
    /// How long they were ready to run and waited for a CPU, summed over threads, in seconds.
    pub run_queue_wait_s: f64,
    /// Voluntary context switches: how often a thread had nothing to do.
    pub voluntary_switches: u64,
    /// Involuntary context switches: how often a thread was preempted.
    pub involuntary_switches: u64,
}

/// How a load went over time: its ok responses in intervals of equal length, from the start of the warm-up (or of the
/// measured part, if there is none).
///
/// It contains only full intervals. Its memory is fixed: a longer load has longer intervals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// The length of an interval, in seconds.
    pub interval_s: f64,
    /// When the measured part began, in seconds from the start of the first interval.
    pub measured_from_s: f64,
    /// Ok responses in each interval.
    pub ok: Vec<u64>,
    /// The mean latency of the ok responses of each interval, in nanoseconds; 0 if there were none.
    pub latency_mean_ns: Vec<f64>,
    /// Requests that ended with an error in each interval, and flows that failed without one; empty if there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<u64>,
    /// Slow ok responses, for each latency that the load had to count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow: Vec<SlowResponses>,
    /// The latencies of the measured part, second by second; empty if they were not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<TimelineSecond>,
}

/// The latencies of the ok responses that arrived in a second, or in a longer interval of a long load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineSecond {
    /// When it began, in seconds from the start of the measured part.
    pub from_s: f64,
    /// How long it lasted, in seconds.
    pub length_s: f64,
    /// How many responses there were.
    pub ok: u64,
    /// Their latencies; `None` if there were none.
    pub latency_ns: Option<LatencySummary>,
}

/// The ok responses of a load that took a certain time or longer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowResponses {
    /// That time, in nanoseconds.
    pub from_ns: u64,
    /// How many there were in each interval.
    pub count: Vec<u64>,
}

impl Timeline {
    /// The intervals that are entirely in the measured part.
    pub fn measured(&self) -> std::ops::Range<usize> {
        let first = (self.measured_from_s / self.interval_s - 1e-9).ceil() as usize;
        first.min(self.ok.len())..self.ok.len()
    }
}

/// A time without an ok response although requests, or connections that could not be opened, waited for one. The engine
/// decides how long is too long (`prony_load`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outage {
    /// When it began, in seconds from the start of the measured part.
    pub from_s: f64,
    /// How long it lasted, in seconds.
    pub length_s: f64,
}

impl Outage {
    /// The longest of several; `None` if there is none.
    pub fn longest(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter()
            .max_by(|one, other| one.length_s.total_cmp(&other.length_s))
    }
}

/// How well a load kept its schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLoop {
    /// Requests due in the measured part.
    #[serde(default)]
    pub due: u64,
    /// How many of the due requests began in time, whether or not their connection could be opened.
    #[serde(default)]
    pub sent: u64,
    /// `sent` / `due`: 1 if the generator kept the rate.
    #[serde(default)]
    pub rate_ratio: f64,
    /// How many of the due requests were ok, without those that had to wait for busy connections until the measured time
    /// was over. In a load of flows they are the ok requests of such flows.
    #[serde(default)]
    pub completed: u64,
    /// How long requests were due, in seconds: the measured time without the wait for the last responses. If a number of
    /// requests ended the load, until the next one would have been due. 0 in older records.
    #[serde(default)]
    pub due_s: f64,
    /// Requests that were already due when their user (or, at a rate, any connection) became free; in older records only
    /// ok ones.
    pub queued: u64,
    /// The generator's own delay: from when a request was due and its user free until it was sent; `None` if none was
    /// sent.
    pub schedule_lag_ns: Option<LatencySummary>,
    /// The histogram behind `schedule_lag_ns`: HdrHistogram V2, base64.
    #[serde(default)]
    pub schedule_lag_histogram: String,
    /// The most connections that were open at a time, summed over the threads.
    #[serde(default)]
    pub most_connections: u64,
    /// Those of the queued requests that found every open connection busy with other requests. The others waited for
    /// connections that could not be opened.
    #[serde(default)]
    pub bound_hits: u64,
    /// Requests that waited while more connections were being set up: their latency is in part that of connecting.
    #[serde(default)]
    pub set_up_waits: u64,
}

impl OpenLoop {
    /// The share (0 to 1) of the requests that waited while connections were being set up; `None` if it is too small to show
    /// in the latency.
    pub fn waited_for_set_up(&self) -> Option<f64> {
        let share = self.set_up_waits as f64 / self.due.max(1) as f64;
        (share >= SET_UP_SHOWS).then_some(share.min(1.0))
    }
}

/// If a smaller share of the requests waited for connections to be set up, not even the 99th percentile shows it.
const SET_UP_SHOWS: f64 = 0.01;

/// The events of a load's event streams (`text/event-stream`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Events {
    /// Events received.
    pub count: u64,
    /// Events per second.
    pub per_s: f64,
    /// From where a request's latency starts to its first event; `None` if there was none.
    pub first_ns: Option<LatencySummary>,
    /// From one event of a stream to its next; `None` if no stream had two.
    pub gap_ns: Option<LatencySummary>,
}

/// The streams that were held open beside the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldStreams {
    /// How many were to be held.
    pub planned: u64,
    /// How many were open when the load ended.
    pub open_at_end: u64,
    /// Requests for them, warm-up included: the sum of `outcomes`. The load's own requests do not include them.
    pub requests: u64,
    /// Their outcomes; a stream held to the end is `unfinished`.
    pub outcomes: Outcomes,
    /// Their events.
    pub events: Events,
    /// Of those held to the end, the one with the fewest events for its time; `None` if none was.
    #[serde(default)]
    pub slowest: Option<SlowestStream>,
}

/// The slowest of the streams that were held open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowestStream {
    /// How many events it had, warm-up included.
    pub events: u64,
    /// How long it was held, from its request to the end of the load, in seconds.
    pub held_s: f64,
}

impl SlowestStream {
    /// Its events per second; 0 if it was held for no time.
    pub fn per_s(&self) -> f64 {
        if self.held_s > 0.0 {
            self.events as f64 / self.held_s
        } else {
            0.0
        }
    }
}

/// What the users of a scenario did: each went through its requests in order, over and over. One pass is a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flows {
    /// How many flows had all their responses, each as expected.
    pub ok: u64,
    /// How many ended early: a request was not ok, or the flow could not go on. Flows that were too late to begin are
    /// included.
    pub failed: u64,
    /// How many of the failed ones could not go on although no request had failed: earlier responses had not what the next
    /// request needs.
    #[serde(default)]
    pub failed_without_request: u64,
    /// How many were in progress at the end of the load, or had been due and not begun.
    pub unfinished: u64,
    /// Flows per second that were ok.
    pub rate_per_s: f64,
    /// How long the flows took that were ok, pauses included: from the first request (in a load with a schedule: from
    /// the scheduled arrival of the flow) to the last byte of the last response. `None` if there was none.
    pub duration_ns: Option<LatencySummary>,
    /// The histogram behind `duration_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// Why a flow failed that could not go on although no request had failed: the first such reason.
    pub first_failure: Option<String>,
    /// The requests of the scenario, in order.
    pub entries: Vec<FlowEntry>,
}

impl Flows {
    /// Why none was ok: how many ended otherwise, the first reason, and what to do if none ended.
    pub fn why_none_ok(&self) -> String {
        let counts = [
            (self.failed, "failed"),
            (self.unfinished, "in progress at the end"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let mut parts: Vec<String> = counts
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if parts.is_empty() {
            parts.push("none began".into());
        }
        let mut entries = self.entries.iter();
        let wrong = entries.find_map(|one| Some((&one.name, &one.first_wrong.as_ref()?.detail)));
        let why = match (wrong, &self.first_failure) {
            (Some((name, detail)), _) => format!("the first of {name}: {detail}"),
            (None, Some(reason)) => format!("the first: {reason}"),
            (None, None) => "measure longer than a flow takes".into(),
        };
        format!("{}; {why}", parts.join(", "))
    }
}

/// A stage of a load whose rate changes, as far as it was reached: the requests that were due in it and began, whenever they
/// ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StageResult {
    /// The rate at its beginning, in requests or flows per second.
    pub from_per_s: f64,
    /// The rate at its end, in requests or flows per second.
    pub to_per_s: f64,
    /// How long it was, in seconds.
    pub duration_s: f64,
    /// How many requests began that were due in it: the sum of `outcomes`.
    pub requests: u64,
    /// Their outcomes.
    pub outcomes: Outcomes,
    /// Ok responses to requests that were due in it, per second, without those that had to wait for busy connections until
    /// it was over.
    pub rate_per_s: f64,
    /// The latency of ok responses; `None` if there was none.
    pub latency_ns: Option<LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
}

impl StageResult {
    /// The stage, as the notation of stages writes it.
    pub fn stage(&self) -> Stage {
        Stage {
            from_per_s: self.from_per_s,
            to_per_s: self.to_per_s,
            duration_s: Some(self.duration_s),
        }
    }
}

/// One request of a scenario, in all flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowEntry {
    /// Its name, such as `POST /orders`.
    pub name: String,
    /// How often it was sent or due: the sum of `outcomes`.
    pub requests: u64,
    /// Its outcomes.
    pub outcomes: Outcomes,
    /// Its latency, of ok responses only; `None` if there was none.
    pub latency_ns: Option<LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// The first wrong response to it, if there was one.
    pub first_wrong: Option<WrongResponse>,
}

/// A run of another generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolReport {
    /// Its command, with the program's name only.
    pub command: Vec<String>,
    /// Voluntary context switches, start and end included: how often it had to wait.
    pub voluntary_switches: u64,
    /// Involuntary context switches, likewise: how often it was preempted.
    pub involuntary_switches: u64,
    /// The latency as it reports it.
    pub latency: ReportedLatency,
}

/// The latency of a load as another generator reports it, without a histogram, in nanoseconds. What it does not report is
/// `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedLatency {
    /// Where it begins.
    pub from: LatencyFrom,
    /// The resolution in which it is reported, if that is coarse.
    pub resolution_ns: Option<f64>,
    /// The mean.
    pub mean_ns: Option<f64>,
    /// The median.
    pub p50_ns: Option<f64>,
    /// The 90th percentile.
    pub p90_ns: Option<f64>,
    /// The 99th percentile.
    pub p99_ns: Option<f64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<f64>,
    /// The longest.
    pub max_ns: Option<f64>,
}

/// Where the latency of a request begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LatencyFrom {
    /// At the scheduled arrival.
    Schedule,
    /// When the request is sent: this hides how long requests had to wait for a stalled server.
    #[default]
    Send,
}

/// The agents of a load that several hosts generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetResult {
    /// Where they ran: `kubernetes`, `slurm`, `ssh` or `local`.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["kubernetes", "slurm", "ssh", "local"]))
    )]
    pub on: String,
    /// Each of them, by its number.
    pub agents: Vec<AgentResult>,
    /// Which of them began, or may have begun, noticeably later than another; `None` if all began together.
    pub late_start: Option<String>,
}

/// One agent's part of a load, measured part only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentResult {
    /// The host or node that it ran on.
    pub host: String,
    /// How many connections it was given.
    pub connections: u64,
    /// All its requests: the sum of `outcomes`.
    pub requests: u64,
    /// Their outcomes.
    pub outcomes: Outcomes,
    /// Ok responses per second.
    pub rate_per_s: f64,
    /// The latency of ok responses; `None` if there was none.
    pub latency_ns: Option<LatencySummary>,
    /// The busiest thread's CPU time as a share (0 to 1) of the measured time.
    pub busy_max: f64,
    /// Why the agent may have been the bottleneck, if so.
    pub client_limited_by: Option<String>,
    /// The difference of its clock to that of the fleet, as far as the round trip tells, in nanoseconds.
    pub clock_offset_ns: i64,
    /// The shortest round trip of a message to it and back, in nanoseconds: the offset is known to within half of it.
    pub round_trip_ns: u64,
    /// How long after the agreed instant it began, in nanoseconds.
    pub start_lag_ns: u64,
}

/// The result of one load on one target.
///
/// A request belongs to the phase (warm-up or measured) in which it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadResult {
    /// The target.
    pub target: Target,
    /// The load as configured.
    pub load: LoadSpec,
    /// Why it ended.
    pub ended: Ended,
    /// How long was measured, in seconds, with the wait for the last responses of an open loop.
    pub duration_s: f64,
    /// All requests of the measured part: the sum of `outcomes`.
    pub requests: u64,
    /// Their outcomes.
    pub outcomes: Outcomes,
    /// The warm-up, if there was one.
    pub warmup: Option<WarmupResult>,
    /// Ok responses per second; of an open loop those that count as its throughput.
    pub rate_per_s: f64,
    /// Bytes received in the measured part, heads included.
    pub bytes_read: u64,
    /// Bytes sent in the measured part, heads included.
    pub bytes_written: u64,
    /// Connections opened for the load, warm-up included.
    pub connections_opened: u64,
    /// Connections that replaced one that the server or an error had closed.
    pub reconnects: u64,
    /// Requests resent over a new connection because the server had closed the old one after a response, warm-up
    /// included. Each still has one outcome.
    #[serde(default)]
    pub resent: u64,
    /// How often a connection had to wait for a free local port, warm-up included.
    #[serde(default)]
    pub port_waits: u64,
    /// How well the schedule was kept; `None` for a closed loop.
    #[serde(default)]
    pub open: Option<OpenLoop>,
    /// Complete responses by status, in the measured part.
    #[serde(deserialize_with = "counts_by_status")]
    pub statuses: BTreeMap<u16, u64>,
    /// Responses to gRPC calls by their `grpc-status`, in the measured part.
    #[serde(default, deserialize_with = "counts_by_status")]
    pub rpc_statuses: BTreeMap<u32, u64>,
    /// From the send of a request (in a load with a schedule: from its scheduled arrival) to the last
    /// byte of its response, ok responses only; `None` if there was none.
    pub latency_ns: Option<LatencySummary>,
    /// From the same instant to the first byte of the response, ok responses only, if that was measured.
    #[serde(default)]
    pub first_byte_ns: Option<LatencySummary>,
    /// The events of the responses, if they were read as event streams.
    #[serde(default)]
    pub events: Option<Events>,
    /// The streams that were held open beside the load.
    #[serde(default)]
    pub streams: Option<HeldStreams>,
    /// The flows of a scenario, if the load had one.
    #[serde(default)]
    pub flows: Option<Flows>,
    /// The stages of a rate; empty if it has one, or more than 64.
    #[serde(default)]
    pub stages: Vec<StageResult>,
    /// How long connections took to open; `None` if none was opened.
    pub connect_ns: Option<LatencySummary>,
    /// What TLS agreed on, and how long that took; `None` without TLS.
    #[serde(default)]
    pub tls: Option<TlsResult>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// Share (0 to 1) of latencies within one standard deviation of their mean.
    pub within_stdev: f64,
    /// What another generator's run adds; `None` if Prony's engine made the load, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolReport>,
    /// The first wrong response, if there was one.
    pub first_wrong: Option<WrongResponse>,
    /// How many responses were compared with the expected one; `None` if nothing is expected of them, if another
    /// generator made the load, and in older records.
    #[serde(default)]
    pub checked: Option<Checked>,
    /// What the load cost the generator.
    pub generator: GeneratorCost,
    /// How many ok responses waited once for 40 ms between two of their parts, as long as the kernel delays an
    /// acknowledgement; 0 in older records.
    #[serde(default)]
    pub ack_waits: u64,
    /// How its CPU quota stopped the server, warm-up included; `None` without a quota, if its processes are invisible,
    /// and in older records.
    #[serde(default)]
    pub server_throttled: Option<Throttled>,
    /// The agents that generated it; `None` if this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetResult>,
    /// The course of the load; `None` if it was not recorded.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// When the server did not respond, in the measured part, in order; empty in older records and of other generators.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// What the kernel's TCP had to repair meanwhile; `None` if the kernel does not report it.
    #[serde(default)]
    pub tcp: Option<TcpEvents>,
    /// How `tcp` explains requests that took 0.2 s or longer; `None` if there are none, or it does not explain them.
    #[serde(default)]
    pub slow_because: Option<String>,
}

/// With a smaller share of responses that waited about as long as an acknowledgement is delayed, that is chance.
const SHARE_OF_ACK_WAITS: f64 = 0.05;

impl LoadResult {
    /// How many flows of the measured part could not go on although no request had failed; 0 without flows.
    pub fn failed_without_request(&self) -> u64 {
        let flows = self.flows.as_ref();
        flows.map_or(0, |flows| flows.failed_without_request)
    }

    /// Whether anything was ok: a response and, in a load of flows, a whole flow. Flows that send nothing show nothing of
    /// the server.
    pub fn is_any_ok(&self) -> bool {
        let flows = self.flows.as_ref();
        self.outcomes[Outcome::Ok] > 0 && flows.is_none_or(|flows| flows.ok > 0)
    }

    /// The share (0 to 1) of ok responses that waited for a delayed acknowledgement; `None` if hardly any did.
    pub fn share_of_ack_waits(&self) -> Option<f64> {
        let share = self.ack_waits as f64 / self.outcomes[Outcome::Ok] as f64;
        (share >= SHARE_OF_ACK_WAITS).then_some(share)
    }

    /// Records how its CPU quota stopped the generator, which may have been the bottleneck if the figures show that.
    pub fn limit_generator_by_quota(&mut self, throttled: Option<Throttled>) {
        let loaded_s = self.loaded_s();
        let generator = &mut self.generator;
        generator.throttled = throttled;
        if let Some(evidence) = throttled.and_then(|it| it.evidence(loaded_s)) {
            generator.limited_by(&evidence);
        }
    }

    /// How its CPU quota stopped the server, if the figures show that.
    pub fn server_stopped(&self) -> Option<Throttled> {
        let throttled = self.server_throttled?;
        throttled
            .is_noticeable(self.loaded_s())
            .then_some(throttled)
    }

    /// How long it took, warm-up included, in seconds.
    pub fn loaded_s(&self) -> f64 {
        self.duration_s + self.warmup.as_ref().map_or(0.0, |warmup| warmup.duration_s)
    }

    /// Bytes received per second in the measured part, heads included; 0 if nothing was measured.
    pub fn bytes_read_per_s(&self) -> f64 {
        self.per_s(self.bytes_read)
    }
}

/// Parses the keys, which are strings in JSON. Serde does that by itself, but not inside a tagged enum such as
/// [`TrialResult`](crate::TrialResult).
fn counts_by_status<'de, S: FromStr + Ord, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<S, u64>, D::Error> {
    BTreeMap::<String, u64>::deserialize(deserializer)?
        .into_iter()
        .map(|(status, count)| match status.parse() {
            Ok(status) => Ok((status, count)),
            Err(_) => Err(serde::de::Error::custom(format!(
                "`{status}` is not a status code"
            ))),
        })
        .collect()
}

#[cfg(test)]
mod tests;
