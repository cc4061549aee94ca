//! A load on the reference server, with what it cost the server.

use std::error::Error;
use std::io;

use prony_load::{HttpUrl, LoadPlan, Request};
use prony_model::{LoadResult, MachineNoise, Outcome, ServerCost};
use prony_server::Sampler;
use serde::Serialize;

use super::{Bench, ReferenceServer};

/// What one request cost a side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RequestCost {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: f64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: f64,
    /// CPU cycles in both modes; `None` where they are not counted.
    pub cycles: Option<f64>,
    /// Instructions in both modes, likewise.
    pub instructions: Option<f64>,
}

impl RequestCost {
    /// CPU time in both modes, in nanoseconds.
    pub fn cpu_ns(&self) -> f64 {
        self.user_ns + self.system_ns
    }
}

/// What a load gave.
pub struct Loaded {
    pub result: LoadResult,
    pub server: ServerCost,
    pub noise: MachineNoise,
}

impl Loaded {
    /// Makes a load on a server of its own.
    pub fn by(
        bench: &Bench<'_>,
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

    /// What a request cost the generator; `None` where none got a response.
    pub fn generator_cost(&self) -> Option<RequestCost> {
        let cost = &self.result.generator;
        let requests = self.result.outcomes[Outcome::Ok];
        per_request(
            requests,
            [cost.cpu_user_s, cost.cpu_system_s],
            [cost.cycles, cost.instructions],
        )
    }

    /// What a request cost the server, those of the warm-up among them.
    pub fn server_cost(&self) -> Option<RequestCost> {
        let cost = &self.server;
        let warmup = self.result.warmup.as_ref();
        let requests = self.result.outcomes[Outcome::Ok]
            + warmup.map_or(0, |warmup| warmup.outcomes[Outcome::Ok]);
        per_request(
            requests,
            [cost.cpu_user_s, cost.cpu_system_s],
            [cost.cycles, cost.instructions],
        )
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

/// The small response, from one thread on the generator's CPU.
fn hello(server: &ReferenceServer, bench: &Bench<'_>) -> Result<LoadPlan, Box<dyn Error>> {
    let text = format!("http://{}/hello", server.host());
    let url: HttpUrl = text.parse()?;
    let address = server
        .host()
        .parse::<std::net::SocketAddr>()
        .map_err(io::Error::other)?;
    Ok(LoadPlan {
        cpus: bench.load_cpu().to_vec(),
        ..LoadPlan::new(address.into(), text, Request::new("GET", &url, &[], b"")?)
    })
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
