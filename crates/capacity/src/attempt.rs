//! A rate that was tried, and what it gave.

use prony_record::{HistogramError, LatencySummary, LoadResult, Outcome};
use serde::Serialize;

use crate::judge::{Judgement, judge};
use crate::slo::{Figures, Slo};

/// Why a rate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "purpose")]
pub enum Purpose {
    /// To come near the capacity.
    Approach,
    /// For a finding.
    Finding {
        /// Which one, from 1.
        number: u32,
    },
    /// For the curve.
    Curve,
}

/// A rate that was tried, and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Why it was tried.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// Requests due a second.
    pub rate_per_s: f64,
    /// What its random arrivals came from.
    pub seed: u64,
    /// How long it was measured, in seconds.
    pub duration_s: f64,
    /// Whether it was ended early, because it could no longer hold.
    pub cut_short: bool,
    /// Whether the server held it.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// Requests of the measured part.
    pub requests: u64,
    /// Right answers.
    pub ok: u64,
    /// Share (0 to 1) of the requests without a right answer.
    pub errors: f64,
    /// Share (0 to 1) of the requests due that were sent.
    pub sent: f64,
    /// From the scheduled arrival to the last byte of the answer; `None` where there was none.
    pub latency_ns: Option<LatencySummary>,
    /// The histogram behind it: HdrHistogram V2, base64.
    pub histogram: String,
    /// The busiest worker's CPU time as a share (0 to 1) of the time.
    pub generator_busy: f64,
}

impl Attempt {
    /// Judges a load. `precision` is that of the capacity.
    pub(crate) fn of(
        load: &LoadResult,
        (purpose, rate_per_s, cut_short): (Purpose, f64, bool),
        slo: &Slo,
        precision: f64,
    ) -> Result<Self, HistogramError> {
        Ok(Self {
            purpose,
            rate_per_s,
            seed: load.load.seed,
            duration_s: load.duration_s,
            cut_short,
            judgement: judge(load, slo, precision)?,
            requests: load.requests,
            ok: load.outcomes[Outcome::Ok],
            errors: Figures::of(load)?.errors,
            sent: load.open.as_ref().map_or(0.0, |open| open.rate_ratio),
            latency_ns: load.latency_ns.clone(),
            histogram: load.histogram.clone(),
            generator_busy: load.generator.busy_max,
        })
    }
}
