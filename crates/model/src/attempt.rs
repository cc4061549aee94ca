//! Which of several attempts at a trial counts.

use crate::TrialRecord;

/// The attempt at a round that counts: the last that nothing disturbed; where everything was noisy, the last. `None` of no
/// attempts.
pub fn attempt_that_counts<'a>(
    attempts: impl IntoIterator<Item = &'a TrialRecord>,
) -> Option<&'a TrialRecord> {
    let weight = |one: &&TrialRecord| (one.noisy.is_empty(), one.attempt, one.trial.sequence);
    attempts.into_iter().max_by_key(weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseCause;
    use crate::sample::failed;

    #[test]
    fn an_attempt_that_nothing_disturbed_counts_whenever_it_was_made() {
        let attempt = |number, is_noisy: bool| TrialRecord {
            attempt: number,
            noisy: is_noisy
                .then_some(NoiseCause::Steal { share: 0.5 })
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
