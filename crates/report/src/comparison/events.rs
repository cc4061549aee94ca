//! What event streams brought.

use prony_model::{Events, LoadResult, Measurement};
use prony_stats::Estimate;

use super::figures::over;
use super::worst::WorstRound;
use crate::format;

/// What event streams brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventFigures {
    /// Events of all rounds.
    pub count: u64,
    /// Events a second.
    pub per_s: Estimate,
    /// From the start of a request's latency to its first event; `None` where none came.
    pub first: Option<WorstRound>,
    /// From one event of a stream to its next; `None` where no stream brought two.
    pub gap: Option<WorstRound>,
}

/// The streams that were held open beside the load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldFigures {
    /// How many were to be held.
    pub asked: u64,
    /// How many were open when the load ended, in the round with the fewest.
    pub open_at_end: u64,
    /// What they brought.
    pub events: EventFigures,
}

impl EventFigures {
    /// Of the responses; `None` where they were not read as event streams.
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
    /// `None` where no stream was to be held.
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        let held = rounds
            .iter()
            .filter_map(|round| round.load.streams.as_ref());
        Some(Self {
            asked: held.clone().map(|held| held.asked).max()?,
            open_at_end: held.map(|held| held.open_at_end).min()?,
            events: EventFigures::among(rounds, |load| {
                load.streams.as_ref().map(|held| &held.events)
            })?,
        })
    }

    /// Says where streams were lost.
    pub(super) fn flag(self) -> Option<String> {
        (self.open_at_end < self.asked).then(|| {
            format!(
                "{} of {} held streams were open at the end",
                format::exact(self.open_at_end),
                format::exact(self.asked)
            )
        })
    }
}
