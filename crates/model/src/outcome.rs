//! What became of a request. Every request that is started has exactly one outcome.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What became of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The whole response came, with an expected status and, where it was compared, the right body.
    Ok,
    /// The whole response came, with a status that was not expected.
    WrongStatus,
    /// The whole response came, with a body that is not the right one.
    WrongBody,
    /// What came is not an HTTP response, more came than the response says it has, or it was whole
    /// before the request was sent whole.
    Malformed,
    /// The connection was closed in the middle of a response.
    Truncated,
    /// The connection could not be made.
    Refused,
    /// The connection was closed or reset before any byte of the response came.
    Reset,
    /// No whole response came within the timeout; counted when the timeout passes.
    TimedOut,
    /// The TLS handshake or a TLS record failed.
    TlsFailure,
    /// Not sent, because its deadline had passed before a connection was free.
    Shed,
    /// Still in flight when the load ended.
    Unfinished,
}

impl Outcome {
    /// Every outcome, in the order of the tables.
    pub const ALL: [Outcome; 11] = [
        Outcome::Ok,
        Outcome::WrongStatus,
        Outcome::WrongBody,
        Outcome::Malformed,
        Outcome::Truncated,
        Outcome::Refused,
        Outcome::Reset,
        Outcome::TimedOut,
        Outcome::TlsFailure,
        Outcome::Shed,
        Outcome::Unfinished,
    ];

    /// The name used in JSON, CSV and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::WrongStatus => "wrong_status",
            Outcome::WrongBody => "wrong_body",
            Outcome::Malformed => "malformed",
            Outcome::Truncated => "truncated",
            Outcome::Refused => "refused",
            Outcome::Reset => "reset",
            Outcome::TimedOut => "timed_out",
            Outcome::TlsFailure => "tls_failure",
            Outcome::Shed => "shed",
            Outcome::Unfinished => "unfinished",
        }
    }

    /// Whether this outcome speaks against the server: neither an expected response nor a request
    /// that the end of the load cut off.
    pub const fn is_error(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unfinished)
    }

    /// Whether a response came that was not the expected one: the server did something else than it was measured for.
    pub const fn is_wrong(self) -> bool {
        matches!(
            self,
            Outcome::WrongStatus | Outcome::WrongBody | Outcome::Malformed
        )
    }
}

/// How many requests had each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    /// All requests, whatever became of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Requests whose outcome is an error (see [`Outcome::is_error`]).
    pub fn errors(&self) -> u64 {
        self.iter()
            .filter(|(outcome, _)| outcome.is_error())
            .map(|(_, count)| count)
            .sum()
    }

    /// Responses that were not the expected ones (see [`Outcome::is_wrong`]).
    pub fn wrong(&self) -> u64 {
        self.iter()
            .filter(|(outcome, _)| outcome.is_wrong())
            .map(|(_, count)| count)
            .sum()
    }

    /// Every outcome with its count, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        Outcome::ALL
            .into_iter()
            .map(|outcome| (outcome, self[outcome]))
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Outcomes) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

impl Index<Outcome> for Outcomes {
    type Output = u64;
    fn index(&self, outcome: Outcome) -> &u64 {
        &self.0[outcome as usize]
    }
}

impl IndexMut<Outcome> for Outcomes {
    fn index_mut(&mut self, outcome: Outcome) -> &mut u64 {
        &mut self.0[outcome as usize]
    }
}

impl Serialize for Outcomes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(outcome, count)| (outcome.name(), count)))
    }
}

impl<'de> Deserialize<'de> for Outcomes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
        let mut outcomes = Outcomes::default();
        for (name, count) in counts {
            let outcome = Outcome::ALL
                .into_iter()
                .find(|outcome| outcome.name() == name)
                .ok_or_else(|| serde::de::Error::custom(format!("unknown outcome `{name}`")))?;
            outcomes[outcome] = count;
        }
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_errors_count_each_request_once() {
        let mut outcomes = Outcomes::default();
        for (i, outcome) in Outcome::ALL.into_iter().enumerate() {
            outcomes[outcome] = 1 << i;
        }
        assert_eq!(outcomes.total(), (1 << Outcome::ALL.len()) - 1);
        let neither = outcomes[Outcome::Ok] + outcomes[Outcome::Unfinished];
        assert_eq!(outcomes.errors(), outcomes.total() - neither);
    }

    #[test]
    fn json_keeps_every_count_and_refuses_unknown_names() {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::TimedOut] = 3;
        let json = serde_json::to_string(&outcomes).unwrap();
        assert!(json.contains("\"timed_out\":3") && json.contains("\"ok\":0"));
        assert_eq!(serde_json::from_str::<Outcomes>(&json).unwrap(), outcomes);
        assert!(serde_json::from_str::<Outcomes>("{\"fine\":1}").is_err());
    }
}
