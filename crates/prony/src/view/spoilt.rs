//! A spoilt trial, in a line.

use prony_record::{Spoil, TrialRecord};
use prony_report::format;

/// `spoilt   go-nethttp × hello, round 2: other programs used 23 % of its CPUs; it is made again`.
/// `None` where nothing spoilt it.
pub fn line(record: &TrialRecord, again: bool) -> Option<String> {
    if record.spoilt.is_empty() {
        return None;
    }
    let trial = &record.trial;
    let by: Vec<String> = record.spoilt.iter().map(by).collect();
    Some(format!(
        "spoilt   {} × {}, round {}: {}; {}",
        trial.subject,
        trial.workload,
        trial.round,
        by.join(", and "),
        match again {
            true => "it is made again at the end of the round",
            false => "it is not made again",
        }
    ))
}

/// What spoilt a trial, or made an attempt noisy.
pub fn by(spoil: &Spoil) -> String {
    match spoil {
        Spoil::Steal { share } => {
            format!("the hypervisor took {} of its CPUs", format::share(*share))
        }
        Spoil::Neighbour { share } => {
            format!("other programs used {} of its CPUs", format::share(*share))
        }
        Spoil::WarmUp { rise } => {
            format!(
                "its rate still rose by {} while it was measured",
                format::share(*rise)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::{FailureKind, LoadSpec, Trial, TrialResult};

    #[test]
    fn it_says_what_spoilt_it_and_what_comes_of_that() {
        let mut record = TrialRecord {
            trial: Trial {
                sequence: 0,
                subject: "bun".into(),
                workload: "hello".into(),
                load: LoadSpec::default(),
                round: 2,
            },
            started_at: String::new(),
            attempt: 1,
            spoilt: Vec::new(),
            result: TrialResult::Failed {
                kind: FailureKind::Load,
                message: String::new(),
            },
        };
        assert_eq!(line(&record, false), None);
        record.spoilt = vec![
            Spoil::Neighbour { share: 0.23 },
            Spoil::WarmUp { rise: 0.4 },
        ];
        let text = line(&record, true).unwrap();
        for part in ["bun × hello, round 2: ", "23", "40", "it is made again"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(line(&record, false).unwrap().contains("not made again"));
    }
}
