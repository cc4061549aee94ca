//! How the schedule of an open loop was kept.

use prony_model::{Measurement, OpenLoop};

use super::merged::Merged;
use super::worst::WorstRound;
use crate::format;

/// How the schedule of an open loop was kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenFigures {
    /// Ok requests whose instant had passed when their user, or in a rate any connection, became
    /// free; of all rounds.
    pub queued: u64,
    /// The generator's own delay; `None` where no request was begun.
    pub lag: Option<Lag>,
    /// What was made of the requests that were asked for; `None` in records from before they were
    /// counted.
    pub kept: Option<Kept>,
}

/// The generator's own delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lag {
    /// The median, in nanoseconds.
    pub p50_ns: f64,
    /// What 99 % did not exceed, in nanoseconds.
    pub p99_ns: f64,
    /// Whether it is of the worst round, because a round has no histogram that could be merged; else it is of
    /// all rounds merged.
    pub of_worst_round: bool,
}

/// What was made of the requests that a schedule asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Requests that were due in the measured part of all rounds.
    pub asked: u64,
    /// The share (0 to 1) of them that were begun, in the round in which it was least.
    pub rate_ratio: f64,
    /// Requests of all rounds that were due when every connection was busy and no more might be
    /// opened.
    pub bound_hits: u64,
    /// The most connections that were open at a time in any round.
    pub most_connections: u64,
}

/// Where the generator's own delay is more than this share of the latency, it is worth a word.
const LAG_WORTH_TELLING: f64 = 0.2;
/// Where less than this share of the requests asked for was begun, the rate was not made.
const RATE_MADE: f64 = 0.999;
/// Where a greater share of the requests found every connection busy, it is worth a word.
const BOUND_WORTH_TELLING: f64 = 0.001;

impl OpenFigures {
    /// `None` where the load was no open loop.
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        let open = rounds.iter().filter_map(|round| round.load.open.as_ref());
        open.clone().next()?;
        Some(Self {
            queued: open.clone().map(|open| open.queued).sum(),
            lag: Lag::of(rounds),
            kept: Kept::of(open.filter(|open| open.asked > 0)),
        })
    }

    /// Whether the rate that was asked for was made, as far as that is known.
    pub fn rate_made(&self) -> bool {
        self.kept.is_none_or(|kept| kept.rate_ratio >= RATE_MADE)
    }

    /// What makes the figures doubtful, a few words each.
    pub(super) fn flags(&self, median_latency_ns: Option<f64>) -> Vec<String> {
        let kept = self.kept.filter(|_| !self.rate_made()).map(Kept::rate_flag);
        let bound = self.kept.and_then(Kept::bound_flag);
        let lag = median_latency_ns.and_then(|latency| self.lag_flag(latency));
        [kept, bound, lag].into_iter().flatten().collect()
    }

    /// Says where much of the latency is the generator's own delay.
    fn lag_flag(&self, latency_ns: f64) -> Option<String> {
        let lag_ns = self.lag?.p50_ns;
        (lag_ns > LAG_WORTH_TELLING * latency_ns).then(|| {
            let (lag, latency) = (format::duration(lag_ns), format::duration(latency_ns));
            format!("{lag} of the median {latency} are the generator's own delay")
        })
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

impl Kept {
    fn of<'a>(open: impl Iterator<Item = &'a OpenLoop> + Clone) -> Option<Self> {
        let least = open.clone().map(|open| open.rate_ratio).reduce(f64::min)?;
        Some(Self {
            asked: open.clone().map(|open| open.asked).sum(),
            rate_ratio: least,
            bound_hits: open.clone().map(|open| open.bound_hits).sum(),
            most_connections: open.map(|open| open.most_connections).max().unwrap_or(0),
        })
    }

    /// The share that was begun, never rounded up to what was asked for: `99.8 %`.
    pub fn rate_ratio_text(&self) -> String {
        match self.rate_ratio {
            made if made >= RATE_MADE => "100 %".to_owned(),
            ratio => format!("{:.1} %", (ratio * 1000.0).floor() / 10.0),
        }
    }

    fn rate_flag(self) -> String {
        let ratio = self.rate_ratio_text();
        format!("the rate was not made: in a round only {ratio} of what was due was sent")
    }

    fn bound_flag(self) -> Option<String> {
        let share = self.bound_hits as f64 / self.asked as f64;
        (share > BOUND_WORTH_TELLING).then(|| {
            format!(
                "{} of requests found every connection busy",
                format::share(share)
            )
        })
    }
}
