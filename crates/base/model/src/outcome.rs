//! The outcome of a request. Every request has exactly one.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::exact;

crate::named! {
    /// The outcome of one request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[cfg_attr(feature = "schema", schemars(rename_all = "snake_case"))]
    pub enum Outcome {
        /// The full response came, with an expected status and, if it was compared, the expected body.
        Ok = "ok",
        /// The full response came, with an unexpected status.
        WrongStatus = "wrong_status",
        /// The full response came, with an unexpected body.
        WrongBody = "wrong_body",
        /// Not an HTTP response, or longer than its announced length, or complete before the request was sent
        /// completely.
        Malformed = "malformed",
        /// The connection was closed in the middle of a response.
        Truncated = "truncated",
        /// The connection could not be opened.
        Refused = "refused",
        /// The connection was closed or reset before any byte of the response came.
        Reset = "reset",
        /// No full response came within the timeout.
        TimedOut = "timed_out",
        /// The TLS handshake or a TLS record failed.
        TlsFailure = "tls_failure",
        /// Not sent, because its deadline had passed before it could be.
        Shed = "shed",
        /// Still in flight when the load ended.
        Unfinished = "unfinished",
    }
}

impl Outcome {
    /// Whether it is an error: neither an expected response nor a request that the end of the load cut off.
    pub const fn is_error(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unfinished)
    }

    /// Whether an unexpected response came: the server did other work than intended.
    pub const fn is_wrong(self) -> bool {
        matches!(
            self,
            Outcome::WrongStatus | Outcome::WrongBody | Outcome::Malformed
        )
    }
}

/// How many requests had each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(
        with = "crate::NamedFields<Outcome, u64>",
        extend("required" = Outcome::ALL.map(Outcome::name))
    )
)]
pub struct Outcomes([u64; Outcome::ALL.len()]);

impl Outcomes {
    pub fn total(&self) -> u64 {
        sum(self.0)
    }

    /// Requests whose outcome is an error (see [`Outcome::is_error`]).
    pub fn errors(&self) -> u64 {
        self.of(Outcome::is_error)
    }

    /// Responses that were not the expected ones (see [`Outcome::is_wrong`]).
    pub fn wrong(&self) -> u64 {
        self.of(Outcome::is_wrong)
    }

    fn of(&self, kind: fn(Outcome) -> bool) -> u64 {
        let counts = self.iter().filter(|(outcome, _)| kind(*outcome));
        sum(counts.map(|(_, count)| count))
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
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// Counts may come from other hosts, so none may overflow.
fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
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
            let outcome = Outcome::from_name(&name)
                .ok_or_else(|| serde::de::Error::custom(format!("unknown outcome `{name}`")))?;
            outcomes[outcome] = count;
        }
        Ok(outcomes)
    }
}

/// Responses of the measured part, drawn at random, that the load engine compared with the expected response. Checks of
/// status and length, which every response gets, do not count here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checked {
    /// Responses compared in full: status, header fields and body.
    pub compared: u64,
    /// How many of the compared ones were wrong.
    pub wrong: u64,
    /// Whether the body of every response was compared too, as it is if the expected body is short.
    pub every_body: bool,
}

impl Checked {
    /// Counts one comparison.
    #[inline]
    pub fn count(&mut self, is_wrong: bool) {
        self.compared += 1;
        self.wrong += u64::from(is_wrong);
    }

    /// Adds those from another worker.
    pub fn merge(&mut self, other: &Checked) {
        self.compared = self.compared.saturating_add(other.compared);
        self.wrong = self.wrong.saturating_add(other.wrong);
        self.every_body |= other.every_body;
    }

    /// An estimate of the share (0 to 1) of all responses that were wrong; `None` if none was compared.
    pub fn wrong_share(&self) -> Option<f64> {
        (self.compared > 0).then(|| self.wrong as f64 / self.compared as f64)
    }

    /// `about 1.0 % of responses were wrong (12 of 1,180 compared)`; `None` if no wrong one was found.
    pub fn finding(&self) -> Option<String> {
        let percent = self.wrong_share().filter(|&share| share > 0.0)? * 100.0;
        // A share rounded to 0 would say that none was wrong.
        let decimals = if percent < 0.1 { 3 } else { 1 };
        Some(format!(
            "about {percent:.decimals$} % of responses were wrong ({} of {} compared)",
            exact(self.wrong),
            exact(self.compared)
        ))
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
    fn json_keeps_every_count_and_rejects_unknown_names() {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::TimedOut] = 3;
        let json = serde_json::to_string(&outcomes).unwrap();
        assert!(json.contains("\"timed_out\":3") && json.contains("\"ok\":0"));
        assert_eq!(serde_json::from_str::<Outcomes>(&json).unwrap(), outcomes);
        assert!(serde_json::from_str::<Outcomes>("{\"fine\":1}").is_err());
    }
}

#[cfg(test)]
mod checked_tests {
    use super::*;

    #[test]
    fn an_estimate_of_wrong_responses_shows_its_sample() {
        let mut checked = Checked::default();
        assert_eq!((checked.wrong_share(), checked.finding()), (None, None));
        (0..1180).for_each(|number| checked.count(number % 100 == 99));
        assert_eq!((checked.compared, checked.wrong), (1180, 11));
        assert_eq!(
            checked.finding().unwrap(),
            "about 0.9 % of responses were wrong (11 of 1,180 compared)"
        );
        let mut rare = Checked {
            compared: 99_999,
            ..Checked::default()
        };
        assert_eq!((rare.wrong_share(), rare.finding()), (Some(0.0), None));
        rare.merge(&Checked {
            compared: 1,
            wrong: 1,
            every_body: true,
        });
        assert!(rare.every_body);
        assert_eq!(
            rare.finding().unwrap(),
            "about 0.001 % of responses were wrong (1 of 100,000 compared)"
        );
    }
}
