//! Whether a load met its objectives.
//!
//! The figure of the whole load alone may be luck: one stall more or less. So the verdict also depends on how the figure
//! varied over the load, as the 95 % interval that batches of its time give.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{HistogramError, LatencyHistogram, LoadResult, Outage, Throughput, Timeline};
use prony_stats::{Interval, ratio_of_sums, share_of};
use serde::Serialize;

use crate::objective::figures::{LoadFigures, without_response};
use crate::objective::objectives::{Objective, Objectives, Statistic};

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The figure and its whole interval are on the right side of the limit.
    Met,
    /// They are on the wrong side.
    Missed,
    /// The interval contains the limit, or there is none.
    NotClear,
}

impl Verdict {
    /// `met`, `missed`, `not clear`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::NotClear => "not clear",
        }
    }
}

/// An objective and what a load makes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// The objective.
    pub objective: Objective,
    /// Its limit in the unit of the figure.
    pub limit: f64,
    /// The figure of the whole load: nanoseconds, a share (0 to 1), or responses per second; `None` if no response was ok.
    pub figure: Option<f64>,
    /// The longest outage, if it misses the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Whether that figure is on the right side, and no outage misses the objective.
    pub holds: bool,
    /// Whether the objective was met.
    pub verdict: Verdict,
    /// How the figure varied over the load; `None` if the load was too short, or if the figure is a maximum or the limit is
    /// 0 %, for which the load itself is the evidence.
    pub evidence: Option<Evidence>,
    /// Whether the generator may have been the bottleneck, so that the server may do better.
    pub client_limited: bool,
    /// The evidence that the generator, and not the server, is why the figure is on the wrong side; `None` if there is none.
    pub missed_because: Option<String>,
}

/// The 95 % interval of a figure. For a percentile it is that of the share of responses that are on the wrong side of the
/// limit: few responses support that share, but not the percentile of each batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The estimate of the whole load.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The limit in the same unit.
    pub limit: f64,
    /// The number of batches.
    pub batches: usize,
}

impl Judged {
    /// Whether the objective counts as missed: also if the interval contains the limit but the figure is on the wrong side.
    pub fn is_missed(&self) -> bool {
        match self.verdict {
            Verdict::Met => false,
            Verdict::Missed => true,
            Verdict::NotClear => !self.holds,
        }
    }
}

/// Whether one of the objectives counts as missed.
pub fn is_missed(judged: &[Judged]) -> bool {
    judged.iter().any(Judged::is_missed)
}

/// Judges one load by its timeline.
///
/// # Errors
/// If the load's histogram cannot be read.
pub fn judge(objectives: &Objectives, load: &LoadResult) -> Result<Vec<Judged>, HistogramError> {
    let figures = LoadFigures::of(load)?;
    let all = objectives.all().iter();
    Ok(all
        .map(|objective| {
            let batches = BATCHES.map(|count| timeline_batches(load, objective, count));
            judged(objective, &figures, &batches)
        })
        .collect())
}

/// Judges several loads of the same kind, for instance the rounds of a run: each is a batch.
///
/// # Errors
/// If the histogram of a load cannot be read.
pub fn judge_rounds(
    objectives: &Objectives,
    loads: &[&LoadResult],
) -> Result<Vec<Judged>, HistogramError> {
    let mut figures = LoadFigures::default();
    let mut batches = Vec::with_capacity(loads.len());
    for load in loads {
        let of_load = LoadFigures::of(load)?;
        figures.merge(&of_load);
        batches.push(Batch::of(&of_load, &objectives.slow_from_ns()));
    }
    let all = objectives.all().iter();
    Ok(all
        .map(|objective| judged(objective, &figures, std::slice::from_ref(&batches)))
        .collect())
}

/// A load's time is cut into this many batches, twice: longer batches depend less on each other, more of them show more.
/// The wider interval counts.
const BATCHES: [usize; 2] = [20, 10];
/// Shorter batches depend on each other: one stall of the machine would be in several.
const LEAST_BATCH_S: f64 = 0.05;

/// What happened in a part of a load.
#[derive(Clone, Debug, Default)]
struct Batch {
    throughput: Throughput,
    ok: u64,
    errors: u64,
    /// The sum of all latencies.
    latency_ns: f64,
    /// For each latency, how many responses took that long or longer.
    slow: BTreeMap<u64, u64>,
}

impl Batch {
    fn of(figures: &LoadFigures, slow_from_ns: &[u64]) -> Self {
        let mean = Statistic::Mean.of(&figures.latency).unwrap_or(0.0);
        let slow = slow_from_ns.iter();
        Self {
            throughput: figures.throughput,
            ok: figures.ok,
            errors: figures.errors,
            latency_ns: mean * figures.ok as f64,
            slow: slow
                .map(|&from| (from, count_from(&figures.latency, from)))
                .collect(),
        }
    }

    /// What the figure of an objective is a ratio of; `None` if it is none.
    fn ratio(&self, objective: &Objective) -> Option<(f64, f64)> {
        let ok = self.ok as f64;
        match objective {
            Objective::Latency {
                statistic: Statistic::Percentile(_),
                ..
            } => {
                let from = objective.slow_from_ns()?;
                Some((*self.slow.get(&from)? as f64, ok))
            }
            Objective::Latency {
                statistic: Statistic::Mean,
                ..
            } => Some((self.latency_ns, ok)),
            Objective::Latency {
                statistic: Statistic::Max,
                ..
            } => None,
            Objective::Errors { .. } => Some((self.errors as f64, ok + self.errors as f64)),
            Objective::Rate { .. } => {
                let Throughput { completed, seconds } = self.throughput;
                Some((completed as f64, seconds))
            }
        }
    }
}

fn count_from(latency: &LatencyHistogram, from_ns: u64) -> u64 {
    let slow = latency.counted().filter(|(ns, _)| *ns >= from_ns);
    slow.map(|(_, count)| count).sum()
}

/// The intervals in which the responses arrive to what is due in the measured time: later than that by the mean latency.
fn responses_to_due(load: &LoadResult, timeline: &Timeline) -> Range<usize> {
    let measured = timeline.measured();
    let (Some(_), Some(latency)) = (&load.open, &load.latency_ns) else {
        return measured;
    };
    let intervals = |seconds: f64| (seconds / timeline.interval_s + 1e-9) as usize;
    let first = measured.start + intervals(latency.mean / 1e9);
    let end = first + intervals(load.throughput().seconds);
    first.min(measured.end)..end.min(measured.end)
}

/// The part of a load that an objective is about, in at most `count` batches of equal length.
fn timeline_batches(load: &LoadResult, objective: &Objective, count: usize) -> Vec<Batch> {
    let Some(timeline) = &load.timeline else {
        return Vec::new();
    };
    let measured = match objective {
        Objective::Rate { .. } => responses_to_due(load, timeline),
        _ => timeline.measured(),
    };
    let intervals = measured.len();
    let most = (intervals as f64 * timeline.interval_s / LEAST_BATCH_S + 1e-9) as usize;
    let count = count.min(most).min(intervals);
    let bounds = |batch: usize| measured.start + batch * intervals / count;
    let mut batches: Vec<Batch> = (0..count)
        .map(|batch| timeline_batch(timeline, bounds(batch)..bounds(batch + 1)))
        .collect();
    if let Some(last) = batches.last_mut() {
        last.errors += without_response(load);
    }
    batches
}

fn timeline_batch(timeline: &Timeline, intervals: Range<usize>) -> Batch {
    let sum = |counts: &[u64]| {
        counts
            .iter()
            .skip(intervals.start)
            .take(intervals.len())
            .sum()
    };
    let latencies = intervals.clone().filter_map(|interval| {
        let ok = *timeline.ok.get(interval)? as f64;
        Some(ok * timeline.latency_mean_ns.get(interval)?)
    });
    let slow = timeline.slow.iter();
    let ok = sum(&timeline.ok);
    Batch {
        throughput: Throughput {
            completed: ok,
            seconds: intervals.len() as f64 * timeline.interval_s,
        },
        ok,
        errors: sum(&timeline.errors),
        latency_ns: latencies.sum(),
        slow: slow.map(|slow| (slow.from_ns, sum(&slow.count))).collect(),
    }
}

fn judged(objective: &Objective, figures: &LoadFigures, batches: &[Vec<Batch>]) -> Judged {
    let figure = figures.figure(objective);
    let outage = figures.missed_in(objective);
    let holds = figure.is_some_and(|figure| objective.is_met_by(figure)) && outage.is_none();
    let evidence = batches
        .iter()
        .filter_map(|batches| evidence(objective, batches))
        .reduce(Evidence::with);
    let verdict = match (&evidence, figure) {
        _ if outage.is_some() => Verdict::Missed,
        (_, None) => Verdict::Missed,
        _ if is_decided_by_the_load(objective) && holds => Verdict::Met,
        _ if is_decided_by_the_load(objective) => Verdict::Missed,
        (None, _) => Verdict::NotClear,
        (Some(evidence), _) => evidence.verdict(objective, holds),
    };
    Judged {
        objective: *objective,
        limit: objective.limit(),
        figure,
        outage,
        holds,
        verdict,
        evidence,
        client_limited: figures.client_limited_by().is_some(),
        missed_because: figures.missed_because(objective).filter(|_| !holds),
    }
}

/// A maximum and "no error at all" are statements about the load itself, and no estimate.
fn is_decided_by_the_load(objective: &Objective) -> bool {
    match objective {
        Objective::Latency { statistic, .. } => *statistic == Statistic::Max,
        Objective::Errors { limit } => limit.value == 0.0,
        Objective::Rate { .. } => false,
    }
}

fn evidence(objective: &Objective, batches: &[Batch]) -> Option<Evidence> {
    if is_decided_by_the_load(objective) {
        return None;
    }
    let ratios = batches.iter().map(|batch| batch.ratio(objective));
    let ratios = ratios.collect::<Option<Vec<(f64, f64)>>>()?;
    let of_batches = ratio_of_sums(&ratios)?;
    let part: f64 = ratios.iter().map(|(part, _)| part).sum();
    let size: f64 = ratios.iter().map(|(_, size)| size).sum();
    let is_share =
        objective.percentile().is_some() || matches!(objective, Objective::Errors { .. });
    // A share of 0 in every batch does not vary at all, but few responses do not support it.
    let interval = if is_share {
        of_batches.with(share_of(part as u64, size as u64))
    } else {
        of_batches
    };
    let Interval { low, high } = interval;
    Some(Evidence {
        estimate: part / size,
        low: low.max(0.0),
        high: if is_share { high.min(1.0) } else { high },
        limit: match objective.percentile() {
            Some(percentile) => percentile.share_beyond(),
            None => objective.limit(),
        },
        batches: batches.len(),
    })
}

impl Evidence {
    /// The wider interval of both.
    fn with(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            ..self
        }
    }

    fn verdict(&self, objective: &Objective, holds: bool) -> Verdict {
        let (right, wrong) = match objective {
            Objective::Rate { .. } => (self.low > self.limit, self.high < self.limit),
            _ => (self.high < self.limit, self.low > self.limit),
        };
        // If responses never kept up with what was due, that all came in the end makes no rate.
        let is_rate = matches!(objective, Objective::Rate { .. });
        if holds && right {
            Verdict::Met
        } else if wrong && (is_rate || !holds) {
            Verdict::Missed
        } else {
            Verdict::NotClear
        }
    }
}

#[cfg(test)]
mod tests;
