//! How quiet the machine was during a run.

use prony_model::{Disturbance, Measurement, NoiseCause, Trial, TrialRecord};
use prony_present::number::{count, ratio, share};
use prony_stats::median;

use crate::table::ResultTable;

/// How quiet the machine was, over every attempt at every trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quiet {
    /// Whether other programs and the hypervisor took enough CPU time to call the machine noisy.
    pub disturbance: Disturbance,
    /// Noisy trials, every attempt counted.
    pub noisy: usize,
    /// Trials that were re-run after a noisy one.
    pub again: usize,
    /// Trials that lost CPU time to the hypervisor.
    pub(crate) by_steal: usize,
    /// Trials that lost CPU time to other programs.
    pub(crate) by_other_programs: usize,
    /// Trials that were measured before the server had warmed up.
    pub by_warm_up: usize,
    /// Trials with more than one of these causes.
    pub(crate) by_several: usize,
    /// The amount of each kind of noise that was observed.
    pub seen: Vec<Seen>,
    /// The lowest and the highest frequency of the CPUs of server and generator, in MHz.
    pub frequency_mhz: Option<(f64, f64)>,
}

/// One kind of noise, over the trials in which it was observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub kind: &'static str,
    /// The median of the trials, with its unit.
    pub median: String,
    /// The maximum of the trials.
    pub worst: String,
    /// The trial with the maximum: server, table and round; `None` if there was no noise of this kind.
    pub(crate) worst_in: Option<String>,
}

/// A kind of noise: its name, its unit, and its amount in a trial, if it was observed.
type Kind = (
    &'static str,
    fn(f64) -> String,
    fn(&Measurement) -> Option<f64>,
);

/// The kinds of noise, in the order of reports.
const KINDS: [Kind; 9] = [
    ("taken by the hypervisor, whole machine", share, |it| {
        Some(it.noise.steal_share)
    }),
    (
        "taken by the hypervisor from the server's CPUs",
        share,
        |it| Some(it.noise.server_cpus?.steal_share),
    ),
    (
        "taken by the hypervisor from the generator's CPUs",
        share,
        |it| Some(it.noise.load_cpus?.steal_share),
    ),
    ("used by other programs on the server's CPUs", share, |it| {
        Some(it.noise.server_cpus?.foreign_share)
    }),
    (
        "used by other programs on the generator's CPUs",
        share,
        |it| Some(it.noise.load_cpus?.foreign_share),
    ),
    (
        "server's threads waiting for a CPU, seconds per second",
        ratio,
        |it| Some(it.server.as_ref()?.scheduling?.run_queue_wait_s / it.loaded_s()),
    ),
    (
        "generator's threads waiting for a CPU, seconds per second",
        ratio,
        |it| Some(it.load.generator.scheduling?.run_queue_wait_s / it.load.duration_s),
    ),
    (
        "preemptions of the server's threads per second",
        count,
        |it| Some(it.server.as_ref()?.scheduling?.involuntary_switches as f64 / it.loaded_s()),
    ),
    (
        "preemptions of the generator's threads per second",
        count,
        |it| Some(it.load.generator.scheduling?.involuntary_switches as f64 / it.load.duration_s),
    ),
];

impl Quiet {
    /// Evaluates every attempt at every trial of a run.
    pub(crate) fn of(records: &[TrialRecord], tables: &[ResultTable]) -> Self {
        let trials = records
            .iter()
            .filter_map(|record| Some((record, record.measurement()?)));
        let trials: Vec<(&TrialRecord, &Measurement)> = trials.collect();
        let by = |is: fn(&NoiseCause) -> bool| {
            let trials = trials.iter();
            trials
                .filter(|(record, _)| record.noisy.iter().any(is))
                .count()
        };
        let several = trials.iter().filter(|(record, _)| record.noisy.len() > 1);
        let seen = KINDS.iter().filter_map(|kind| seen(kind, &trials, tables));
        let mhz = trials
            .iter()
            .filter_map(|(_, trial)| trial.noise.frequency_mhz);
        Self {
            disturbance: Disturbance::of(records),
            noisy: by(|_| true),
            again: records.iter().filter(|record| record.attempt > 1).count(),
            by_steal: by(|cause| matches!(cause, NoiseCause::Steal { .. })),
            by_other_programs: by(|cause| matches!(cause, NoiseCause::OtherPrograms { .. })),
            by_warm_up: by(|cause| matches!(cause, NoiseCause::WarmUp { .. })),
            by_several: several.count(),
            seen: seen.collect(),
            frequency_mhz: mhz.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
        }
    }
}

fn seen(
    (kind, shown, amount): &Kind,
    trials: &[(&TrialRecord, &Measurement)],
    tables: &[ResultTable],
) -> Option<Seen> {
    let amounts = trials
        .iter()
        .filter_map(|(record, trial)| Some((amount(trial)?, &record.trial)));
    let amounts: Vec<(f64, &Trial)> = amounts.filter(|(amount, _)| amount.is_finite()).collect();
    let values: Vec<f64> = amounts.iter().map(|(value, _)| *value).collect();
    let (worst, trial) = amounts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let place = || {
        let mut tables = tables.iter();
        let table = tables.find(|table| table.is_of(&trial.workload, &trial.load));
        let table = table.map_or_else(|| trial.workload.clone(), ResultTable::name);
        format!("{}, {table}, round {}", trial.server, trial.round)
    };
    Some(Seen {
        kind,
        median: shown(median(&values)?),
        worst: shown(worst),
        worst_in: (worst > 0.0).then(place),
    })
}
