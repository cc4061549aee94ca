//! Figures of some loads only: how a schedule was kept, event streams, and connections that starve.

use prony_model::{Events, LoadResult, LoadShape, Measurement, OpenLoop, Outcome};
use prony_stats::Estimate;

use super::over_rounds::{Merged, WorstRound, over};

/// How the schedule of an open loop was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenFigures {
    /// Requests that were due before their user (or, with a rate, any connection) was free; of all rounds.
    pub queued: u64,
    /// The generator's own delay; `None` if no request was sent.
    pub lag: Option<Lag>,
    /// The due requests by what happened to them; `None` in records from before they were counted.
    pub sent: Option<SentFigures>,
}

/// The generator's own delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    /// The median, in nanoseconds.
    pub p50_ns: f64,
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: f64,
    /// Whether it is of the worst round, because the rounds have no histograms to merge; otherwise it is of all rounds merged.
    pub(crate) of_worst_round: bool,
}

/// What happened to the requests that were due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentFigures {
    /// Requests that were due in the measured part of all rounds.
    pub due: u64,
    /// The share (0 to 1) of them that were sent, in the round with the least.
    pub rate_ratio: f64,
    /// Requests of all rounds that were due while every connection was busy and no more could be opened.
    pub bound_hits: u64,
    /// The most connections that were open at once in any round.
    pub most_connections: u64,
}

/// If at least this share of the due requests was sent, the scheduled rate was reached.
pub(crate) const RATE_MADE: f64 = 0.999;

impl OpenFigures {
    /// `None` if the load was not an open loop.
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        let open = rounds.iter().filter_map(|round| round.load.open.as_ref());
        open.clone().next()?;
        Some(Self {
            queued: open.clone().map(|open| open.queued).sum(),
            lag: Lag::of(rounds),
            sent: SentFigures::of(open.filter(|open| open.due > 0)),
        })
    }

    /// Whether the scheduled rate was reached; true if that is unknown.
    pub fn rate_made(&self) -> bool {
        self.sent.is_none_or(|sent| sent.rate_ratio >= RATE_MADE)
    }
}

impl Lag {
    fn of(rounds: &[&Measurement]) -> Option<Self> {
        let worst = WorstRound::of(rounds, |load| load.open.as_ref()?.schedule_lag_ns.as_ref())?;
        let open = rounds.iter().filter_map(|round| round.load.open.as_ref());
        let begun = open.filter(|open| open.schedule_lag_ns.is_some());
        let merged = Merged::of(begun.map(|open| open.schedule_lag_histogram.as_str()));
        Some(match merged.histogram.summary() {
            Some(lag) if merged.unreadable == 0 => Self {
                p50_ns: lag.p50 as f64,
                p99_ns: lag.p99 as f64,
                of_worst_round: false,
            },
            _ => Self {
                p50_ns: worst.p50_ns,
                p99_ns: worst.p99_ns,
                of_worst_round: true,
            },
        })
    }
}

impl SentFigures {
    fn of<'a>(open: impl Iterator<Item = &'a OpenLoop> + Clone) -> Option<Self> {
        let least = open.clone().map(|open| open.rate_ratio).reduce(f64::min)?;
        Some(Self {
            due: open.clone().map(|open| open.due).sum(),
            rate_ratio: least,
            bound_hits: open.clone().map(|open| open.bound_hits).sum(),
            most_connections: open.map(|open| open.most_connections).max().unwrap_or(0),
        })
    }
}

/// What event streams brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventFigures {
    /// Events of all rounds.
    pub count: u64,
    /// Events per second.
    pub per_s: Estimate,
    /// From the start of a request's latency to its first event; `None` if none came.
    pub first: Option<WorstRound>,
    /// From one event of a stream to its next; `None` if no stream brought two.
    pub gap: Option<WorstRound>,
}

/// The streams that were held open beside the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldFigures {
    /// The requested number.
    pub planned: u64,
    /// How many were open when the load ended, in the round with the fewest.
    pub open_at_end: u64,
    /// What they brought.
    pub events: EventFigures,
}

impl EventFigures {
    /// The events of responses; `None` if they were not read as event streams.
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        Self::among(rounds, |load| load.events.as_ref())
    }

    fn among(rounds: &[&Measurement], events: fn(&LoadResult) -> Option<&Events>) -> Option<Self> {
        let of_rounds = rounds.iter().filter_map(|round| events(&round.load));
        Some(Self {
            count: of_rounds.map(|events| events.count).sum(),
            per_s: over(rounds, |round| Some(events(&round.load)?.per_s))?,
            first: WorstRound::of(rounds, |load| events(load)?.first_ns.as_ref()),
            gap: WorstRound::of(rounds, |load| events(load)?.gap_ns.as_ref()),
        })
    }
}

impl HeldFigures {
    /// `None` if there were none.
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        let held = rounds
            .iter()
            .filter_map(|round| round.load.streams.as_ref());
        Some(Self {
            planned: held.clone().map(|held| held.planned).max()?,
            open_at_end: held.map(|held| held.open_at_end).min()?,
            events: EventFigures::among(rounds, |load| {
                load.streams.as_ref().map(|held| &held.events)
            })?,
        })
    }
}

/// How many requests of a closed loop were being served at a time: a check of its latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Awaiting {
    /// The mean, by Little's law: the ok responses per second times their mean latency.
    pub(crate) mean: f64,
    /// The greatest possible number.
    pub(crate) possible: usize,
    /// What is counted: connections, or with pipelining requests.
    pub(crate) of: &'static str,
    /// Whether most requests had a new connection.
    pub(crate) reconnecting: bool,
}

impl Awaiting {
    /// `None` if the load was not a plain closed loop, or no latency is known.
    pub(super) fn of(rounds: &[&Measurement], reconnects_per_request: f64) -> Option<Self> {
        let load = &rounds.first()?.load.load;
        let total = |of: fn(&Measurement) -> f64| rounds.iter().map(|round| of(round)).sum::<f64>();
        let responding_ns = total(|round| {
            let ok = round.load.outcomes[Outcome::Ok] as f64;
            round
                .load
                .latency_ns
                .as_ref()
                .map_or(0.0, |it| it.mean * ok)
        });
        rounds
            .iter()
            .find(|round| round.load.latency_ns.is_some())?;
        let measured_ns = total(|round| round.load.duration_s * 1e9);
        (load.shape == LoadShape::Closed && measured_ns > 0.0).then(|| Self {
            mean: responding_ns / measured_ns,
            possible: load.connections * load.pipeline,
            of: match load.pipeline {
                1 => "connections",
                _ => "requests",
            },
            reconnecting: load.requests_per_connection == Some(1) || reconnects_per_request > 0.5,
        })
    }
}
