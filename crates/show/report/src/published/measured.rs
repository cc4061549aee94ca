//! The figures of one row: how they are computed from rounds, here and in the document.

use std::collections::BTreeMap;

use prony_model::{FigureKind, Measurement, PublishedFigure, RoundSummary};
use prony_present::number::{self, bytes, count, duration, transfer};
use prony_stats::Known;

use crate::figures::{OpenFigures, Percentile, Relative, estimate};
use crate::flags::error_words;
use crate::table::ServerRow;

/// A figure of a row: as somebody else measured it, or as measured here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub value: f64,
    /// The spread over the rounds: the interval of a median or a share, otherwise from the lowest round to the highest.
    /// `None` for one round, and for a figure without rounds.
    pub spread: Option<(f64, f64)>,
    /// The interval that must not overlap another's for the two to be told apart; `None` if it is unknown.
    pub interval: Option<(f64, f64)>,
    /// The figure of each round.
    pub rounds: BTreeMap<u32, f64>,
    /// Its parts, if they matter: errors by kind.
    pub detail: String,
    /// What it says about the server: some are lower bounds, or invalid because the rate was not reached or responses were
    /// wrong.
    pub known: Known,
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
    /// A ratio within rounds.
    Share,
}

/// The properties of a figure, in every table.
pub(super) struct About {
    /// The title of its column; a share adds `of BASE`.
    pub(crate) title: &'static str,
    /// Formats it with its unit.
    pub(crate) shown: fn(f64) -> String,
    /// How it is computed from its rounds.
    pub(crate) aggregation: Aggregation,
    /// Its kind, which decides what limits it. The mean latency of a closed loop is its pace in other words.
    pub(crate) kind: FigureKind,
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

impl Measured {
    /// A figure from its rounds. A document has no histograms to merge, so their median replaces what `merged` gives here.
    pub(super) fn of(
        rounds: impl Iterator<Item = (u32, f64)>,
        figure: PublishedFigure,
        summary: RoundSummary,
        merged: Option<f64>,
    ) -> Option<Self> {
        use Aggregation::{Highest, Merged, Sum, Summary};
        let rounds: BTreeMap<u32, f64> = rounds.filter(|(_, value)| value.is_finite()).collect();
        let estimate = estimate(&rounds)?;
        let values = || rounds.values().copied();
        let highest = values().fold(f64::NEG_INFINITY, f64::max);
        let interval = (estimate.low, estimate.high);
        let range = (values().fold(f64::INFINITY, f64::min), highest);
        let (value, spread) = match about(figure).aggregation {
            Merged => (merged.unwrap_or(estimate.median), range),
            Highest => (highest, range),
            Sum => (values().sum(), range),
            Summary if summary == RoundSummary::Mean => {
                (values().sum::<f64>() / rounds.len() as f64, range)
            }
            _ => (estimate.median, interval),
        };
        let has_several = rounds.len() > 1;
        value.is_finite().then(|| Self {
            spread: has_several.then_some(spread),
            ..Self::within(value, has_several.then_some(interval), rounds)
        })
    }

    /// A figure with an interval, which is also its spread.
    fn within(value: f64, interval: Option<(f64, f64)>, rounds: BTreeMap<u32, f64>) -> Self {
        Self {
            value,
            spread: interval,
            interval,
            rounds,
            ..Self::default()
        }
    }
}

/// The results of one server on one workload.
pub(super) struct Own<'a> {
    /// The measured rounds, ascending.
    pub(crate) rounds: Vec<(u32, &'a Measurement)>,
    /// Their summary.
    pub(crate) summed: &'a ServerRow,
}

impl Own<'_> {
    /// A figure; shares refer to `base`. `None` if it was not measured.
    pub(super) fn measured(
        &self,
        figure: PublishedFigure,
        summary: RoundSummary,
        base: Option<&Own>,
    ) -> Option<Measured> {
        let figures = &self.summed.figures;
        let About {
            aggregation, kind, ..
        } = about(figure);
        let measured = match aggregation {
            Aggregation::Share => self.share(figure, base?)?,
            Aggregation::Build => {
                let size = self.summed.server.artefact_bytes? as f64;
                Measured {
                    spread: None,
                    ..Measured::within(size, Some((size, size)), BTreeMap::new())
                }
            }
            // A kept process may have been started by an attempt that does not count.
            Aggregation::Starts => {
                let starts = figures.startup_ns?;
                let interval = (starts.n > 1).then_some((starts.low, starts.high));
                Measured::within(starts.median, interval, self.by_round(figure).collect())
            }
            Aggregation::Merged => {
                let merged = self.merged(figure)?;
                Measured::of(self.by_round(figure), figure, summary, Some(merged))?
            }
            _ => Measured::of(self.by_round(figure), figure, summary, None)?,
        };
        let known = self.known(kind);
        Some(Measured {
            known: match base.filter(|_| aggregation == Aggregation::Share) {
                // The ratio of two lower bounds is unknown.
                Some(base) if (known, base.known(kind)) != (Known::Exactly, Known::Exactly) => {
                    Known::Nothing
                }
                _ => known,
            },
            detail: match figure {
                PublishedFigure::Errors => error_words(figures),
                _ => String::new(),
            },
            ..measured
        })
    }

    fn by_round(&self, figure: PublishedFigure) -> impl Iterator<Item = (u32, f64)> {
        let rounds = self.rounds.iter();
        rounds.filter_map(move |(round, one)| Some((*round, of_round(figure, one)?)))
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

    /// A share of the base's figure, within the rounds that both have.
    fn share(&self, figure: PublishedFigure, base: &Own) -> Option<Measured> {
        let whole = match figure {
            PublishedFigure::TransferShare => PublishedFigure::Transfer,
            _ => PublishedFigure::Rate,
        };
        let own: BTreeMap<u32, f64> = self.by_round(whole).collect();
        let base: BTreeMap<u32, f64> = base.by_round(whole).collect();
        let found = Relative::of(&own, &base)?;
        let in_both = own.into_iter();
        let rounds = in_both.filter_map(|(round, own)| Some((round, own / base.get(&round)?)));
        Some(Measured::within(
            found.ratio,
            found.interval,
            rounds.collect(),
        ))
    }

    /// What figures of a kind say about the server.
    fn known(&self, kind: FigureKind) -> Known {
        let open = self.summed.figures.open.as_ref();
        if kind == FigureKind::Other {
            Known::Exactly
        } else if open.is_none_or(OpenFigures::rate_made) {
            self.summed.known(kind)
        } else {
            Known::Nothing
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
