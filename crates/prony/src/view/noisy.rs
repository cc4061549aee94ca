//! A noisy trial, in a line.

use prony_model::{NoiseCause, TrialRecord};
use prony_report::format;

/// `noisy   go-nethttp × hello, round 2: other programs used 23 % of its CPUs; it is re-run`.
/// `None` where nothing disturbed it.
pub fn line(record: &TrialRecord, again: bool) -> Option<String> {
    if record.noisy.is_empty() {
        return None;
    }
    let trial = &record.trial;
    let by: Vec<String> = record.noisy.iter().map(by).collect();
    Some(format!(
        "noisy   {} × {}, round {}: {}; {}",
        trial.server,
        trial.workload,
        trial.round,
        by.join(", and "),
        match again {
            true => "it is re-run at the end of the round",
            false => "it is not re-run",
        }
    ))
}

/// What noisy a trial, or made an attempt noisy.
pub fn by(cause: &NoiseCause) -> String {
    match cause {
        NoiseCause::Steal { share } => {
            format!("the hypervisor took {} of its CPUs", format::share(*share))
        }
        NoiseCause::OtherPrograms { share } => {
            format!("other programs used {} of its CPUs", format::share(*share))
        }
        NoiseCause::WarmUp { rise } => {
            format!(
                "its rate still rose by {} while it was measured",
                format::share(*rise)
            )
        }
    }
}
