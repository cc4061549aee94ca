//! Responses under load that were not the expected ones: the row's figures are of something else.

use prony_model::Measurement;

/// How many responses of a row were wrong, in every attempt at a round, warm-ups included: noise makes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongResponses {
    /// Those with another status, body or framing than expected. Bodies are compared in samples, so one speaks for many.
    pub wrong: u64,
    /// All responses, right and wrong.
    pub of: u64,
}

impl WrongResponses {
    pub(super) fn of(rounds: &[&Measurement]) -> Option<Self> {
        let wrong = rounds.iter().map(|round| round.wrong()).sum();
        let right: u64 = rounds.iter().map(|round| round.responses()).sum();
        (wrong > 0).then(|| Self {
            wrong,
            of: wrong + right,
        })
    }
}
