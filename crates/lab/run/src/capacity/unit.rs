//! What a rate counts.

use prony_model::LoadSpec;
use prony_present::number;

/// What a rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Single requests.
    Requests,
    /// Flows of a scenario.
    Flows,
}

impl Unit {
    /// That of the rates of a load.
    pub fn of(load: &LoadSpec) -> Self {
        if load.flows {
            Self::Flows
        } else {
            Self::Requests
        }
    }

    /// A rate: `1,950/s`, or `1,950 flows/s`.
    pub fn rate(self, per_s: f64) -> String {
        match self {
            Self::Requests => number::exact_rate(per_s),
            Self::Flows => number::exact_rate_of("flows", per_s),
        }
    }

    /// `requests` or `flows`.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Flows => "flows",
        }
    }
}
