//! What one load on one target gave: the body of `prony load --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Checked, LatencySummary, Outcomes, Schedule, TcpEvents};

/// The arrivals of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub enum LoadShape {
    /// Each connection sends its next request when the response to the last one is whole.
    Closed,
    /// Requests are due at a rate, whatever the responses do, and whichever connection is free takes
    /// the next one. Latency runs from the scheduled arrival.
    Rate(Schedule),
    /// Each connection is a user who thinks for a random time (exponentially distributed), sends a
    /// request, and waits for its response before thinking again. Latency runs from the send.
    UsersClosed {
        /// Mean thinking time, in seconds.
        think_time_s: f64,
    },
    /// Each connection is a user of its own, whose requests arrive at random (a Poisson source), on
    /// a schedule that no response moves. An arrival that finds its user still waiting for a response
    /// is late, and follows as soon as the user is free. Latency runs from the scheduled arrival.
    UsersOpen {
        /// Mean time between two arrivals of a user, in seconds.
        think_time_s: f64,
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

    /// Whether requests arrive on a schedule that no response moves, which is what an open loop is.
    pub const fn is_open(&self) -> bool {
        matches!(self, LoadShape::Rate(_) | LoadShape::UsersOpen { .. })
    }
}

/// The load that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// After how many responses a connection is closed and replaced; `None` to keep it.
    #[serde(default)]
    pub requests_per_connection: Option<u64>,
    /// How many threads make the load.
    pub threads: usize,
    /// How long it is measured, in seconds; `None` if only `requests` ends it.
    pub duration_s: Option<f64>,
    /// How many requests are started at most, warm-up not counted.
    pub requests: Option<u64>,
    /// How long requests are sent before measuring begins, in seconds.
    pub warmup_s: f64,
    /// How long a response may take, in seconds from the send; in records of open loops from before
    /// there was `deadline_s`, from the scheduled arrival.
    pub timeout_s: f64,
    /// How long a response may take, in seconds from the scheduled arrival; what could not be sent by
    /// then is shed.
    #[serde(default)]
    pub deadline_s: Option<f64>,
    /// What the random arrivals and choices came from: the same number makes the same ones.
    #[serde(default)]
    pub seed: u64,
    /// Whether the generator busy-waits for the instants of its schedule.
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
}

impl LoadSpec {
    /// Whether it is the same load as another one, whatever its random arrivals were drawn from: each
    /// round of a run has a seed of its own.
    pub fn same_load(&self, other: &LoadSpec) -> bool {
        let like_other = LoadSpec {
            seed: other.seed,
            ..self.clone()
        };
        like_other == *other
    }
}

impl Default for LoadSpec {
    /// One connection of one thread in a closed loop, without an end, with a timeout of 10 s.
    fn default() -> Self {
        Self {
            shape: LoadShape::Closed,
            connections: 1,
            max_connections: None,
            pipeline: one(),
            requests_per_connection: None,
            threads: 1,
            duration_s: None,
            requests: None,
            warmup_s: 0.0,
            timeout_s: 10.0,
            deadline_s: None,
            seed: 0,
            spin: false,
            streams: 0,
            first_byte: false,
            events: false,
        }
    }
}

fn one() -> usize {
    1
}

/// What the load was put on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The URL.
    pub url: String,
    /// The request's method.
    pub method: String,
    /// The socket address that was used.
    pub address: String,
}

/// Why a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its time was up.
    Duration,
    /// All its requests had an outcome.
    Requests,
    /// The user stopped it; the figures are those up to then.
    Interrupted,
}

/// What happened before measuring began. Nothing of it is in the other figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmupResult {
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// What became of the requests that ended in it.
    pub outcomes: Outcomes,
}

/// The first response that was wrong, to show what "wrong" was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongResponse {
    /// The name of its outcome.
    pub outcome: String,
    /// What was expected and what came.
    pub detail: String,
}

/// What the load cost the generator itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time in user mode of all workers, in seconds, measured part only.
    pub cpu_user_s: f64,
    /// CPU time in the kernel of all workers, in seconds, measured part only.
    pub cpu_system_s: f64,
    /// The busiest worker's CPU time as a share (0 to 1) of the measured time.
    pub busy_max: f64,
    /// Of the workers' CPU time, how long they busy-waited for an instant of the schedule, in seconds.
    /// It is not in `busy_max`.
    #[serde(default)]
    pub spin_s: f64,
    /// System calls of all workers, measured part only; 0 in records from before they were counted.
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
    /// What generated the load: the event loop that ran, `io_uring` or `epoll`, or the other generator that
    /// did (`prony run --driver`), such as `wrk 4.1.0`.
    #[serde(rename = "loop")]
    pub event_loop: String,
    /// Whether the generator may have been the limit. What the server had left is not known here.
    pub client_limited: bool,
    /// What shows that: a worker above 90 % busy, or a schedule that it fell ever further behind.
    #[serde(default)]
    pub client_limited_by: Option<String>,
    /// The CPUs that the workers were pinned to; empty if they were not.
    pub cpus: Vec<usize>,
    /// How the kernel scheduled the workers, all of them together, measured part only; `None` if it
    /// does not say.
    #[serde(default)]
    pub scheduling: Option<Scheduling>,
}

/// How the kernel scheduled some threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scheduling {
    /// How long they were ready to run and waited for a CPU, summed over the threads, in seconds.
    pub run_queue_wait_s: f64,
    /// How often one of them gave its CPU away because it had nothing to do.
    pub voluntary_switches: u64,
    /// How often a CPU was taken from one that still had something to do.
    pub involuntary_switches: u64,
}

/// How a load went in the course of time: its ok responses, counted in intervals of one length from the
/// first instant of the warm-up on (of the measured part, if there is none).
///
/// Only whole intervals are in it. Its memory is fixed: a load that lasts longer has longer intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The length of an interval, in seconds.
    pub interval_s: f64,
    /// When the measured part began, in seconds from the first interval's beginning.
    pub measured_from_s: f64,
    /// Ok responses that came in each interval.
    pub ok: Vec<u64>,
    /// The mean latency of these responses, in nanoseconds; 0 if none came.
    pub latency_mean_ns: Vec<f64>,
}

impl Timeline {
    /// The intervals that lie wholly in the measured part.
    pub fn measured(&self) -> std::ops::Range<usize> {
        let first = (self.measured_from_s / self.interval_s - 1e-9).ceil() as usize;
        first.min(self.ok.len())..self.ok.len()
    }
}

/// What a load with a schedule says of how it was kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Requests whose scheduled instant was in the measured part.
    #[serde(default)]
    pub asked: u64,
    /// Of these, the ones that were begun.
    #[serde(default)]
    pub sent: u64,
    /// `sent` / `asked`: 1 if the requested rate was reached.
    #[serde(default)]
    pub rate_ratio: f64,
    /// Ok requests whose scheduled instant had passed when their user (or, in a rate, any
    /// connection) became free.
    pub queued: u64,
    /// The generator's own delay: from the instant at which a request was due and its user free
    /// to the one at which it was begun; `None` if none was begun.
    pub schedule_lag_ns: Option<LatencySummary>,
    /// The histogram behind `schedule_lag_ns`: HdrHistogram V2, base64.
    #[serde(default)]
    pub schedule_lag_histogram: String,
    /// The most connections that were open at a time, summed over the threads.
    #[serde(default)]
    pub most_connections: u64,
    /// Requests that were due when every connection was busy and no more might be opened.
    #[serde(default)]
    pub bound_hits: u64,
}

/// What the event streams (`text/event-stream`) of a load brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// Events that came.
    pub count: u64,
    /// Events a second.
    pub per_s: f64,
    /// From the start of a request's latency to its first event; `None` if none came.
    pub first_ns: Option<LatencySummary>,
    /// From one event of a stream to its next; `None` if no stream brought two.
    pub gap_ns: Option<LatencySummary>,
}

/// The streams that were held open beside the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldStreams {
    /// How many were to be held.
    pub asked: u64,
    /// How many were open when the load ended.
    pub open_at_end: u64,
    /// Requests for them, warm-up included: the sum of `outcomes`. They are not in the load's.
    pub requests: u64,
    /// What became of each; one that was held to the end is `unfinished`.
    pub outcomes: Outcomes,
    /// The events they brought.
    pub events: Events,
}

/// What one load on one target gave.
///
/// A request belongs to the phase (warm-up or measured) in which it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// What the load was put on.
    pub target: Target,
    /// The load that was asked for.
    pub load: LoadSpec,
    /// Why it ended.
    pub ended: Ended,
    /// How long was measured, in seconds.
    pub duration_s: f64,
    /// All requests of the measured part: the sum of `outcomes`.
    pub requests: u64,
    /// What became of each.
    pub outcomes: Outcomes,
    /// What the warm-up gave, if there was one.
    pub warmup: Option<WarmupResult>,
    /// Responses counted as ok, a second.
    pub rate_per_s: f64,
    /// Bytes received in the measured part, heads included.
    pub bytes_read: u64,
    /// Bytes sent in the measured part, heads included.
    pub bytes_written: u64,
    /// Connections made for the load, warm-up included.
    pub connections_opened: u64,
    /// Of these, the ones that replaced a connection closed by the server or an error.
    pub reconnects: u64,
    /// Requests sent again over a new connection, because the server had closed the one that it had
    /// responded on before, warm-up included. Each still has one outcome.
    #[serde(default)]
    pub resent: u64,
    /// How often a connection had to wait for a free local port, warm-up included.
    #[serde(default)]
    pub port_waits: u64,
    /// What only a load with a schedule has; `None` for a closed loop.
    #[serde(default)]
    pub open: Option<OpenLoop>,
    /// Whole responses by status, in the measured part.
    #[serde(deserialize_with = "counts_by_status")]
    pub statuses: BTreeMap<u16, u64>,
    /// From the send of a request (in a load with a schedule: from its scheduled arrival) to the last
    /// byte of its response, ok responses only; `None` if there was none.
    pub latency_ns: Option<LatencySummary>,
    /// From the same instant to the first byte of the response, if that was asked for.
    #[serde(default)]
    pub first_byte_ns: Option<LatencySummary>,
    /// The events of the responses, if they are event streams and were read as such.
    #[serde(default)]
    pub events: Option<Events>,
    /// The streams that were held open beside the load.
    #[serde(default)]
    pub streams: Option<HeldStreams>,
    /// From the start of a connection to its end of set-up; `None` if none was made.
    pub connect_ns: Option<LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// Share (0 to 1) of latencies within one standard deviation of their mean.
    pub within_stdev: f64,
    /// The first wrong response, if there was one.
    pub first_wrong: Option<WrongResponse>,
    /// How many responses were compared with the expected one; `None` if nothing is expected of them, if another
    /// generator made the load, and in records from before Prony counted.
    #[serde(default)]
    pub checked: Option<Checked>,
    /// What it cost the generator.
    pub generator: GeneratorCost,
    /// Its course over time; `None` if that was not recorded.
    #[serde(default)]
    pub timeline: Option<Timeline>,
    /// What the kernel's TCP had to repair meanwhile; `None` if the kernel does not say.
    #[serde(default)]
    pub tcp: Option<TcpEvents>,
    /// What `tcp` says about requests that took 0.2 s or longer; `None` if there are none, or it says nothing.
    #[serde(default)]
    pub slow_because: Option<String>,
}

impl LoadResult {
    /// How long it took, warm-up included, in seconds.
    pub fn loaded_s(&self) -> f64 {
        self.duration_s + self.warmup.as_ref().map_or(0.0, |warmup| warmup.duration_s)
    }

    /// Bytes received a second in the measured part, heads included; 0 if nothing was measured.
    pub fn bytes_read_per_s(&self) -> f64 {
        if self.duration_s > 0.0 {
            self.bytes_read as f64 / self.duration_s
        } else {
            0.0
        }
    }
}

/// Reads the keys as the text they are in JSON. Serde does so by itself, but not inside of a
/// tagged enum such as [`TrialResult`](crate::TrialResult).
fn counts_by_status<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u16, u64>, D::Error> {
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
