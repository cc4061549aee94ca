//! A rate that was tried, and what it gave.

use prony_model::{HistogramError, LatencySummary, LoadResult, Outcome, Outside, TcpEvents};
use serde::Serialize;

use crate::judge::{Judgement, judge};
use crate::noise::AttemptNoise;
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
    /// To confirm a verdict that another one contradicts.
    Confirm,
    /// For the curve.
    Curve,
}

/// A rate that was tried, and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attempt {
    /// Why it was tried.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// Which run of this rate it was, from 1: a noisy one is run again.
    pub run: u32,
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
    /// Expected responses.
    pub ok: u64,
    /// Share (0 to 1) of the requests without an expected response.
    pub errors: f64,
    /// Share (0 to 1) of the requests due that were sent.
    pub sent: f64,
    /// From the scheduled arrival to the last byte of the response; `None` where there was none.
    pub latency_ns: Option<LatencySummary>,
    /// The histogram behind it: HdrHistogram V2, base64.
    pub histogram: String,
    /// The busiest worker's CPU time as a share (0 to 1) of the time.
    pub generator_busy: f64,
    /// What else happened on the machine; `None` if it was not observed.
    pub noise: Option<AttemptNoise>,
    /// What the kernel's TCP had to repair; `None` if the kernel does not say.
    pub tcp: Option<TcpEvents>,
    /// What `tcp` says about requests that took 0.2 s or longer; `None` if it says nothing.
    pub slow_because: Option<String>,
}

/// What is known of an attempt before it is judged.
pub(crate) struct Made<'a> {
    /// Why it was made.
    pub(crate) purpose: Purpose,
    /// Which run of this rate it was, from 1.
    pub(crate) run: u32,
    /// Requests due a second.
    pub(crate) rate_per_s: f64,
    /// Whether it was ended early.
    pub(crate) cut_short: bool,
    /// What was seen beside it.
    pub(crate) outside: Option<&'a Outside>,
}

impl Attempt {
    /// Judges a load. `resolution` is that of the search.
    pub(crate) fn of(
        load: &LoadResult,
        made: &Made<'_>,
        slo: &Slo,
        resolution: f64,
    ) -> Result<Self, HistogramError> {
        Ok(Self {
            purpose: made.purpose,
            run: made.run,
            rate_per_s: made.rate_per_s,
            seed: load.load.seed,
            duration_s: load.duration_s,
            cut_short: made.cut_short,
            judgement: judge(load, slo, resolution)?,
            requests: load.requests,
            ok: load.outcomes[Outcome::Ok],
            errors: Figures::of(load)?.errors,
            sent: load.open.as_ref().map_or(0.0, |open| open.rate_ratio),
            latency_ns: load.latency_ns.clone(),
            histogram: load.histogram.clone(),
            generator_busy: load.generator.busy_max,
            noise: made.outside.map(|outside| AttemptNoise::of(outside, load)),
            tcp: load.tcp,
            slow_because: load.slow_because.clone(),
        })
    }

    /// Whether the machine disturbed it, so that its verdict does not count.
    pub fn is_noisy(&self) -> bool {
        self.noise.as_ref().is_some_and(AttemptNoise::is_noisy)
    }
}
