//! Whether a machine was noisy while many trials ran on it.

use crate::{Measurement, NoiseCause, TrialRecord};

/// How much other programs and the hypervisor disturbed a number of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Trials with figures, every attempt counted.
    pub trials: usize,
    /// Those of them that CPU steal or other programs made noisy.
    pub noisy: usize,
    /// The mean share (0 to 1) of CPU time lost to others by server or generator, whichever lost more.
    pub mean_loss: f64,
}

/// From this share of noisy trials on the machine is called noisy.
const MOST_NOISY: f64 = 0.1;
/// From this mean loss on the machine is called noisy.
const MOST_LOSS: f64 = 0.02;

impl Disturbance {
    /// Sums up every attempt at every trial.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a TrialRecord>) -> Self {
        let mut all = Self::default();
        let mut lost = 0.0;
        for record in records {
            let Some(trial) = record.measurement() else {
                continue;
            };
            all.trials += 1;
            all.noisy += usize::from(record.noisy.iter().any(NoiseCause::is_from_outside));
            lost += trial.loss();
        }
        all.mean_loss = lost / all.trials.max(1) as f64;
        all
    }

    /// Whether a reader must know of it before reading any figure.
    ///
    /// One disturbed trial does not make a machine noisy: Prony re-runs it, and medians and paired ratios hardly
    /// change. Many do, and so does a small loss in every trial, because few or no trials are undisturbed then.
    pub fn is_noisy(&self) -> bool {
        self.noisy as f64 > MOST_NOISY * self.trials as f64 || self.mean_loss > MOST_LOSS
    }
}

impl Measurement {
    /// The share (0 to 1) of CPU time that server or generator, whichever lost more, lost to the hypervisor and to
    /// other programs. Older records have only the steal of the whole machine.
    pub fn loss(&self) -> f64 {
        let shares = self
            .losses()
            .into_iter()
            .map(|group| group.steal_share + group.foreign_share);
        shares.reduce(f64::max).unwrap_or(self.noise.steal_share)
    }
}

#[cfg(test)]
mod tests {
    use super::Disturbance;

    #[test]
    fn one_disturbed_trial_does_not_make_a_machine_noisy() {
        let noisy = |noisy, mean_loss| {
            let disturbance = Disturbance {
                trials: 24,
                noisy,
                mean_loss,
            };
            disturbance.is_noisy()
        };
        assert!(!noisy(1, 0.013) && !noisy(2, 0.02));
        assert!(noisy(3, 0.0) && noisy(0, 0.021));
        assert!(!Disturbance::default().is_noisy());
    }
}
