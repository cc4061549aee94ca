//! Which of several attempts at a trial counts.

use crate::TrialRecord;

/// The attempt at a round that counts: the last that nothing spoilt; where everything was spoilt, the last. `None` of no
/// attempts.
pub fn attempt_that_counts<'a>(
    attempts: impl IntoIterator<Item = &'a TrialRecord>,
) -> Option<&'a TrialRecord> {
    let weight = |one: &&TrialRecord| (one.spoilt.is_empty(), one.attempt, one.trial.sequence);
    attempts.into_iter().max_by_key(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spoil;
    use crate::sample::failed;

    #[test]
    fn an_attempt_that_nothing_spoilt_counts_whenever_it_was_made() {
        let attempt = |number, is_spoilt: bool| TrialRecord {
            attempt: number,
            spoilt: is_spoilt
                .then_some(Spoil::Steal { share: 0.5 })
                .into_iter()
                .collect(),
            ..failed("bun", "")
        };
        let counts =
            |attempts: &[TrialRecord]| attempt_that_counts(attempts).map(|one| one.attempt);
        assert_eq!(counts(&[]), None);
        assert_eq!(counts(&[attempt(1, true), attempt(2, true)]), Some(2));
        assert_eq!(counts(&[attempt(1, false), attempt(2, true)]), Some(1));
        assert_eq!(counts(&[attempt(2, false), attempt(1, true)]), Some(2));
    }
}
