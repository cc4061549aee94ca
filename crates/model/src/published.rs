//! What the document behind a suite published: its tables as data, to be shown beside what is
//! measured here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LoadSpec;

/// The document, and the tables that it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What the document is called.
    pub document: String,
    /// The machine it was measured on, as far as the document says.
    pub machine: String,
    /// With which tool and load it was measured.
    pub method: String,
    /// Its tables.
    pub tables: Vec<PublishedTable>,
}

/// One of its tables, and which figures stand in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedTable {
    /// Its title.
    pub title: String,
    /// The load under which its figures are measured here.
    pub load: LoadSpec,
    /// How the rounds become one figure, as the document had it.
    pub summary: RoundSummary,
    /// Whether each round is shown beside their summary.
    pub each_round: bool,
    /// Its columns.
    pub columns: Vec<PublishedFigure>,
    /// The columns that have a bar chart.
    pub charts: Vec<PublishedFigure>,
    /// The workload that the columns [`PublishedFigure::RateShare`] and
    /// [`PublishedFigure::TransferShare`] are shares of.
    pub share_of: Option<String>,
    /// What a reader must know of it, a sentence each.
    pub notes: Vec<String>,
    /// Its rows, in the document's order.
    pub rows: Vec<PublishedRow>,
}

/// A row: one system under one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedRow {
    /// What the document calls it.
    pub name: String,
    /// The server that it is here.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// What was published: a value for each round, or one. A figure of the table's columns that is
    /// not here was not published.
    pub figures: BTreeMap<PublishedFigure, Vec<f64>>,
}

/// How the rounds of a figure become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundSummary {
    /// The median of the rounds.
    #[default]
    Median,
    /// Their arithmetic mean.
    Mean,
}

crate::named! {
    /// A figure of a published table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PublishedFigure {
        /// Ok responses a second.
        Rate = "rate",
        /// Bytes received a second, heads included.
        Transfer = "transfer",
        /// Mean latency, in nanoseconds.
        LatencyMean = "latency-mean",
        /// Standard deviation of the latency, in nanoseconds.
        LatencyStdev = "latency-stdev",
        /// The longest latency, in nanoseconds.
        LatencyMax = "latency-max",
        /// Latency that 95 % do not exceed, in nanoseconds.
        LatencyP95 = "latency-p95",
        /// Latency that 99 % do not exceed, in nanoseconds.
        LatencyP99 = "latency-p99",
        /// Share (0 to 1) of latencies within one standard deviation of their mean.
        WithinStdev = "within-stdev",
        /// Time for one request with everything between two of them, reconnects for instance, in
        /// nanoseconds: the measured time over the number of requests.
        TimePerRequest = "time-per-request",
        /// Successful requests whose scheduled instant had passed when their user became free.
        QueuedRequests = "queued-requests",
        /// Requests that failed.
        Errors = "errors",
        /// From the spawn of the server to its first expected response, in nanoseconds.
        Startup = "startup",
        /// Size of what the build makes, in bytes.
        ArtefactBytes = "artefact-bytes",
        /// The most memory that the server held, in bytes.
        PeakMemory = "peak-memory",
        /// Requests a second as a share (0 to 1) of those of the table's `share_of`.
        RateShare = "rate-share",
        /// Bytes a second as a share (0 to 1) of those of the table's `share_of`.
        TransferShare = "transfer-share",
    }
}

impl PublishedFigure {
    /// Whether more of it is better; `None` if neither is (a share within a deviation), or if
    /// documents count something else by that name: wrk's errors are mostly orderly closes.
    pub const fn more_is_better(self) -> Option<bool> {
        match self {
            Self::Rate | Self::Transfer | Self::RateShare | Self::TransferShare => Some(true),
            Self::WithinStdev | Self::Errors => None,
            _ => Some(false),
        }
    }
}
