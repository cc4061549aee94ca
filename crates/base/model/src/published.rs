//! The tables of the document that a suite reproduces, to be shown beside what is measured here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LoadSpec;

/// A document and its tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// The document's title.
    pub document: String,
    /// The machine it was measured on, as far as the document tells.
    pub machine: String,
    /// The tool and the load it was measured with.
    pub method: String,
    /// Its tables.
    pub tables: Vec<PublishedTable>,
}

/// One of its tables, and the figures in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedTable {
    /// Its title.
    pub title: String,
    /// The load under which its figures are measured here.
    pub load: LoadSpec,
    /// How the document summarises rounds.
    pub summary: RoundSummary,
    /// Whether each round is shown beside the summary.
    pub each_round: bool,
    /// Its columns.
    pub columns: Vec<PublishedFigure>,
    /// The columns that have a bar chart.
    pub charts: Vec<PublishedFigure>,
    /// The workload that the columns `rate-share` and `transfer-share` are shares of.
    pub share_of: Option<String>,
    /// Notes for its readers, one sentence each.
    pub notes: Vec<String>,
    /// Its rows, in the document's order.
    pub rows: Vec<PublishedRow>,
}

/// A row: one system under one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedRow {
    /// Its name in the document.
    pub name: String,
    /// The server that corresponds to it here.
    pub server: String,
    /// The workload.
    pub workload: String,
    /// The published figures: one value per round, or a single one. A column without one here was not published.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "crate::NamedFields<PublishedFigure, Vec<f64>>")
    )]
    pub figures: BTreeMap<PublishedFigure, Vec<f64>>,
}

/// How the rounds of a figure are summarised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RoundSummary {
    /// By their median.
    #[default]
    Median,
    /// By their arithmetic mean.
    Mean,
}

crate::named! {
    /// A figure of a published table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum PublishedFigure {
        /// Ok responses per second.
        Rate = "rate",
        /// Bytes received per second, heads included.
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
        /// The measured time divided by the number of requests, in nanoseconds: with everything between requests, such
        /// as reconnects.
        TimePerRequest = "time-per-request",
        /// Ok requests that were already due when their user became free.
        QueuedRequests = "queued-requests",
        /// Requests that failed.
        Errors = "errors",
        /// From the spawn of the server to its first expected response, in nanoseconds.
        Startup = "startup",
        /// Size of the build's artefacts, in bytes.
        ArtefactBytes = "artefact-bytes",
        /// The most memory that the server held, in bytes.
        PeakMemory = "peak-memory",
        /// Requests per second as a share (0 to 1) of those of the table's `share_of`.
        RateShare = "rate-share",
        /// Bytes per second as a share (0 to 1) of those of the table's `share_of`.
        TransferShare = "transfer-share",
    }
}

impl PublishedFigure {
    /// Whether more is better; `None` if neither is (a share within one deviation), or if documents mean something else
    /// by it: wrk's errors are mostly orderly closes.
    pub const fn more_is_better(self) -> Option<bool> {
        match self {
            Self::Rate | Self::Transfer | Self::RateShare | Self::TransferShare => Some(true),
            Self::WithinStdev | Self::Errors => None,
            _ => Some(false),
        }
    }
}
