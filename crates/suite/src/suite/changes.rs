//! Rounds and loads other than the ones that a suite names.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde::Deserialize;

use super::MeasureSpec;
use prony_manifest::fields;

/// What is to be other than the suite has it; `None` leaves it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// How many rounds.
    pub rounds: Option<NonZeroU32>,
    /// How long a trial is measured.
    #[serde(deserialize_with = "fields::maybe_some_duration")]
    pub duration: Option<Duration>,
    /// How long requests are sent before measuring begins.
    #[serde(deserialize_with = "fields::maybe_duration")]
    pub warmup: Option<Duration>,
    /// How long a server may be under a load until it must be warm.
    #[serde(deserialize_with = "fields::maybe_duration")]
    pub warmup_limit: Option<Duration>,
    /// How many requests are measured at the most.
    pub requests: Option<NonZeroU64>,
}

impl Changes {
    /// Whether everything stays as it is.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and where they are silent those of `others`.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            rounds: self.rounds.or(others.rounds),
            duration: self.duration.or(others.duration),
            warmup: self.warmup.or(others.warmup),
            warmup_limit: self.warmup_limit.or(others.warmup_limit),
            requests: self.requests.or(others.requests),
        }
    }

    /// Changes the figures that a measure has. What has none stays without: a load without a
    /// warm-up gets none, and one that ends by requests alone no duration.
    pub(super) fn shorten(&self, measure: &mut MeasureSpec) {
        let load = &mut measure.load;
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        if let Some(duration) = self.duration {
            load.shorten_to(duration);
        }
        load.requests = load.requests.map(|own| self.requests.unwrap_or(own));
        if !load.warmup.is_zero() {
            load.warmup = self.warmup.unwrap_or(load.warmup);
            load.warmup_limit = self.warmup_limit.or(load.warmup_limit);
        }
    }

    /// Changes a measure's figures, or adds them. So a duration also ends a load that would end by
    /// requests, where it comes first, and requests end one that would end by a duration. A warm-up without a limit is
    /// exactly as long as it says.
    pub(super) fn impose(&self, measure: &mut MeasureSpec) {
        let load = &mut measure.load;
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        load.duration = self.duration.or(load.duration);
        load.requests = self.requests.or(load.requests);
        load.warmup = self.warmup.unwrap_or(load.warmup);
        let exactly = self.warmup.map(|_| Duration::ZERO);
        load.warmup_limit = self.warmup_limit.or(exactly).or(load.warmup_limit);
    }
}
