//! How many requests of a closed loop were being served at a time: a check of its latency.

use prony_model::{LoadShape, LoadSpec, Measurement, Outcome};

use super::figures::reconnects_per_request;
use crate::format;

/// How many requests of a closed loop awaited a response that came, at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Awaiting {
    /// In the mean: by Little's law, the ok responses a second times their mean latency.
    mean: f64,
    /// How many there could be.
    possible: usize,
    /// What there are so many of: connections, or with pipelining requests.
    of: &'static str,
    /// Whether connections were mostly made anew for each request.
    reconnecting: bool,
}

/// Where fewer than this share awaited responses, the latency is not that of all.
const MOST_AWAITING: f64 = 0.7;

impl Awaiting {
    /// `None` where the load was no closed loop, users had thinking to do, or no latency was told.
    pub fn of(rounds: &[&Measurement]) -> Option<Self> {
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
            reconnecting: is_made_anew(load) || reconnects_per_request(rounds) > 0.5,
        })
    }

    /// Says where the latency is that of few.
    pub fn flag(self) -> Option<String> {
        let mean = self.mean.round();
        if self.possible == 1 || mean >= MOST_AWAITING * self.possible as f64 {
            return None;
        }
        let others = match self.reconnecting {
            true => "the others were being made anew, which is in no latency",
            false => "the others waited longer than any latency tells",
        };
        Some(format!(
            "about {mean} of {} {} were being served at a time: {others}",
            format::exact(self.possible as u64),
            self.of
        ))
    }
}

fn is_made_anew(load: &LoadSpec) -> bool {
    load.requests_per_connection == Some(1)
}
