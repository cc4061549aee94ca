//! What the load engine costs for each request: its own load on the reference server.

use std::error::Error;

use prony_load::LoadPlan;
use prony_model::{LoadShape, MachineNoise};
use serde::Serialize;

use super::Bench;
use super::cost::{Loaded, RequestCost};
use super::percentiles::Percentiles;

const CONNECTIONS: usize = 64;

/// One thread of the engine in a closed loop of 64 connections, asking the reference server for a small
/// response.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Engine {
    /// Which event loop ran.
    #[serde(rename = "loop")]
    pub event_loop: String,
    /// How long was measured, in seconds.
    pub duration_s: f64,
    /// Responses a second.
    pub rate_per_s: f64,
    /// What a request cost the generator.
    pub generator: Option<RequestCost>,
    /// The generator's system calls for a request.
    pub system_calls: Option<f64>,
    /// The share (0 to 1) of the time that the generator was busy.
    pub generator_busy: f64,
    /// What a request cost the server.
    pub server: Option<RequestCost>,
    /// The share (0 to 1) of the time that the server kept its CPUs busy.
    pub server_busy: f64,
    /// From the send of a request to the last byte of its response, in this closed loop.
    pub latency_ns: Option<Percentiles>,
}

impl Engine {
    /// Measures it; also tells what else the machine did meanwhile.
    pub fn measure(bench: &Bench<'_>) -> Result<(Self, MachineNoise), Box<dyn Error>> {
        let limits = &bench.limits;
        let loaded = Loaded::by(bench, |plan| LoadPlan {
            shape: LoadShape::Closed,
            connections: CONNECTIONS,
            duration: Some(limits.engine),
            warmup: limits.engine_warmup,
            ..plan
        })?;
        Ok((Self::of(&loaded), loaded.noise))
    }

    fn of(loaded: &Loaded) -> Self {
        let (result, server) = (&loaded.result, &loaded.server);
        let responded = result.outcomes[prony_model::Outcome::Ok];
        let summary = result.latency_ns.as_ref();
        Self {
            event_loop: result.generator.event_loop.clone(),
            duration_s: result.duration_s,
            rate_per_s: result.rate_per_s,
            generator: loaded.generator_cost(),
            system_calls: (responded > 0)
                .then(|| result.generator.system_calls as f64 / responded as f64),
            generator_busy: result.generator.busy_max,
            server: loaded.server_cost(),
            server_busy: server.busy_share,
            latency_ns: summary.and_then(|it| Percentiles::from_summary(responded, it)),
        }
    }
}
