//! The flows of scenarios and their requests, and the stages of a rate.

use prony_model::{LatencySummary, Measurement, Outcome};
use prony_stats::{Estimate, supports_percentile};

use super::over_rounds::Merged;

/// A part of a load, over all rounds: whole flows, one request of them, or the requests of a stage.
#[derive(Clone, Debug)]
pub struct PartFigures {
    /// The name of the request or the stage; `None` for whole flows.
    pub name: Option<String>,
    /// How many were ok per second.
    pub rate: Estimate,
    /// How long they took, from the merged histograms of all rounds, pauses included for whole flows; `None` if none was ok.
    pub time: Option<LatencySummary>,
    /// How many began or were due.
    pub count: u64,
    /// How many of them were not ok. Those in progress at the end of the load, or not begun by
    /// then, are not among them.
    pub not_ok: u64,
    /// Whether there are enough for ten to lie in the slowest hundredth.
    has_p99: bool,
}

/// A part of the load of one round.
struct Part<'a> {
    name: Option<String>,
    ok_per_s: f64,
    histogram: &'a str,
    count: u64,
    not_ok: u64,
}

impl PartFigures {
    /// The stages of a rate in their order, as far as every round reached them; empty for a load without.
    pub(super) fn of_stages(rounds: &[&Measurement]) -> Vec<Self> {
        let stages = rounds.iter().map(|round| round.load.stages.len()).min();
        let of_stage = |at: usize| {
            Self::of(rounds, |round| {
                let stage = round.load.stages.get(at)?;
                Some(Part {
                    name: Some(stage.stage().to_string()),
                    ok_per_s: stage.rate_per_s,
                    histogram: &stage.histogram,
                    count: stage.requests,
                    not_ok: stage.outcomes.errors(),
                })
            })
        };
        (0..stages.unwrap_or(0)).filter_map(of_stage).collect()
    }

    /// Whole flows, then each request in its order; empty for a load without flows.
    pub(super) fn of_flows(rounds: &[&Measurement]) -> Vec<Self> {
        let whole = Self::of(rounds, |round| {
            let flows = round.load.flows.as_ref()?;
            Some(Part {
                name: None,
                ok_per_s: flows.rate_per_s,
                histogram: &flows.histogram,
                count: flows.ok + flows.failed + flows.unfinished,
                not_ok: flows.failed,
            })
        });
        let of_request = |at: usize| {
            Self::of(rounds, |round| {
                let entry = round.load.flows.as_ref()?.entries.get(at)?;
                Some(Part {
                    name: Some(entry.name.clone()),
                    ok_per_s: round.load.per_s(entry.outcomes[Outcome::Ok]),
                    histogram: &entry.histogram,
                    count: entry.requests,
                    not_ok: entry.outcomes.errors(),
                })
            })
        };
        let first = rounds.iter().find_map(|round| round.load.flows.as_ref());
        let requests = first.map_or(0, |flows| flows.entries.len());
        let requests = (0..requests).filter_map(of_request);
        whole.into_iter().chain(requests).collect()
    }

    /// A part over the rounds that have it; `None` if none has.
    fn of<'a>(
        rounds: &[&'a Measurement],
        part: impl Fn(&'a Measurement) -> Option<Part<'a>>,
    ) -> Option<Self> {
        let parts: Vec<Part<'_>> = rounds.iter().filter_map(|round| part(round)).collect();
        let rates = parts.iter().map(|part| part.ok_per_s);
        let rates: Vec<f64> = rates.filter(|rate| rate.is_finite()).collect();
        let histogram = Merged::of(parts.iter().map(|part| part.histogram)).histogram;
        Some(Self {
            name: parts.first()?.name.clone(),
            rate: Estimate::of(&rates)?,
            has_p99: supports_percentile(histogram.count(), 0.01),
            time: histogram.summary(),
            count: parts.iter().map(|part| part.count).sum(),
            not_ok: parts.iter().map(|part| part.not_ok).sum(),
        })
    }

    /// Their median time, in nanoseconds.
    pub fn p50(&self) -> Option<f64> {
        Some(self.time.as_ref()?.p50 as f64)
    }

    /// The 99th percentile, in nanoseconds, if at least ten lie beyond it.
    pub fn p99(&self) -> Option<f64> {
        let time = self.time.as_ref().filter(|_| self.has_p99)?;
        Some(time.p99 as f64)
    }
}
