//! Responses under load that were not the expected ones: the row's figures are of something else.

use prony_record::{Measurement, Outcome, Outcomes};

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
        let mut outcomes = Outcomes::default();
        for round in rounds {
            outcomes.merge(&round.load.outcomes);
            if let Some(warmup) = &round.load.warmup {
                outcomes.merge(&warmup.outcomes);
            }
        }
        let wrong = outcomes.wrong();
        (wrong > 0).then(|| Self {
            wrong,
            of: wrong + outcomes[Outcome::Ok],
        })
    }
}
