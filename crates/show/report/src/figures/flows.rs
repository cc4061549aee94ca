//! The flows of scenarios and their requests, and the stages of a rate.

use prony_model::{FlowEntry, Flows, LatencySummary, Measurement, Outcome, StageResult};
use prony_stats::{Estimate, supports_percentile};

use super::over_rounds::{Merged, over};

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

impl PartFigures {
    /// The stages of a rate in their order, as far as every round reached them; empty for a load without.
    pub(super) fn of_stages(rounds: &[&Measurement]) -> Vec<Self> {
        let stages = rounds.iter().map(|round| round.load.stages.len()).min();
        (0..stages.unwrap_or(0))
            .filter_map(|at| Self::of_stage(rounds, at))
            .collect()
    }

    fn of_stage(rounds: &[&Measurement], at: usize) -> Option<Self> {
        let stages = rounds.iter().filter_map(|round| round.load.stages.get(at));
        let stages: Vec<&StageResult> = stages.collect();
        let rate = over(rounds, |round| Some(round.load.stages.get(at)?.rate_per_s))?;
        let name = stages.first()?.stage().to_string();
        let sent = stages.iter().map(|stage| stage.requests).sum();
        let not_ok = stages.iter().map(|stage| stage.outcomes.errors()).sum();
        let histograms = stages.iter().map(|stage| stage.histogram.as_str());
        Some(Self::new(Some(name), rate, histograms, sent, not_ok))
    }

    /// Whole flows, then each request in its order; empty for a load without flows.
    pub(super) fn of_flows(rounds: &[&Measurement]) -> Vec<Self> {
        let all = rounds.iter().filter_map(|round| round.load.flows.as_ref());
        let all: Vec<&Flows> = all.collect();
        let Some(first) = all.first() else {
            return Vec::new();
        };
        let requests = (0..first.entries.len()).filter_map(|at| Self::of_request(rounds, at));
        Self::of_whole_flows(rounds, &all)
            .into_iter()
            .chain(requests)
            .collect()
    }

    fn of_whole_flows(rounds: &[&Measurement], all: &[&Flows]) -> Option<Self> {
        let rate = over(rounds, |round| Some(round.load.flows.as_ref()?.rate_per_s))?;
        let not_ok = all.iter().map(|flows| flows.failed).sum();
        let others: u64 = all.iter().map(|flows| flows.ok + flows.unfinished).sum();
        let histograms = all.iter().map(|flows| flows.histogram.as_str());
        Some(Self::new(None, rate, histograms, others + not_ok, not_ok))
    }

    fn of_request(rounds: &[&Measurement], at: usize) -> Option<Self> {
        let entry = |round: &Measurement| -> Option<FlowEntry> {
            round.load.flows.as_ref()?.entries.get(at).cloned()
        };
        let entries: Vec<FlowEntry> = rounds.iter().filter_map(|round| entry(round)).collect();
        let rate = over(rounds, |round| {
            let ok = entry(round)?.outcomes[Outcome::Ok];
            Some(round.load.per_s(ok))
        })?;
        let name = entries.first()?.name.clone();
        let sent = entries.iter().map(|entry| entry.requests).sum();
        let not_ok = entries.iter().map(|entry| entry.outcomes.errors()).sum();
        let histograms = entries.iter().map(|entry| entry.histogram.as_str());
        Some(Self::new(Some(name), rate, histograms, sent, not_ok))
    }

    fn new<'a>(
        name: Option<String>,
        rate: Estimate,
        histograms: impl Iterator<Item = &'a str>,
        count: u64,
        not_ok: u64,
    ) -> Self {
        let histogram = Merged::of(histograms).histogram;
        Self {
            name,
            rate,
            has_p99: supports_percentile(histogram.count(), 0.01),
            time: histogram.summary(),
            count,
            not_ok,
        }
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
