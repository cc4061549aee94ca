//! How quiet the machine was while a run was made.

use prony_model::{Measurement, NoiseCause, Scheduling, TrialRecord, TrialResult};
use prony_stats::median;

/// How quiet the machine was, over every attempt at every trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quiet {
    /// Trials that gave figures, every attempt counted.
    pub trials: usize,
    /// Of these, the ones that were noisy.
    pub noisy: usize,
    /// Trials that were re-run after a noisy one.
    pub again: usize,
    /// Trials that the hypervisor noisy.
    pub by_steal: usize,
    /// Trials that other programs noisy.
    pub by_other_programs: usize,
    /// Trials that were measured before the server had warmed up.
    pub by_warm_up: usize,
    /// The mean share (0 to 1) of their CPU time that server or generator, whichever lost more, lost to others.
    pub mean_loss: f64,
    /// What was seen, a figure each; none that was not looked at.
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
    /// How long the server's threads were ready and waited for a CPU, summed over them, for a second of load.
    ServerWait,
    /// The same of the generator's threads.
    GeneratorWait,
    /// How often a second a CPU was taken from a thread of the server.
    ServerSwitches,
    /// The same of the generator.
    GeneratorSwitches,
}

impl NoiseKind {
    /// All of them, in the order in which they are told.
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

    /// Its amount in a trial; `None` where it was not looked at.
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

/// The share (0 to 1) of their CPU time that server or generator, whichever lost more, lost to the hypervisor and
/// to other programs. Records from before the two were told apart have the steal of the whole machine alone.
pub(super) fn loss(trial: &Measurement) -> f64 {
    let losses = trial.losses().into_iter();
    let shares = losses.map(|group| group.steal_share + group.foreign_share);
    shares.reduce(f64::max).unwrap_or(trial.noise.steal_share)
}

/// From this share of noisy trials on the machine is called noisy.
const NOISY_NOISY: f64 = 0.1;
/// From this mean loss on the machine is called noisy.
const NOISY_LOSS: f64 = 0.02;

impl Quiet {
    /// Of every attempt at every trial of a run.
    pub(super) fn of(records: &[TrialRecord]) -> Self {
        let trials: Vec<(&TrialRecord, &Measurement)> = records
            .iter()
            .filter_map(|record| Some((record, measured(record)?)))
            .collect();
        let losses: f64 = trials.iter().map(|(_, trial)| loss(trial)).sum();
        let by = |is: fn(&NoiseCause) -> bool| {
            let noisy = trials
                .iter()
                .filter(|(record, _)| record.noisy.iter().any(is));
            noisy.count()
        };
        Self {
            trials: trials.len(),
            noisy: by(|_| true),
            again: records.iter().filter(|record| record.attempt > 1).count(),
            by_steal: by(|cause| matches!(cause, NoiseCause::Steal { .. })),
            by_other_programs: by(|cause| matches!(cause, NoiseCause::OtherPrograms { .. })),
            by_warm_up: by(|cause| matches!(cause, NoiseCause::WarmUp { .. })),
            mean_loss: losses / trials.len().max(1) as f64,
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

    /// Whether so much was lost to others that the report must begin with it.
    pub fn is_noisy(&self) -> bool {
        let by_others = (self.by_steal + self.by_other_programs) as f64;
        by_others > NOISY_NOISY * self.trials as f64 || self.mean_loss > NOISY_LOSS
    }
}

fn measured(record: &TrialRecord) -> Option<&Measurement> {
    match &record.result {
        TrialResult::Measured(measurement) => Some(measurement),
        TrialResult::Failed { .. } => None,
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
