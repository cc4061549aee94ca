//! The figures of one row: how they are computed from rounds, here and in the document.

use std::collections::BTreeMap;

use prony_model::{FigureKind, Measurement, PublishedFigure, RoundSummary};
use prony_present::number::{self, bytes, count, duration, transfer};
use prony_stats::{Estimate, Ratio, mean, median};

use crate::figures::Percentile;
use crate::flags::error_words;
use crate::table::ServerRow;

/// A figure as measured here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The figure.
    pub value: f64,
    /// The spread over the rounds: the interval of a median, otherwise from the lowest round to the
    /// highest. `None` for one round, and for a figure without rounds.
    pub spread: Option<(f64, f64)>,
    /// The interval that must not overlap another's for the two to be told apart; `None` if it is unknown.
    pub interval: Option<(f64, f64)>,
    /// The figure of each round.
    pub rounds: Vec<(u32, f64)>,
    /// Its parts, if they matter: errors by kind.
    pub detail: String,
}

/// How a figure is computed from its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregation {
    /// The table's own summary: median or mean.
    Summary,
    /// From the merged histograms of all rounds.
    Merged,
    /// The maximum of the rounds.
    Highest,
    /// The sum of all rounds.
    Sum,
    /// The median of all starts.
    Starts,
    /// A figure of the build, which has no rounds.
    Build,
    /// The ratio of two summaries.
    Share,
}

/// The properties of a figure, in every table.
pub(super) struct About {
    /// The title of its column; a share adds `of BASE`.
    pub title: &'static str,
    /// Formats it with its unit.
    pub shown: fn(f64) -> String,
    /// How it is computed from its rounds.
    pub aggregation: Aggregation,
    /// Its kind, which decides what limits it. The mean latency of a closed loop is its pace in other words.
    pub kind: FigureKind,
}

pub(super) fn about(figure: PublishedFigure) -> About {
    use Aggregation::*;
    use FigureKind::{Latency, Other, Pace};
    use PublishedFigure::*;
    let errors = |value: f64| number::exact(value.max(0.0).round() as u64);
    let (title, shown, aggregation, kind): (_, fn(f64) -> String, _, _) = match figure {
        Rate => ("requests/s", count, Summary, Pace),
        Transfer => ("transfer", transfer, Summary, Pace),
        LatencyMean => ("mean latency", duration, Merged, Pace),
        LatencyStdev => ("latency stdev", duration, Merged, Latency),
        LatencyMax => ("max latency", duration, Highest, Latency),
        LatencyP95 => ("p95 latency", duration, Merged, Latency),
        LatencyP99 => ("p99 latency", duration, Merged, Latency),
        WithinStdev => ("± stdev", number::share, Merged, Latency),
        TimePerRequest => ("time per request", duration, Summary, Pace),
        QueuedRequests => ("queued requests", count, Summary, Latency),
        Errors => ("errors", errors, Sum, Latency),
        Startup => ("startup", duration, Starts, Other),
        ArtefactBytes => ("artefact", bytes, Build, Other),
        PeakMemory => ("peak memory", bytes, Highest, Other),
        RateShare => ("requests, % of", number::share, Share, Pace),
        TransferShare => ("transfer, % of", number::share, Share, Pace),
    };
    About {
        title,
        shown,
        aggregation,
        kind,
    }
}

pub(super) fn aggregation(figure: PublishedFigure) -> Aggregation {
    about(figure).aggregation
}

/// The results of one server on one workload.
pub(super) struct Own<'a> {
    /// The measured rounds, ascending.
    pub rounds: Vec<(u32, &'a Measurement)>,
    /// Their summary.
    pub summed: &'a ServerRow,
}

impl Own<'_> {
    /// A figure; shares refer to `base`. `None` if it was not measured.
    pub fn measured(
        &self,
        figure: PublishedFigure,
        summary: RoundSummary,
        base: Option<&Own>,
    ) -> Option<Measured> {
        match aggregation(figure) {
            Aggregation::Share => share(self, base?, whole(figure), summary),
            Aggregation::Build => Some(exact(self.summed.server.artefact_bytes? as f64)),
            Aggregation::Starts => self
                .of_rounds(figure, Aggregation::Starts, summary)
                .or_else(|| self.starts()),
            aggregation => self.of_rounds(figure, aggregation, summary),
        }
    }

    /// For a kept server whose process was started by an attempt that does not count.
    fn starts(&self) -> Option<Measured> {
        let startup = self.summed.figures.startup_ns?;
        let interval = (startup.n > 1).then_some((startup.low, startup.high));
        Some(Measured {
            value: startup.median,
            spread: interval,
            interval,
            ..Measured::default()
        })
    }

    fn of_rounds(
        &self,
        figure: PublishedFigure,
        aggregation: Aggregation,
        summary: RoundSummary,
    ) -> Option<Measured> {
        let rounds: Vec<(u32, f64)> = self
            .rounds
            .iter()
            .filter_map(|(round, measurement)| Some((*round, of_round(figure, measurement)?)))
            .filter(|(_, value)| value.is_finite())
            .collect();
        let values: Vec<f64> = rounds.iter().map(|(_, value)| *value).collect();
        let estimate = Estimate::of(&values)?;
        let several = estimate.n > 1;
        let interval = several.then_some((estimate.low, estimate.high));
        let is_median = match aggregation {
            Aggregation::Summary => summary == RoundSummary::Median,
            aggregation => aggregation == Aggregation::Starts,
        };
        Some(Measured {
            value: match aggregation {
                Aggregation::Merged => self.merged(figure)?,
                Aggregation::Highest => highest(&values),
                Aggregation::Sum => values.iter().sum(),
                _ if is_median => estimate.median,
                _ => finite(mean(&values))?,
            },
            spread: if is_median {
                interval
            } else {
                several.then(|| (lowest(&values), highest(&values)))
            },
            interval,
            rounds,
            detail: match figure {
                PublishedFigure::Errors => error_words(&self.summed.figures),
                _ => String::new(),
            },
        })
    }

    fn merged(&self, figure: PublishedFigure) -> Option<f64> {
        let figures = &self.summed.figures;
        let latency = figures.latency.as_ref()?;
        match figure {
            PublishedFigure::LatencyMean => Some(latency.mean),
            PublishedFigure::LatencyStdev => Some(latency.stdev),
            PublishedFigure::LatencyP95 => {
                let is_known = figures.has_responses_beyond(0.05);
                is_known.then_some(latency.p95 as f64)
            }
            PublishedFigure::LatencyP99 => figures.percentile(Percentile::P99),
            _ => figures.within_stdev,
        }
    }
}

fn of_round(figure: PublishedFigure, round: &Measurement) -> Option<f64> {
    use PublishedFigure::*;
    let load = &round.load;
    let latency = load.latency_ns.as_ref();
    match figure {
        Rate => Some(load.rate_per_s),
        Transfer => Some(load.bytes_read_per_s()),
        LatencyMean => latency.map(|latency| latency.mean),
        LatencyStdev => latency.map(|latency| latency.stdev),
        LatencyMax => latency.map(|latency| latency.max as f64),
        LatencyP95 => latency.map(|latency| latency.p95 as f64),
        LatencyP99 => latency.map(|latency| latency.p99 as f64),
        WithinStdev => latency.map(|_| load.within_stdev),
        TimePerRequest => Some(load.duration_s * 1e9 / load.requests as f64),
        QueuedRequests => load.open.as_ref().map(|open| open.queued as f64),
        Errors => Some(load.outcomes.errors() as f64),
        Startup => round.startup_ns.map(|ns| ns as f64),
        PeakMemory => Some(round.server.as_ref()?.peak_memory_bytes as f64),
        ArtefactBytes | RateShare | TransferShare => None,
    }
}

/// What a share is a share of.
fn whole(share: PublishedFigure) -> PublishedFigure {
    match share {
        PublishedFigure::TransferShare => PublishedFigure::Transfer,
        _ => PublishedFigure::Rate,
    }
}

/// The ratio of the two summaries. Its interval is that of the ratios within the rounds that both have; without
/// common rounds it is as wide as the two intervals allow.
fn share(
    part: &Own,
    base: &Own,
    figure: PublishedFigure,
    summary: RoundSummary,
) -> Option<Measured> {
    let (part, base) = (
        part.measured(figure, summary, None)?,
        base.measured(figure, summary, None)?,
    );
    let value = finite(part.value / base.value)?;
    let by_round: BTreeMap<u32, f64> = base.rounds.iter().copied().collect();
    let rounds = part.rounds.iter().filter_map(|(round, part)| {
        let share = finite(part / by_round.get(round)?)?;
        Some((*round, share))
    });
    let rounds: Vec<(u32, f64)> = rounds.collect();
    let shares: Vec<(f64, f64)> = rounds.iter().map(|(_, share)| (*share, 1.0)).collect();
    let paired = Ratio::paired(&shares).map(|ratio| (ratio.low, ratio.high));
    let ends = |part: Option<(f64, f64)>, base: Option<(f64, f64)>| {
        let ((low, high), (base_low, base_high)) = (part?, base?);
        Some((finite(low / base_high)?, finite(high / base_low)?))
    };
    Some(Measured {
        value,
        spread: paired.or_else(|| ends(part.spread, base.spread)),
        interval: paired.or_else(|| ends(part.interval, base.interval)),
        rounds,
        detail: String::new(),
    })
}

/// A figure that is the same in each round.
fn exact(value: f64) -> Measured {
    Measured {
        value,
        interval: Some((value, value)),
        ..Measured::default()
    }
}

/// A figure from the values that a document gives for it. A document has no histograms to merge, so the median replaces them.
pub(super) fn published(
    figure: PublishedFigure,
    summary: RoundSummary,
    values: &[f64],
) -> Option<f64> {
    let values: Vec<f64> = values.iter().copied().filter_map(finite).collect();
    match aggregation(figure) {
        _ if values.is_empty() => None,
        Aggregation::Highest => Some(highest(&values)),
        Aggregation::Sum => Some(values.iter().sum()),
        Aggregation::Summary if summary == RoundSummary::Mean => finite(mean(&values)),
        _ => median(&values),
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn lowest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}
