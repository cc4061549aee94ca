//! When a trial was noisy: how much of the measured programs' CPU time others may take.
//!
//! The rule looks at the machine alone, never at the figures that a trial gave: who runs trials again because they look
//! bad, or good, measures what they wish for.

use crate::{CpuNoise, MachineNoise, Spoil};

/// The greatest share of the CPU time of server or generator that the hypervisor may have given to others.
pub const MOST_STEAL: f64 = 0.05;
/// The greatest share of it that other programs may have used.
pub const MOST_FOREIGN: f64 = 0.10;
/// How long a load must have taken, warm-up included, in seconds, for its ticks of 10 ms to say something.
pub const LEAST_OBSERVED_S: f64 = 0.3;

/// How long the threads of server and generator waited for a CPU, each as a share of the load's time, summed over
/// threads; `None` if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuWaits {
    /// The server's.
    pub server: Option<f64>,
    /// The generator's.
    pub generator: Option<f64>,
}

impl MachineNoise {
    /// What the server's CPUs and the generator's lost to others, the groups that were looked at.
    ///
    /// A program beside costs no more than the time in which server or generator waited for a CPU: what it uses of an
    /// idle one harms nobody, and on a CPU that wakes up often the clocks do not account for all of the time. So a
    /// group's `foreign_share` is here no greater than the wait of its threads, where that is known. Of a generator
    /// whose wait is not known nothing is said, unless the kernel tells no waits at all.
    pub fn losses(&self, waits: CpuWaits) -> Vec<CpuNoise> {
        let CpuWaits { server, generator } = waits;
        let of_generator = match (generator, self.server_cpus) {
            // They share their CPUs.
            (Some(generator), None) => generator + server.unwrap_or(f64::INFINITY),
            (Some(generator), Some(_)) => generator,
            (None, _) if server.is_some() => 0.0,
            (None, _) => f64::INFINITY,
        };
        let lost = |group: Option<CpuNoise>, waited: f64| {
            let group = group?;
            Some(CpuNoise {
                foreign_share: group.foreign_share.min(waited),
                ..group
            })
        };
        let server = lost(self.server_cpus, server.unwrap_or(f64::INFINITY));
        let generator = lost(self.load_cpus, of_generator);
        server.into_iter().chain(generator).collect()
    }
}

/// What made a load of `loaded_s` seconds noisy, by what its groups of CPUs lost: the group that lost most decides.
/// Empty if nothing did.
pub fn noisy(losses: &[CpuNoise], loaded_s: f64) -> Vec<Spoil> {
    if loaded_s < LEAST_OBSERVED_S {
        return Vec::new();
    }
    let worst = worst_of(losses);
    let (steal, foreign) = (worst.steal_share, worst.foreign_share);
    let steal = (steal > MOST_STEAL).then_some(Spoil::Steal { share: steal });
    let others = (foreign > MOST_FOREIGN).then_some(Spoil::Neighbour { share: foreign });
    steal.into_iter().chain(others).collect()
}

/// The greatest share that any group of CPUs lost, of each kind.
pub fn worst_of(losses: &[CpuNoise]) -> CpuNoise {
    let worst = |share: fn(&CpuNoise) -> f64| losses.iter().map(share).fold(0.0, f64::max);
    CpuNoise {
        steal_share: worst(|group| group.steal_share),
        foreign_share: worst(|group| group.foreign_share),
    }
}
