//! What a load with stages did in each of them.

use prony_model::{LatencyHistogram, LoadShape, Outcome, Outcomes, Stage, StageResult, Throughput};
use serde::{Deserialize, Serialize};

use super::clock::{Nanoseconds, seconds};
use super::encoded::Latencies;
use crate::plan::LoadPlan;

/// The most stages with figures of their own: each takes a histogram on every thread.
const MOST_ROWS: usize = 64;

/// When the stages of a load end, from the start of the measured part; empty if they have no figures of their own.
#[derive(Debug)]
pub(super) struct StageEnds(Vec<Nanoseconds>);

/// What one worker counted of the requests that were due in a stage and began, whenever they ended.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct StageTally<H = LatencyHistogram> {
    pub(super) outcomes: Outcomes,
    /// Ok ones that began in the stage.
    completed: u64,
    latency: H,
}

fn stages(plan: &LoadPlan) -> &[Stage] {
    match &plan.load.shape {
        LoadShape::Rate(schedule) if (2..=MOST_ROWS).contains(&schedule.stages.len()) => {
            &schedule.stages
        }
        _ => &[],
    }
}

impl StageEnds {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        let mut end = 0.0;
        let ends = stages(plan).iter().map(|stage| {
            end += stage.duration_s.unwrap_or(f64::INFINITY);
            (end * 1e9) as Nanoseconds
        });
        let mut ends: Vec<Nanoseconds> = ends.collect();
        if let Some(last) = ends.last_mut() {
            // Its rate continues.
            *last = Nanoseconds::MAX;
        }
        Self(ends)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The stage of an instant.
    #[inline]
    pub(super) fn at(&self, since_start: Nanoseconds) -> Option<usize> {
        let stage = self.0.partition_point(|end| *end <= since_start);
        (stage < self.0.len()).then_some(stage)
    }
}

impl StageTally {
    /// Counts a request that is ok, and whether it began in the stage.
    #[inline]
    pub(super) fn ok(&mut self, latency: Nanoseconds, began_in_it: bool) {
        self.outcomes[Outcome::Ok] += 1;
        self.completed += u64::from(began_in_it);
        self.latency.record(latency);
    }
}

impl<H: Latencies> StageTally<H> {
    pub(super) fn merge<O: Latencies>(&mut self, other: &StageTally<O>) {
        self.outcomes.merge(&other.outcomes);
        self.completed = self.completed.saturating_add(other.completed);
        self.latency.add(&other.latency);
    }
}

/// The stages that began while requests were due, which was for that long.
pub(super) fn results(
    plan: &LoadPlan,
    due: Nanoseconds,
    counted: &[StageTally],
) -> Vec<StageResult> {
    let ends = StageEnds::of(plan).0;
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let began = stages(plan).iter().zip(begins).zip(&ends);
    let began = began.take_while(|((_, begin), _)| *begin < due);
    let none = StageTally::default();
    began
        .enumerate()
        .map(|(number, ((stage, begin), end))| {
            let counted = counted.get(number).unwrap_or(&none);
            let throughput = Throughput {
                completed: counted.completed,
                seconds: seconds((*end).min(due) - begin),
            };
            StageResult {
                from_per_s: stage.from_per_s,
                to_per_s: stage.to_per_s,
                duration_s: throughput.seconds,
                requests: counted.outcomes.total(),
                outcomes: counted.outcomes,
                rate_per_s: throughput.per_s(),
                latency_ns: counted.latency.summary(),
                histogram: counted.latency.to_base64(),
            }
        })
        .collect()
}
