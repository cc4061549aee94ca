//! When a trial counts as noisy: how much of the measured programs' CPU time others may take.
//!
//! The rule looks at the machine, never at a trial's figures: re-running trials because they look bad or good would
//! bias the result.

use serde::{Deserialize, Serialize};

use crate::{LoadResult, Scheduling, Throttled};

/// What disturbed a trial. The machine and the course of the load decide, not whether a figure is high or low, so
/// re-running a trial favours no server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum NoiseCause {
    /// CPU steal: the hypervisor gave the CPUs of server or generator to others.
    Steal {
        /// The share (0 to 1) of CPU time lost, by server or generator, whichever lost more.
        share: f64,
    },
    /// Other programs of this machine used the CPUs of server or generator.
    OtherPrograms {
        /// The share (0 to 1) of CPU time lost, by server or generator, whichever lost more.
        share: f64,
    },
    /// The rate was still rising when measuring began.
    WarmUp {
        /// By how much the measured rate rose, as a share of where it settled.
        rise: f64,
    },
}

impl NoiseCause {
    /// Whether it came from outside the trial, and so may be over when the trial is re-run.
    pub fn is_from_outside(&self) -> bool {
        !matches!(self, NoiseCause::WarmUp { .. })
    }

    /// The share (0 to 1) of CPU time that it took from server or generator; 0 for a warm-up.
    pub const fn lost(&self) -> f64 {
        match *self {
            NoiseCause::Steal { share } | NoiseCause::OtherPrograms { share } => share,
            NoiseCause::WarmUp { .. } => 0.0,
        }
    }

    /// The name used in JSON and CSV.
    pub const fn name(&self) -> &'static str {
        match self {
            NoiseCause::Steal { .. } => "steal",
            NoiseCause::OtherPrograms { .. } => "other-programs",
            NoiseCause::WarmUp { .. } => "warm-up",
        }
    }
}

/// What else happened on the machine during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineNoise {
    /// Share (0 to 1) of all CPU time that the hypervisor gave to others.
    pub steal_share: f64,
    /// Share (0 to 1) of all CPU time for which the machine was idle.
    pub idle_share: f64,
    /// On the server's CPUs; `None` in older records, and if the generator shares them.
    #[serde(default)]
    pub server_cpus: Option<CpuNoise>,
    /// On the generator's CPUs.
    #[serde(default)]
    pub load_cpus: Option<CpuNoise>,
    /// The lowest and the highest frequency of their CPUs, in MHz; `None` if the system does not show it.
    #[serde(default)]
    pub frequency_mhz: Option<(f64, f64)>,
    /// The energy that the processor packages used meanwhile, in joules; `None` if it is not counted.
    #[serde(default)]
    pub energy_j: Option<f64>,
}

/// What happened on some CPUs besides the measured program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuNoise {
    /// Share (0 to 1) of their time that the hypervisor gave to others.
    pub steal_share: f64,
    /// Share (0 to 1) of their time that programs other than the measured one used.
    pub foreign_share: f64,
}

/// The largest share of the CPU time of server or generator that the hypervisor may take.
pub const MOST_STEAL: f64 = 0.05;
/// The largest share of it that other programs may use.
pub const MOST_FOREIGN: f64 = 0.10;
/// Shorter loads (in seconds, warm-up included) are not judged: CPU time comes in ticks of 10 ms.
pub const LEAST_OBSERVED_S: f64 = 0.3;

/// How long the threads of server and generator waited for a CPU, each as a share of the load's time, summed over
/// threads; `None` if it is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuWaits {
    pub server: Option<f64>,
    pub generator: Option<f64>,
}

impl MachineNoise {
    /// What the CPUs of server and generator lost to others, as far as both were observed.
    ///
    /// Another program costs no more than the time for which server or generator waited for a CPU: it may use idle time
    /// freely, and the clocks do not account for all the time of a CPU that wakes up often. So `foreign_share` is
    /// capped at the threads' wait, if that is known. A generator whose wait is unknown is left out, unless the kernel
    /// reports no waits at all.
    pub fn losses(&self, waits: CpuWaits) -> Vec<CpuNoise> {
        let CpuWaits { server, generator } = waits;
        let of_generator = match (generator, self.server_cpus) {
            // Both share their CPUs.
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

/// What was observed during a load on a server that Prony did not start.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside {
    /// What the machine did.
    pub noise: MachineNoise,
    /// Where the server was.
    pub server: OutsideServer,
    /// How its CPU quota stopped it; `None` without a quota, or if its processes are invisible.
    pub throttled: Option<Throttled>,
}

/// Where a server is that Prony did not start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutsideServer {
    /// On another machine: what else uses the generator's CPUs is not the server.
    Elsewhere,
    /// On this machine, but its processes are invisible, so its CPU time cannot be separated from that of other programs.
    Unseen,
    /// On this machine, with how the kernel scheduled its threads, if the kernel reports it.
    Seen(Option<Scheduling>),
}

impl Outside {
    /// What the CPUs of server and generator lost to others during this load, as far as both were observed.
    pub fn losses(&self, load: &LoadResult) -> Vec<CpuNoise> {
        let share = |it: Option<Scheduling>, seconds: f64| Some(it?.run_queue_wait_s / seconds);
        let generator = share(load.generator.scheduling, load.duration_s);
        let waits = match self.server {
            OutsideServer::Elsewhere => CpuWaits {
                server: Some(0.0),
                generator,
            },
            OutsideServer::Seen(server) => CpuWaits {
                server: share(server, load.loaded_s()),
                generator,
            },
            // The generator may have waited for the server.
            OutsideServer::Unseen => CpuWaits {
                server: Some(0.0),
                generator: Some(0.0),
            },
        };
        self.noise.losses(waits)
    }
}

/// What made a load of `loaded_s` seconds noisy, if anything: server or generator, whichever lost more, decides.
pub fn noisy(losses: &[CpuNoise], loaded_s: f64) -> Vec<NoiseCause> {
    if loaded_s < LEAST_OBSERVED_S {
        return Vec::new();
    }
    let worst = worst_of(losses);
    let (steal, foreign) = (worst.steal_share, worst.foreign_share);
    let steal = (steal > MOST_STEAL).then_some(NoiseCause::Steal { share: steal });
    let others = (foreign > MOST_FOREIGN).then_some(NoiseCause::OtherPrograms { share: foreign });
    steal.into_iter().chain(others).collect()
}

/// The largest share that server or generator lost, of each kind.
pub fn worst_of(losses: &[CpuNoise]) -> CpuNoise {
    let worst = |share: fn(&CpuNoise) -> f64| losses.iter().map(share).fold(0.0, f64::max);
    CpuNoise {
        steal_share: worst(|group| group.steal_share),
        foreign_share: worst(|group| group.foreign_share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn scheduling(run_queue_wait_s: f64) -> Option<Scheduling> {
        Some(Scheduling {
            run_queue_wait_s,
            ..Scheduling::default()
        })
    }

    fn outside(server: OutsideServer) -> Outside {
        let load_cpus = Some(CpuNoise {
            steal_share: 0.07,
            foreign_share: 0.4,
        });
        let noise = MachineNoise {
            load_cpus,
            ..MachineNoise::default()
        };
        Outside {
            noise,
            server,
            throttled: None,
        }
    }

    /// A load of one second whose generator waited this long.
    fn load(waited_s: f64) -> LoadResult {
        let mut load = sample::load_result();
        (load.duration_s, load.warmup) = (1.0, None);
        load.generator.scheduling = scheduling(waited_s);
        load
    }

    #[track_caller]
    fn loses(server: OutsideServer, waited_s: f64, foreign_share: f64) {
        let lost = outside(server).losses(&load(waited_s));
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].steal_share, 0.07);
        let foreign = lost[0].foreign_share;
        assert!((foreign - foreign_share).abs() < 1e-9, "{foreign}");
    }

    #[test]
    fn other_programs_cost_no_more_than_the_wait_for_a_cpu() {
        loses(OutsideServer::Elsewhere, 0.3, 0.3);
        loses(OutsideServer::Elsewhere, 0.9, 0.4);
        loses(OutsideServer::Seen(scheduling(0.05)), 0.1, 0.15);
        loses(OutsideServer::Seen(None), 0.1, 0.4);
    }

    #[test]
    fn an_invisible_server_does_not_count_as_another_program() {
        loses(OutsideServer::Unseen, 0.9, 0.0);
    }

    #[test]
    fn a_long_enough_trial_is_noisy_above_the_bounds() {
        let lost = |steal_share, foreign_share| CpuNoise {
            steal_share,
            foreign_share,
        };
        assert_eq!(noisy(&[], 1.0), []);
        assert_eq!(noisy(&[lost(MOST_STEAL, MOST_FOREIGN)], 1.0), []);
        let both = [lost(0.06, 0.0), lost(0.0, 0.11)];
        let expected = [
            NoiseCause::Steal { share: 0.06 },
            NoiseCause::OtherPrograms { share: 0.11 },
        ];
        assert_eq!(noisy(&both, LEAST_OBSERVED_S), expected);
        assert_eq!(noisy(&both, 0.2), []);
    }
}
