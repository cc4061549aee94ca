//! How late requests are begun at a rate, by the generator's own doing.

use std::error::Error;

use prony_load::LoadPlan;
use prony_model::{Arrivals, LoadShape, Schedule};
use serde::Serialize;

use super::Bench;
use super::cost::Loaded;
use super::percentiles::Percentiles;

const CONNECTIONS: usize = 64;
/// A rate of which less than that was sent was not kept up.
const KEPT_UP: f64 = 0.99;

/// The schedule lag at rising rates; each way ends with the first rate that was not kept up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScheduleLag {
    /// With a generator that sleeps until an instant.
    pub sleeping: Vec<AtRate>,
    /// With one that busy-waits for it (`--spin`).
    pub spinning: Vec<AtRate>,
}

/// A load of even arrivals from one thread over 64 connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtRate {
    /// Requests that were due a second.
    pub rate_per_s: f64,
    /// The share of them that was begun.
    pub rate_ratio: f64,
    /// From the instant at which a request was due and a connection free to the one at which it was begun.
    pub lag_ns: Option<Percentiles>,
    /// The share (0 to 1) of the time that the generator was busy, busy-waiting apart.
    pub generator_busy: f64,
    /// What shows that the generator was the limit, where it was.
    pub client_limited_by: Option<String>,
}

impl AtRate {
    /// Whether the rate that was asked for was made.
    pub fn is_kept_up(&self) -> bool {
        self.rate_ratio >= KEPT_UP && self.client_limited_by.is_none()
    }
}

impl ScheduleLag {
    /// Measures both ways.
    pub fn measure(bench: &Bench<'_>) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            sleeping: rising(bench, false)?,
            spinning: rising(bench, true)?,
        })
    }
}

fn rising(bench: &Bench<'_>, spin: bool) -> Result<Vec<AtRate>, Box<dyn Error>> {
    let mut found: Vec<AtRate> = Vec::new();
    for &per_s in bench.limits.rates {
        let goes_on = found.last().is_none_or(AtRate::is_kept_up);
        if !goes_on || bench.is_interrupted() {
            break;
        }
        found.push(at(bench, per_s, spin)?);
    }
    Ok(found)
}

fn at(bench: &Bench<'_>, per_s: f64, spin: bool) -> Result<AtRate, Box<dyn Error>> {
    let limits = &bench.limits;
    let loaded = Loaded::by(bench, |plan| LoadPlan {
        shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, per_s)),
        connections: CONNECTIONS,
        max_connections: CONNECTIONS,
        duration: Some(limits.duration_at(per_s)),
        warmup: limits.rate_warmup,
        spin,
        ..plan
    })?;
    let result = loaded.result;
    let open = result.open.unwrap_or_default();
    let lag = open.schedule_lag_ns.as_ref();
    Ok(AtRate {
        rate_per_s: per_s,
        rate_ratio: open.rate_ratio,
        lag_ns: lag.and_then(|lag| Percentiles::from_summary(open.sent, lag)),
        generator_busy: result.generator.busy_max,
        client_limited_by: result.generator.client_limited_by,
    })
}
