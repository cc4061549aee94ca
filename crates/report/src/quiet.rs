//! How quiet the machine was during a run.

use prony_model::{Disturbance, Measurement, NoiseCause, Scheduling, TrialRecord};
use prony_stats::median;

/// How quiet the machine was, over every attempt at every trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quiet {
    /// How much was lost to other programs and to the hypervisor.
    pub disturbance: Disturbance,
    /// Trials that were noisy, every attempt counted.
    pub noisy: usize,
    /// Trials that were re-run after a noisy one.
    pub again: usize,
    /// Trials that lost CPU time to the hypervisor.
    pub by_steal: usize,
    /// Trials that lost CPU time to other programs.
    pub by_other_programs: usize,
    /// Trials that were measured before the server had warmed up.
    pub by_warm_up: usize,
    /// Trials that had two of these causes or all.
    pub by_several: usize,
    /// What was seen, a figure each; only what was looked at.
    pub seen: Vec<Seen>,
    /// The lowest and the highest frequency at which a CPU of theirs was seen, in MHz.
    pub frequency_mhz: Option<(f64, f64)>,
}

/// One kind of noise, over the trials in which it was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The kind.
    pub kind: NoiseKind,
    /// The median of the trials.
    pub median: f64,
    /// The greatest of the trials.
    pub worst: f64,
    /// The trial with the greatest: server, workload and round.
    pub worst_in: (String, String, u32),
}

/// A kind of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseKind {
    /// Share of all CPU time of the machine that the hypervisor gave to others.
    Steal,
    /// The same of the server's CPUs.
    ServerSteal,
    /// The same of the generator's CPUs.
    GeneratorSteal,
    /// Share of the server's CPUs that programs other than the server used.
    ServerForeign,
    /// Share of the generator's CPUs that programs other than the generator used.
    GeneratorForeign,
    /// How long the server's threads were ready and waited for a CPU, summed over them, per second of load.
    ServerWait,
    /// The same of the generator's threads.
    GeneratorWait,
    /// How often per second the kernel took a CPU from a thread of the server.
    ServerSwitches,
    /// The same of the generator.
    GeneratorSwitches,
}

impl NoiseKind {
    /// All of them, in the order in which reports list them.
    pub const ALL: [NoiseKind; 9] = [
        Self::Steal,
        Self::ServerSteal,
        Self::GeneratorSteal,
        Self::ServerForeign,
        Self::GeneratorForeign,
        Self::ServerWait,
        Self::GeneratorWait,
        Self::ServerSwitches,
        Self::GeneratorSwitches,
    ];

    /// Its amount in a trial; `None` if it was not looked at.
    fn of(self, trial: &Measurement) -> Option<f64> {
        let noise = &trial.noise;
        let generator = &trial.load.generator.scheduling;
        let server = &trial.server.scheduling;
        let wait = |it: &Scheduling, seconds: f64| it.run_queue_wait_s / seconds;
        let switches = |it: &Scheduling, seconds: f64| it.involuntary_switches as f64 / seconds;
        let value = match self {
            Self::Steal => noise.steal_share,
            Self::ServerSteal => noise.server_cpus?.steal_share,
            Self::GeneratorSteal => noise.load_cpus?.steal_share,
            Self::ServerForeign => noise.server_cpus?.foreign_share,
            Self::GeneratorForeign => noise.load_cpus?.foreign_share,
            Self::ServerWait => wait(server.as_ref()?, trial.loaded_s()),
            Self::GeneratorWait => wait(generator.as_ref()?, trial.load.duration_s),
            Self::ServerSwitches => switches(server.as_ref()?, trial.loaded_s()),
            Self::GeneratorSwitches => switches(generator.as_ref()?, trial.load.duration_s),
        };
        value.is_finite().then_some(value)
    }
}

impl Quiet {
    /// Of every attempt at every trial of a run.
    pub(crate) fn of(records: &[TrialRecord]) -> Self {
        let trials = records
            .iter()
            .filter_map(|record| Some((record, record.measurement()?)));
        let trials: Vec<(&TrialRecord, &Measurement)> = trials.collect();
        let by = |is: fn(&NoiseCause) -> bool| {
            let noisy = trials
                .iter()
                .filter(|(record, _)| record.noisy.iter().any(is));
            noisy.count()
        };
        Self {
            disturbance: Disturbance::of(records),
            noisy: by(|_| true),
            again: records.iter().filter(|record| record.attempt > 1).count(),
            by_steal: by(|cause| matches!(cause, NoiseCause::Steal { .. })),
            by_other_programs: by(|cause| matches!(cause, NoiseCause::OtherPrograms { .. })),
            by_warm_up: by(|cause| matches!(cause, NoiseCause::WarmUp { .. })),
            by_several: trials
                .iter()
                .filter(|(record, _)| record.noisy.len() > 1)
                .count(),
            seen: NoiseKind::ALL
                .into_iter()
                .filter_map(|kind| seen(kind, &trials))
                .collect(),
            frequency_mhz: trials
                .iter()
                .filter_map(|(_, trial)| trial.noise.frequency_mhz)
                .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }
}

fn seen(kind: NoiseKind, trials: &[(&TrialRecord, &Measurement)]) -> Option<Seen> {
    let amounts: Vec<(f64, &TrialRecord)> = trials
        .iter()
        .filter_map(|(record, trial)| Some((kind.of(trial)?, *record)))
        .collect();
    let values: Vec<f64> = amounts.iter().map(|(value, _)| *value).collect();
    let (worst, record) = amounts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let trial = &record.trial;
    Some(Seen {
        kind,
        median: median(&values)?,
        worst,
        worst_in: (trial.server.clone(), trial.workload.clone(), trial.round),
    })
}
