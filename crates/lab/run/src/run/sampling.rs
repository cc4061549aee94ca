//! What a load costs its server, and what else happens on the machine meanwhile.

use std::io;

use prony_model::{CpuAssignment, MachineNoise, ServerCost, Throttled};
use prony_server::{OutsideMeter, Sampler};

use super::process::Process;

/// Measures a server and the machine during a load.
pub(super) enum Meter {
    Both(Sampler),
    /// Only the machine: the server's processes are invisible.
    Machine(OutsideMeter),
}

impl Meter {
    /// Starts just before the load.
    pub(super) fn start(process: &Process, cpus: &CpuAssignment) -> io::Result<Self> {
        let sample = |tree| Sampler::start(tree, &process.cpus(cpus), Sampler::INTERVAL);
        match process {
            Process::Started(server) => sample(server.tree()).map(Self::Both),
            Process::Outside(outside) => match outside.server().tree() {
                Ok(tree) => sample(tree.clone()).map(Self::Both),
                Err(_) => {
                    let address = Some(outside.server().address());
                    OutsideMeter::start(address, &cpus.load).map(Self::Machine)
                }
            },
        }
    }

    /// Ends after the load, which lasted `loaded_s` seconds.
    pub(super) fn finish(self, loaded_s: f64) -> io::Result<Metered> {
        match self {
            Self::Both(sampler) => {
                let sampled = sampler.finish(loaded_s)?;
                Ok(Metered {
                    server: Some(sampled.server),
                    throttled: sampled.throttled,
                    noise: sampled.noise,
                })
            }
            Self::Machine(meter) => {
                let outside = meter.finish()?;
                Ok(Metered {
                    server: None,
                    throttled: outside.throttled,
                    noise: outside.noise,
                })
            }
        }
    }
}

/// What was measured beside a load.
pub(super) struct Metered {
    /// What the load cost the server; `None` if its processes are invisible.
    pub(super) server: Option<ServerCost>,
    /// How its CPU quota stopped the server; `None` without a quota.
    pub(super) throttled: Option<Throttled>,
    /// What else happened on the machine.
    pub(super) noise: MachineNoise,
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use prony_kernel::default_assignment;
    use prony_server::Outside;

    use super::*;
    use crate::run::process::OutsideProcess;

    #[test]
    fn the_costs_of_a_server_whose_processes_are_invisible_are_unknown_and_not_zero() {
        // Prony takes what this process uses for the load's.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let found = OutsideProcess::find(&Outside {
            url: url.parse().unwrap(),
            tls: None,
        });
        let mut process = Process::Outside(found.unwrap());
        let cpus = default_assignment().unwrap();
        let meter = Meter::start(&process, &cpus).unwrap();
        let metered = meter.finish(1.0).unwrap();
        assert_eq!(metered.server, None);
        assert!(metered.noise.load_cpus.is_some());
        assert!(process.tree().is_none() && process.exited().is_none());
        assert!(process.log_lines().is_err());
    }
}
