//! How noisy the machine was while both sides were measured.

use prony_model::{CpuNoise, Measurement, NoiseCause, TrialRecord, TrialResult};
use prony_report::format;
use serde::Serialize;

/// What else went on while both sides were measured, of all attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Noise {
    /// Trials that were made, every attempt counted.
    pub attempts: usize,
    /// Of these, the ones that noise disturbed, so that they were re-run where there was time.
    pub noisy: usize,
    /// Of the attempts that nothing disturbed, the ones in which others had more than 2 % of the CPUs all the same.
    pub disturbed: usize,
    /// The greatest share (0 to 1) of CPU time that the hypervisor gave to others.
    pub steal_share: f64,
    /// The greatest share of CPU time that other programs used of the CPUs of server or generator; `None` where no
    /// trial says.
    pub foreign_share: Option<f64>,
}

/// From this share of CPU time on it is worth a word that others had it.
const WORTH_TELLING: f64 = 0.02;

impl Noise {
    pub(crate) fn of<'a>(trials: impl IntoIterator<Item = &'a TrialRecord>) -> Self {
        let mut noise = Self::default();
        for record in trials {
            noise.add(record);
        }
        noise
    }

    /// Whether it was enough to be told.
    pub fn is_worth_telling(&self) -> bool {
        self.noisy + self.disturbed > 0
    }

    /// In a sentence.
    pub fn sentence(&self) -> String {
        if self.attempts == 0 {
            return "No trial was made.".to_owned();
        }
        let stolen = format!(
            "in one trial at the most {} of the CPU time was stolen by the hypervisor",
            format::share(self.steal_share)
        );
        let most = match self.foreign_share {
            Some(share) => format!(
                "{stolen}, and {} used by other programs",
                format::share(share)
            ),
            None => format!("{stolen}; what other programs used was not recorded"),
        };
        match self.is_worth_telling() {
            false => format!("No noise was seen: {most}."),
            true => format!(
                "The machine was noisy: {} of {} trials were noisy, {} more disturbed; {most}.",
                self.noisy, self.attempts, self.disturbed
            ),
        }
    }

    fn add(&mut self, record: &TrialRecord) {
        let (mut steal, mut foreign) = match &record.result {
            TrialResult::Measured(measurement) => shares(measurement),
            TrialResult::Failed { .. } => (0.0, None),
        };
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
        } else if steal.max(foreign.unwrap_or(0.0)) > WORTH_TELLING {
            self.disturbed += 1;
        }
        self.steal_share = self.steal_share.max(steal);
        self.foreign_share = most(self.foreign_share, foreign);
    }
}

/// Steal and foreign share of the group of CPUs that lost more.
fn shares(measurement: &Measurement) -> (f64, Option<f64>) {
    let mut shares = (measurement.noise.steal_share, None);
    for CpuNoise {
        steal_share,
        foreign_share,
    } in measurement.losses()
    {
        shares = (
            steal_share.max(shares.0),
            most(shares.1, Some(foreign_share)),
        );
    }
    shares
}

fn most(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}
