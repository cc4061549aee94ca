//! The rows of a comparison.

use prony_model::LoadSpec;
use prony_present::load::short;
use prony_stats::Ratio;
use serde::Serialize;

use crate::compare::finding::Finding;
use crate::compare::instructions::InstructionDetails;
use crate::compare::metric::Metric;

/// One server with one workload under one load, then and now.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Case {
    /// The server of BASE.
    pub base: String,
    /// The server of NEW.
    pub new: String,
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
    /// A row for each metric.
    pub rows: Vec<MetricRow>,
    /// Remarks on all rows.
    pub notes: Vec<String>,
    /// What lies behind a change of the instructions per request; `None` for loads that measure time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<InstructionDetails>,
}

impl Case {
    /// A case without rows.
    pub(crate) fn empty((base, new): (&str, &str), workload: &str, load: &LoadSpec) -> Self {
        Self {
            base: base.to_owned(),
            new: new.to_owned(),
            workload: workload.to_owned(),
            // Each round has a seed of its own.
            load: LoadSpec {
                seed: 0,
                ..load.clone()
            },
            rows: Vec::new(),
            notes: Vec::new(),
            instructions: None,
        }
    }

    /// Whether the instructions per request changed.
    pub(crate) fn changes_instructions(&self) -> bool {
        self.rows.iter().any(|row| {
            row.what == What::Metric(Metric::UserInstructions)
                && matches!(row.finding, Finding::Worse | Finding::Improved)
        })
    }

    /// The workload and the load: `hello, 64 connections`.
    pub(crate) fn workload_and_load(&self) -> String {
        format!("{}, {}", self.workload, short(&self.load))
    }

    /// The same with a server: `go × hello, 64 connections`.
    pub(crate) fn place(&self, server: &str) -> String {
        format!("{server} × {}", self.workload_and_load())
    }
}

/// The result for one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricRow {
    /// What is compared.
    pub what: What,
    /// The finding.
    pub finding: Finding,
    /// The median of BASE's rounds, in the metric's unit.
    pub base: Option<f64>,
    /// The median of NEW's rounds.
    pub new: Option<f64>,
    /// The change; `None` if there are too few rounds.
    pub change: Option<Change>,
    /// Remarks, a few words each.
    pub notes: Vec<String>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Requests with a wrong response or without one, as a share of all.
    Errors,
    /// Whether the server gave any figures at all.
    Failure,
    /// A metric.
    #[serde(untagged)]
    Metric(Metric),
}

impl What {
    /// The name in tables and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            What::Metric(metric) => metric.name(),
            What::Errors => "errors",
            What::Failure => "failure",
        }
    }

    /// A change with as many decimals as it is known to.
    pub(crate) fn change_text(self, ratio: f64) -> String {
        match self {
            What::Metric(metric) => metric.change_text(ratio),
            What::Errors | What::Failure => prony_present::number::change(ratio),
        }
    }
}

/// A change from BASE to NEW.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// NEW over BASE: the middle of the rounds' ratios, not the ratio of the medians.
    pub ratio: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end of its 95 % interval.
    pub high: f64,
    /// The p-value of this comparison alone.
    pub p: f64,
    /// The p-value, corrected for all comparisons made together (Holm).
    pub p_corrected: f64,
    /// The number of rounds.
    pub rounds: usize,
    /// How many rounds were quiet on both sides: a verdict on times needs at least 6 of these.
    pub quiet_rounds: usize,
    /// The least change that matters, as a share.
    pub threshold: f64,
    /// How the rounds were compared.
    pub basis: Basis,
}

impl Change {
    pub(crate) fn of(ratio: Ratio, quiet_rounds: usize, threshold: f64, basis: Basis) -> Self {
        Self {
            ratio: ratio.ratio,
            low: ratio.low,
            high: ratio.high,
            p: ratio.p,
            // Corrected once all comparisons are known.
            p_corrected: ratio.p,
            rounds: ratio.n,
            quiet_rounds,
            threshold,
            basis,
        }
    }

    /// Whether there are enough rounds for a verdict.
    pub(crate) fn has_enough_rounds(&self, metric: Metric) -> bool {
        self.quiet_rounds >= metric.least_rounds()
    }

    /// How far the interval's ends are from its middle, as a share of it: 0.03 for ±3 %.
    pub fn half_width(&self) -> f64 {
        self.as_ratio().half_width()
    }

    pub(crate) fn as_ratio(&self) -> Ratio {
        Ratio {
            ratio: self.ratio,
            low: self.low,
            high: self.high,
            p: self.p,
            n: self.rounds,
        }
    }
}

/// How the rounds of both sides were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Each round of NEW with the same round of BASE: drift from round to round cancels out.
    Paired,
    /// The rounds of two sessions, each as a ratio to the ceiling (reference server) of its round: differences between the
    /// sessions that affect both alike cancel out.
    ToCeiling,
    /// The rounds of two sessions as measured.
    Unpaired,
    /// The counts of all rounds of both sides: each round started its server, and no round affects another.
    Starts,
}
