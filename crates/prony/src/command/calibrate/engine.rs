//! The load engine on the reference server: what a request costs, and the schedule lag at rising rates.

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use prony_load::LoadPlan;
use prony_model::{
    Arrivals, LoadResult, LoadShape, MachineNoise, Outcome, Schedule, Seconds, ServerCost,
};
use prony_server::Sampler;
use prony_traffic::{HttpUrl, RequestParts};
use serde::Serialize;

use super::bench::CalibrationBench;
use super::timing::Percentiles;
use crate::reference_server::ReferenceServer;

const CONNECTIONS: usize = 64;
/// The least share of the due requests that counts as a rate kept up.
const KEPT_UP: f64 = 0.99;

/// A closed loop of 64 connections from one thread, with a small response.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Engine {
    /// Which event loop ran.
    #[serde(rename = "loop")]
    pub(crate) event_loop: String,
    /// How long Prony measured, in seconds.
    pub(crate) duration_s: f64,
    /// Responses per second.
    pub(crate) rate_per_s: f64,
    /// What a request cost the generator.
    pub(crate) generator: Option<RequestCost>,
    /// The generator's system calls per request.
    pub(crate) system_calls: Option<f64>,
    /// The share (0 to 1) of the time for which the generator was busy.
    pub(crate) generator_busy: f64,
    /// What a request cost the server.
    pub(crate) server: Option<RequestCost>,
    /// The share (0 to 1) of the time for which the server kept its CPUs busy.
    pub(crate) server_busy: f64,
    /// From the send of a request to the last byte of its response, in this closed loop.
    pub(crate) latency_ns: Option<Percentiles>,
}

impl Engine {
    /// Measures it, and the noise of the machine meanwhile.
    pub(crate) fn measure(
        bench: &CalibrationBench<'_>,
    ) -> Result<(Self, MachineNoise), Box<dyn Error>> {
        let times = &bench.times;
        let loaded = Loaded::by(bench, |plan| {
            plan.with(|plan| {
                plan.load.shape = LoadShape::Closed;
                plan.load.connections = CONNECTIONS;
                plan.load.duration = Some(Seconds(times.engine));
                plan.overtime = true;
                plan.load.warmup = Seconds(times.engine_warmup);
            })
        })?;
        Ok((Self::of(&loaded), loaded.noise))
    }

    fn of(loaded: &Loaded) -> Self {
        let (result, server) = (&loaded.result, &loaded.server);
        let responded = result.outcomes[Outcome::Ok];
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

/// The schedule lag at rising rates. Each way of waiting ends with the first rate that was not kept up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ScheduleLag {
    /// With a generator that sleeps until a request is due.
    pub(crate) sleeping: Vec<AtRate>,
    /// With one that busy-waits for that (`--spin`).
    pub(crate) spinning: Vec<AtRate>,
}

/// A load of even arrivals from one thread over 64 connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AtRate {
    /// Requests due per second.
    pub(crate) rate_per_s: f64,
    /// The share of the due requests that was sent.
    pub(crate) rate_ratio: f64,
    /// From the instant at which a request was due and a connection free until it was sent.
    pub(crate) lag_ns: Option<Percentiles>,
    /// The share (0 to 1) of the time for which the generator was busy, without busy-waiting.
    pub(crate) generator_busy: f64,
    /// The evidence that the generator was the bottleneck, if it was.
    pub(crate) client_limited_by: Option<String>,
}

impl AtRate {
    /// Whether the generator kept up the rate.
    pub(crate) fn is_kept_up(&self) -> bool {
        self.rate_ratio >= KEPT_UP && self.client_limited_by.is_none()
    }
}

impl ScheduleLag {
    /// Measures both ways.
    pub(crate) fn measure(bench: &CalibrationBench<'_>) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            sleeping: rising(bench, false)?,
            spinning: rising(bench, true)?,
        })
    }
}

fn rising(bench: &CalibrationBench<'_>, spin: bool) -> Result<Vec<AtRate>, Box<dyn Error>> {
    let mut found: Vec<AtRate> = Vec::new();
    for &per_s in bench.times.rates {
        let goes_on = found.last().is_none_or(AtRate::is_kept_up);
        if !goes_on || bench.is_interrupted() {
            break;
        }
        found.push(at(bench, per_s, spin)?);
    }
    Ok(found)
}

fn at(bench: &CalibrationBench<'_>, per_s: f64, spin: bool) -> Result<AtRate, Box<dyn Error>> {
    let times = &bench.times;
    let loaded = Loaded::by(bench, |plan| {
        plan.with(|plan| {
            plan.load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Even, per_s));
            plan.load.connections = CONNECTIONS;
            plan.load.max_connections = Some(CONNECTIONS);
            plan.load.duration = Some(Seconds(times.duration_at(per_s)));
            plan.load.warmup = Seconds(times.rate_warmup);
            plan.load.spin = spin;
        })
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

/// What one request cost a side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RequestCost {
    /// CPU time in user mode, in nanoseconds.
    pub(crate) user_ns: f64,
    /// CPU time in the kernel, in nanoseconds.
    pub(crate) system_ns: f64,
    /// CPU cycles in both modes; `None` if they are not counted.
    pub(crate) cycles: Option<f64>,
    /// Instructions in both modes; `None` if they are not counted.
    pub(crate) instructions: Option<f64>,
}

impl RequestCost {
    /// CPU time in both modes, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> f64 {
        self.user_ns + self.system_ns
    }
}

/// The result of a load on the reference server, and what it cost the server.
struct Loaded {
    result: LoadResult,
    server: ServerCost,
    noise: MachineNoise,
}

impl Loaded {
    /// Loads a new reference server.
    fn by(
        bench: &CalibrationBench<'_>,
        plan: impl FnOnce(LoadPlan) -> LoadPlan,
    ) -> Result<Self, Box<dyn Error>> {
        let mut server = bench.server()?;
        let plan = plan(hello(&server, bench)?);
        let sampler = Sampler::start(server.tree(), &bench.cpus, Sampler::INTERVAL)?;
        let result = prony_load::run(&plan, bench.interrupt, &mut |_| {})?;
        let sampled = sampler.finish(result.loaded_s());
        if let Some(ended) = server.ended() {
            return Err(ended.into());
        }
        let sampled = sampled?;
        Ok(Self {
            result,
            server: sampled.server,
            noise: sampled.noise,
        })
    }

    /// What a request cost the generator; `None` if no response was ok.
    fn generator_cost(&self) -> Option<RequestCost> {
        let cost = &self.result.generator;
        let seconds = [cost.cpu_user_s, cost.cpu_system_s];
        let requests = self.result.outcomes[Outcome::Ok];
        per_request(requests, seconds, [cost.cycles, cost.instructions])
    }

    /// What a request cost the server, the warm-up included.
    fn server_cost(&self) -> Option<RequestCost> {
        let cost = &self.server;
        let warmup = self.result.warmup.as_ref();
        let requests = self.result.outcomes[Outcome::Ok]
            + warmup.map_or(0, |warmup| warmup.outcomes[Outcome::Ok]);
        let seconds = [cost.cpu_user_s, cost.cpu_system_s];
        per_request(requests, seconds, [cost.cycles, cost.instructions])
    }
}

fn per_request(
    requests: u64,
    [user_s, system_s]: [f64; 2],
    [cycles, instructions]: [Option<u64>; 2],
) -> Option<RequestCost> {
    let each = |whole: f64| whole / requests as f64;
    (requests > 0).then(|| RequestCost {
        user_ns: each(user_s * 1e9),
        system_ns: each(system_s * 1e9),
        cycles: cycles.map(|count| each(count as f64)),
        instructions: instructions.map(|count| each(count as f64)),
    })
}

/// The plan of a small response, requested by one thread on the generator's CPU.
fn hello(
    server: &ReferenceServer,
    bench: &CalibrationBench<'_>,
) -> Result<LoadPlan, Box<dyn Error>> {
    let text = format!("http://{}/hello", server.host());
    let url: HttpUrl = text.parse()?;
    let address = server
        .host()
        .parse::<SocketAddr>()
        .map_err(io::Error::other)?;
    let request = RequestParts::new("GET", &url, &[], b"")?;
    Ok(LoadPlan::new(address.into(), text, request)
        .with(|plan| plan.here.cpus = bench.load_cpu().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_shared_by_its_requests() {
        let cost = per_request(4, [4e-6, 8e-6], [Some(400), None]).unwrap();
        assert!((cost.user_ns - 1000.0).abs() < 1e-6 && (cost.cpu_ns() - 3000.0).abs() < 1e-6);
        assert_eq!((cost.cycles, cost.instructions), (Some(100.0), None));
        assert_eq!(per_request(0, [1.0, 1.0], [None, None]), None);
    }
}
