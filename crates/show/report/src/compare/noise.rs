//! How noisy the machine was while both sides were measured.

use prony_model::{Disturbance, NoiseCause, TrialRecord, worst_of};
use prony_present::number::{share, short};
use prony_present::words::plural;
use serde::Serialize;

/// What else the machine did while both sides were measured, over all attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// Trials that were run, every attempt counted.
    pub attempts: usize,
    /// Noisy trials, which were re-run if there was time.
    pub noisy: usize,
    /// Trials that were not noisy, but lost more than 2 % of their CPU time.
    pub disturbed: usize,
    /// The greatest share (0 to 1) of CPU time that the hypervisor gave to others.
    pub steal_share: f64,
    /// The greatest share of the CPU time of server or generator that other programs used; `None` if no trial recorded it.
    pub foreign_share: Option<f64>,
    /// The figures that decide whether the machine was noisy.
    #[serde(skip)]
    disturbance: Disturbance,
}

/// A trial that lost more than this share of its CPU time counts as disturbed.
const DISTURBED_ABOVE: f64 = 0.02;

impl Noise {
    pub(crate) fn of<'a>(trials: impl Iterator<Item = &'a TrialRecord> + Clone) -> Self {
        let mut noise = Self {
            disturbance: Disturbance::of(trials.clone()),
            ..Self::default()
        };
        trials.for_each(|record| noise.add(record));
        noise
    }

    /// Whether a reader must know of the noise before any figure: the same rule as in reports.
    pub fn is_noisy(&self) -> bool {
        self.disturbance.is_noisy()
    }

    /// A summary in two sentences.
    pub(crate) fn sentence(&self) -> String {
        if self.attempts == 0 {
            return "No trial was run.".to_owned();
        }
        let foreign = match self.foreign_share {
            Some(foreign) => format!(", other programs {}", share(foreign)),
            None => "; what other programs used was not recorded".to_owned(),
        };
        let machine = match (self.is_noisy(), self.foreign_share) {
            (true, _) => "The machine was noisy",
            (false, Some(_)) => "The machine was quiet",
            (false, None) => "As far as recorded, the machine was quiet",
        };
        let trials = plural(self.attempts, "trial");
        let were = if self.noisy > 1 { "were" } else { "was" };
        let noisy = match (self.is_noisy(), self.noisy) {
            (true, 0) => format!("none of {trials} lost enough to be re-run"),
            (false, 0) => format!("none of {trials} was noisy"),
            (true, noisy) => format!("{noisy} of {trials} {were} noisy"),
            (false, noisy) => format!("only {noisy} of {trials} {were} noisy"),
        };
        let more = if self.noisy > 0 { " more" } else { "" };
        let least = short(&share(DISTURBED_ABOVE));
        let disturbed = match self.disturbed {
            0 => String::new(),
            count => format!("; {count}{more} lost over {least} of the CPU time"),
        };
        format!(
            "{machine}: {noisy}{disturbed}. In the worst trial the hypervisor took {} of the CPU time{foreign}.",
            share(self.steal_share)
        )
    }

    fn add(&mut self, record: &TrialRecord) {
        let (mut steal, mut foreign, mut lost) = (0.0, None, 0.0);
        if let Some(measurement) = record.measurement() {
            let losses = measurement.losses();
            let worst = worst_of(&losses);
            steal = worst.steal_share.max(measurement.noise.steal_share);
            foreign = (!losses.is_empty()).then_some(worst.foreign_share);
            lost = measurement.loss();
        }
        for cause in &record.noisy {
            match *cause {
                NoiseCause::Steal { share } => steal = share.max(steal),
                NoiseCause::OtherPrograms { share } => foreign = most(foreign, Some(share)),
                NoiseCause::WarmUp { .. } => {}
            }
        }
        self.attempts += 1;
        if record.noisy.iter().any(NoiseCause::is_from_outside) {
            self.noisy += 1;
        } else if lost.max(steal).max(foreign.unwrap_or(0.0)) > DISTURBED_ABOVE {
            self.disturbed += 1;
        }
        self.steal_share = self.steal_share.max(steal);
        self.foreign_share = most(self.foreign_share, foreign);
    }
}

fn most(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
