//! What one load on one target gave: the body of `prony load --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{LatencySummary, Outcomes};

/// The arrivals of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "shape")]
pub enum LoadShape {
    /// Each connection sends its next request when the answer to the last one is whole.
    Closed,
    /// Each connection is a user of its own, whose requests arrive at random (a Poisson source), on
    /// a schedule that no answer moves. An arrival that finds its user still waiting for an answer
    /// is late, and follows as soon as the user is free. Latency runs from the scheduled arrival.
    UsersOpen {
        /// Mean time between two arrivals of a user, in seconds.
        think_time_s: f64,
    },
}

impl LoadShape {
    /// The name used in JSON, CSV and tables.
    pub const fn name(self) -> &'static str {
        match self {
            LoadShape::Closed => "closed",
            LoadShape::UsersOpen { .. } => "users-open",
        }
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
    /// How many threads make the load.
    pub threads: usize,
    /// How long it is measured, in seconds; `None` where only `requests` ends it.
    pub duration_s: Option<f64>,
    /// How many requests are started at the most, warm-up not counted.
    pub requests: Option<u64>,
    /// How long requests are sent before measuring begins, in seconds.
    pub warmup_s: f64,
    /// How long an answer may take, in seconds from the send, or from the scheduled arrival where
    /// the shape has one.
    pub timeout_s: f64,
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

/// The first answer that was wrong, to show what "wrong" was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongAnswer {
    /// The name of its outcome.
    pub outcome: String,
    /// What was expected and what came.
    pub detail: String,
}

/// What the load cost the generator itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time in user mode of all workers, in seconds, measured part only.
    pub cpu_user_s: f64,
    /// CPU time in the kernel of all workers, in seconds, measured part only.
    pub cpu_system_s: f64,
    /// The busiest worker's CPU time as a share (0 to 1) of the measured time.
    pub busy_max: f64,
    /// The event loop that ran: `epoll`.
    #[serde(rename = "loop")]
    pub event_loop: String,
    /// Whether the generator may have been the limit: a worker was above 90 % busy. What the server
    /// had left is not known here.
    pub client_limited: bool,
    /// The CPUs that the workers were pinned to; empty where they were not.
    pub cpus: Vec<usize>,
}

/// What a load with a schedule says of how it was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Ok requests whose scheduled instant had passed when their user became free.
    pub late: u64,
    /// The generator's own lateness: from the instant at which a request was due and its user free
    /// to the one at which it was begun; `None` where none was begun.
    pub schedule_lag_ns: Option<LatencySummary>,
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
    /// What the warm-up gave, where there was one.
    pub warmup: Option<WarmupResult>,
    /// Answers counted as ok, a second.
    pub rate_per_s: f64,
    /// Bytes received in the measured part, heads included.
    pub bytes_read: u64,
    /// Bytes sent in the measured part, heads included.
    pub bytes_written: u64,
    /// Connections made, warm-up included.
    pub connections_opened: u64,
    /// Of these, the ones made again after a server or an error had closed one.
    pub reconnects: u64,
    /// Requests sent again over a new connection, because the server had closed the one that it had
    /// answered on before, warm-up included. Each still has one outcome.
    #[serde(default)]
    pub resent: u64,
    /// How often a connection had to wait for a free local port, warm-up included.
    #[serde(default)]
    pub port_waits: u64,
    /// What only a load with a schedule has; `None` for a closed loop.
    #[serde(default)]
    pub open: Option<OpenLoop>,
    /// Whole answers by status, in the measured part.
    #[serde(deserialize_with = "counts_by_status")]
    pub statuses: BTreeMap<u16, u64>,
    /// From the send of a request (in a load with a schedule: from its scheduled arrival) to the last
    /// byte of its answer, ok answers only; `None` where there was none.
    pub latency_ns: Option<LatencySummary>,
    /// From the start of a connection to its end of set-up; `None` where none was made.
    pub connect_ns: Option<LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// Share (0 to 1) of latencies within one standard deviation of their mean.
    pub within_stdev: f64,
    /// The first wrong answer, where there was one.
    pub first_wrong: Option<WrongAnswer>,
    /// What it cost the generator.
    pub generator: GeneratorCost,
}

impl LoadResult {
    /// Bytes received a second in the measured part, heads included; 0 where nothing was measured.
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
