//! What a load costs its server, and what else happens on the machine meanwhile.

use std::io;

use prony_model::{MachineNoise, ServerCost};
use prony_server::{OutsideMeter, Sampler};

use super::bench::Bench;
use super::process::Process;

/// Measures a server and the machine during a load.
pub enum Meter {
    /// Both.
    Both(Sampler),
    /// Only the machine: the server's processes are invisible.
    Machine(OutsideMeter),
}

impl Meter {
    /// Starts just before the load.
    pub fn start(process: &Process, bench: &Bench) -> io::Result<Self> {
        let sample = |tree| Sampler::start(tree, &process.cpus(bench), Sampler::INTERVAL);
        match process {
            Process::Started(server) => sample(server.tree()).map(Self::Both),
            Process::Outside(outside) => match outside.server().tree() {
                Ok(tree) => sample(tree.clone()).map(Self::Both),
                Err(_) => {
                    let address = Some(outside.server().address());
                    OutsideMeter::start(address, &bench.cpus.load).map(Self::Machine)
                }
            },
        }
    }

    /// Ends after the load, which lasted `loaded_s` seconds.
    pub fn finish(self, loaded_s: f64) -> io::Result<(Option<ServerCost>, MachineNoise)> {
        match self {
            Self::Both(sampler) => {
                let sampled = sampler.finish(loaded_s)?;
                Ok((Some(sampled.server), sampled.noise))
            }
            Self::Machine(meter) => Ok((None, meter.finish()?.noise)),
        }
    }
}
