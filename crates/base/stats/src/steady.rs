//! Whether a server under load has stopped getting faster.

use crate::correlation::{Correlation, spearman};
use crate::median::median;

/// Nothing is decided before a load has run this long, in seconds: looks compare parts of its second half, which
/// must outlast a plateau of one second.
const LEAST_S: f64 = 2.0;

/// If the server sets the pace, nothing is decided before it has used this much CPU time, in seconds: with a tenth of a
/// CPU it warms up at a tenth of the speed.
const LEAST_CPU_S: f64 = 1.0;

/// Once a load has run this long, in seconds, [`LEAST_CPU_S`] no longer applies: some servers need little CPU time.
const LONG_S: f64 = 4.0 * LEAST_S;

/// From one look to the next, the load's duration grows at least by this factor.
const LOOK_SPACING: f64 = 1.125;

/// The least time until a load on a server that is warm from the start is found steady, in seconds: two looks.
pub const LEAST_WARM_UP_S: f64 = LEAST_S * LOOK_SPACING;

/// This many looks in a row must find no improvement: one may be luck.
const LEVEL_LOOKS: u32 = 2;

/// A smaller improvement, as a share, does not count.
const LEAST_GAIN: f64 = 0.04;

/// A server counts as warm once it is this close to its final level, as a share.
const WARM_MARGIN: f64 = 0.08;

/// From this share on, a difference in rate is attributed to the server. A smaller one may come from other programs,
/// which hardly affect the CPU time per response, so it only prolongs the search.
const CLEAR_RATE_CHANGE: f64 = 0.25;

/// Fewer rounds show no trend.
const LEAST_TREND: usize = 5;

/// The significance level: how often rounds that only fluctuate may pass for rounds that improve.
const SIGNIFICANCE: f64 = 0.02;

/// The progress of a load: counts since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// When, in seconds since it began.
    pub at_s: f64,
    /// Ok responses so far.
    pub ok: f64,
    /// CPU time that the server has used so far, in seconds.
    pub cpu_s: f64,
}

/// What sets the pace of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The server: a faster one sends more responses.
    Server,
    /// A schedule: a faster server only uses less CPU time per response.
    Schedule,
}

/// What a load has shown so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// It has not run long enough to tell.
    TooEarly,
    /// The server is still getting faster, or only one look found that it is not.
    Improving,
    /// The server no longer gets faster.
    Steady,
}

/// The course of a load on a server that may still be warming up.
///
/// Each look compares the last quarter of the load with the quarter before. The server has improved if its rate rose, or
/// its CPU time per response fell, by 4 % or more, plus a margin for chance, which is wide if responses are few. The
/// time between looks grows with the load, so a long warm-up needs long evidence. Two looks in a row must agree.
#[derive(Clone, Debug)]
pub struct Course {
    pace: Pace,
    readings: Vec<Reading>,
    next_look_s: f64,
    level_looks: u32,
}

impl Course {
    /// The course of a load that begins now.
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            readings: vec![Reading::default()],
            next_look_s: LEAST_S,
            level_looks: 0,
        }
    }

    /// Adds a reading, unless it is no later than the last one; returns what the load has shown so far.
    pub fn push(&mut self, reading: Reading) -> Warmth {
        let last = self.readings.last().map_or(0.0, |last| last.at_s);
        if reading.at_s > last {
            self.readings.push(reading);
            self.look();
        }
        self.warmth()
    }

    fn look(&mut self) {
        let now = self.end_s();
        if now < self.next_look_s || !self.has_run_long_enough() {
            return;
        }
        self.next_look_s = now * LOOK_SPACING;
        self.level_looks = if self.has_gained(LEAST_GAIN) {
            0
        } else {
            self.level_looks + 1
        };
    }

    /// Whether the load has run long enough to show whether the server gets faster.
    fn has_run_long_enough(&self) -> bool {
        let last = self.readings[self.readings.len() - 1];
        let is_enough = self.pace == Pace::Schedule || last.cpu_s >= LEAST_CPU_S;
        last.at_s >= LEAST_S && (is_enough || last.at_s >= LONG_S)
    }

    /// Whether the server got faster in the last quarter of the load: the verdict on a load that ends before the server
    /// is known to be steady. As it is a single look, the rate must have risen by 25 %, more than another program that
    /// stops is likely to cause.
    pub fn improves(&self) -> bool {
        self.has_gained(CLEAR_RATE_CHANGE)
    }

    fn has_gained(&self, least_rise: f64) -> bool {
        let now = self.end_s();
        let before = self.span(now * 0.5, now * 0.75);
        let after = self.span(now * 0.75, now);
        after.is_better_than(&before, self.pace, least_rise)
    }

    fn warmth(&self) -> Warmth {
        if !self.has_run_long_enough() {
            Warmth::TooEarly
        } else if self.level_looks >= LEVEL_LOOKS {
            Warmth::Steady
        } else {
            Warmth::Improving
        }
    }

    /// How long it has run, in seconds.
    pub fn end_s(&self) -> f64 {
        self.readings.last().map_or(0.0, |last| last.at_s)
    }

    /// How long the server took to get close to the level of the load's second half, in seconds; `None` if the second
    /// half has no ok response.
    pub fn time_to_warm_s(&self) -> Option<f64> {
        let end = self.end_s();
        let level = self.span(end / 2.0, end);
        if level.ok <= 0.0 {
            return None;
        }
        let starts = self.readings.iter().map(|reading| reading.at_s);
        let warm = starts.take_while(|start| *start < end / 2.0).find(|start| {
            // The span grows with time, so that a lucky moment does not end a long warm-up.
            let span = self.span(*start, (start + (start / 2.0).max(0.5)).min(end));
            span.is_near(&level, self.pace)
        });
        Some(warm.unwrap_or(end / 2.0))
    }

    /// What happened between two instants.
    fn span(&self, from_s: f64, to_s: f64) -> Span {
        let (from, to) = (self.at(from_s), self.at(to_s));
        Span {
            seconds: to_s - from_s,
            ok: to.ok - from.ok,
            cpu_s: to.cpu_s - from.cpu_s,
        }
    }

    /// The counts at an instant, interpolated between the readings around it.
    fn at(&self, at_s: f64) -> Reading {
        let next = self.readings.partition_point(|one| one.at_s < at_s);
        let last = self.readings[self.readings.len() - 1];
        let after = self.readings.get(next).copied().unwrap_or(last);
        let before = self.readings[next.saturating_sub(1)];
        let length = after.at_s - before.at_s;
        let share = if length > 0.0 {
            (at_s - before.at_s) / length
        } else {
            0.0
        };
        Reading {
            at_s,
            ok: before.ok + share * (after.ok - before.ok),
            cpu_s: before.cpu_s + share * (after.cpu_s - before.cpu_s),
        }
    }
}

/// A part of a load.
#[derive(Clone, Copy, Debug)]
struct Span {
    seconds: f64,
    ok: f64,
    cpu_s: f64,
}

impl Span {
    fn rate(&self) -> f64 {
        self.ok / self.seconds
    }

    fn cost(&self) -> f64 {
        self.cpu_s / self.ok
    }

    /// How much two counts of this size may differ by chance, as a share.
    fn chance(&self, other: &Span) -> f64 {
        (1.0 / self.ok + 1.0 / other.ok).sqrt()
    }

    fn is_better_than(&self, before: &Span, pace: Pace, least_rise: f64) -> bool {
        if self.seconds <= 0.0 || before.ok <= 0.0 {
            return self.ok > 0.0;
        }
        if self.ok <= 0.0 {
            return false;
        }
        let chance = self.chance(before);
        let rose = self.rate() > before.rate() * (1.0 + least_rise + chance);
        let is_cheaper = self.cost() < before.cost() * (1.0 - LEAST_GAIN - chance);
        is_cheaper || (pace == Pace::Server && rose)
    }

    fn is_near(&self, level: &Span, pace: Pace) -> bool {
        if self.ok <= 0.0 {
            return false;
        }
        let chance = self.chance(level);
        let is_fast = self.rate() >= level.rate() * (1.0 - CLEAR_RATE_CHANGE - chance);
        let is_cheap = self.cost() <= level.cost() * (1.0 + WARM_MARGIN + chance);
        is_cheap && (pace == Pace::Schedule || is_fast)
    }
}

/// One round of a server that keeps running from round to round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Ok responses per second.
    pub rate_per_s: f64,
    /// CPU time per ok response, in seconds.
    pub cpu_per_ok_s: f64,
}

/// Whether the later of two rounds is better by 4 % or more: in CPU time per response and, if the server sets the pace,
/// in rate.
pub fn improved(before: &Round, later: &Round, pace: Pace) -> bool {
    let least = 1.0 + LEAST_GAIN;
    let is_cheaper = before.cpu_per_ok_s > later.cpu_per_ok_s * least;
    is_cheaper && (pace == Pace::Schedule || later.rate_per_s > before.rate_per_s * least)
}

/// Whether a server certainly gets faster from round to round: over at least five rounds its CPU time per response
/// falls (Spearman's rank correlation, at 0.02), and by 4 % or more from the first half to the second. If the server
/// sets the pace, its rate must also rise in the same way.
pub fn improves_over_rounds(rounds: &[Round], pace: Pace) -> bool {
    let rates: Vec<f64> = rounds.iter().map(|round| round.rate_per_s).collect();
    let efficiency: Vec<f64> = rounds
        .iter()
        .map(|round| 1.0 / round.cpu_per_ok_s)
        .collect();
    grows(&efficiency) && (pace == Pace::Schedule || grows(&rates))
}

fn grows(values: &[f64]) -> bool {
    if values.len() < LEAST_TREND {
        return false;
    }
    let places: Vec<f64> = (0..values.len()).map(|place| place as f64).collect();
    let Some(Correlation { rho, p }) = spearman(&places, values) else {
        return false;
    };
    let (early, late) = values.split_at(values.len() / 2);
    let gain = match (median(early), median(late)) {
        (Some(early), Some(late)) => late / early - 1.0,
        _ => 0.0,
    };
    // The p-value is two-sided, and only one side is an improvement.
    rho > 0.0 && p / 2.0 < SIGNIFICANCE && gain >= LEAST_GAIN
}

#[cfg(test)]
mod tests;
