//! Rounds that are added until the comparisons are precise enough.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use prony_model::{parse_percent, percentage};
use serde::{Deserialize, Deserializer, de::Error};

/// When no more rounds are added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveRounds {
    /// How precise every comparison must be.
    pub precision: Precision,
    /// How long all trials together may take. Two rounds run in any case.
    pub budget: Duration,
    /// How many rounds there may be.
    pub most_rounds: u32,
}

impl AdaptiveRounds {
    /// The default budget.
    pub const BUDGET: Duration = Duration::from_secs(30 * 60);
    /// The default and the greatest maximum of rounds.
    pub const MOST_ROUNDS: u32 = 200;
    /// The fewest rounds of loads that count instructions, whose changes must be more significant than others.
    pub(crate) const FEWEST_COUNTED_ROUNDS: u32 = 3;

    /// How long a trial may take that counts instructions, if a round has this many trials: the budget holds the fewest
    /// rounds.
    pub fn counted_trial(&self, trials_per_round: usize) -> Duration {
        let trials = u32::try_from(trials_per_round.max(1)).unwrap_or(u32::MAX);
        self.budget / trials.saturating_mul(Self::FEWEST_COUNTED_ROUNDS)
    }
}

/// How far an interval's ends may be from its ratio, as a share of it: `3%` is ±3 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision(f64);

impl Precision {
    /// The precision of this share, which is more than 0 and at most 0.5.
    ///
    /// # Panics
    /// If it is not. Only constants are meant to be given.
    pub const fn of_share(share: f64) -> Self {
        assert!(share > 0.0 && share <= 0.5);
        Self(share)
    }

    /// The share: 0.03 for 3 %.
    pub const fn share(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&percentage(self.0))
    }
}

/// Why a text is not a precision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPrecision {
    #[error("`{0}` is not a precision; write one in percent, for instance 3%")]
    NotInPercent(String),
    #[error("`{0}` is not a precision; it must be more than 0% and at most 50%")]
    OutOfRange(String),
}

impl FromStr for Precision {
    type Err = NoPrecision;

    fn from_str(text: &str) -> Result<Self, NoPrecision> {
        let share =
            parse_percent(text).ok_or_else(|| NoPrecision::NotInPercent(text.to_owned()))?;
        if share > 0.0 && share <= 0.5 {
            return Ok(Self(share));
        }
        Err(NoPrecision::OutOfRange(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Precision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_in_percent() {
        for (text, share, shown) in [
            ("3%", 0.03, "3 %"),
            (" 2.5 % ", 0.025, "2.5 %"),
            ("7%", 0.07, "7 %"),
            ("50%", 0.5, "50 %"),
        ] {
            let precision: Precision = text.parse().unwrap();
            assert!((precision.share() - share).abs() < 1e-12, "{text}");
            assert_eq!(precision.to_string(), shown);
        }
        for text in ["3", "0.03", "%", "three%", "", "NaN%", "inf%"] {
            let error = text.parse::<Precision>().unwrap_err().to_string();
            assert!(error.contains("for instance 3%"), "{error}");
        }
        for text in ["0%", "-3%", "51%"] {
            let error = text.parse::<Precision>().unwrap_err().to_string();
            assert!(error.contains("more than 0%"), "{error}");
        }
    }
}
