//! Rules that a body follows, for bodies that differ from response to response.

use std::fmt;

use regex::bytes::Regex;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::response::{Mismatch, excerpt};

/// A regular expression.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(|error| {
            let error = error.to_string();
            // The message draws the expression with a mark below the fault, which takes several lines.
            let reason = error.trim().lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason).trim();
            let shown = excerpt(text.as_bytes(), 0);
            D::Error::custom(format_args!(
                "{shown} is not a regular expression: {reason}"
            ))
        })
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Pattern {
    /// The expression.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.is_match(bytes)
    }

    pub(super) fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if self.is_in(body) {
            Ok(())
        } else {
            Err(Mismatch {
                expected: format!("a body that matches `{}`", self.as_str()),
                received: received(body),
            })
        }
    }
}

/// # Errors
///
/// If `text` does not occur in the body.
pub(super) fn contains(body: &[u8], text: &str) -> Result<(), Mismatch> {
    match memchr::memmem::find(body, text.as_bytes()) {
        Some(_) => Ok(()),
        None => Err(Mismatch {
            expected: format!("a body that contains {}", excerpt(text.as_bytes(), 0)),
            received: received(body),
        }),
    }
}

fn received(body: &[u8]) -> String {
    format!("{} bytes: {}", body.len(), excerpt(body, 0))
}

/// How many there are: `123`, or `{ min = 1, max = 5 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Amount {
    min: u64,
    max: Option<u64>,
}

impl Amount {
    /// This one alone.
    pub fn exactly(count: u64) -> Self {
        Self {
            min: count,
            max: Some(count),
        }
    }

    /// From `min` on, and up to `max` if there is one.
    ///
    /// # Errors
    ///
    /// If none is.
    fn within(min: u64, max: Option<u64>) -> Result<Self, String> {
        match max {
            Some(max) if min > max => {
                Err(format!("`min` is {min}, which is more than `max`, {max}"))
            }
            _ => Ok(Self { min, max }),
        }
    }

    /// Whether `count` is such an amount.
    pub(super) fn has(self, count: u64) -> bool {
        self.min <= count && self.max.is_none_or(|max| count <= max)
    }

    /// The largest.
    pub(super) fn max(self) -> Option<u64> {
        self.max
    }

    pub(super) fn exact(self) -> Option<u64> {
        self.max.filter(|max| *max == self.min)
    }

    pub(super) fn check_size(self, body: &[u8]) -> Result<(), Mismatch> {
        if self.has(body.len() as u64) {
            Ok(())
        } else {
            Err(Mismatch {
                expected: format!("a body of {self} bytes"),
                // No more of a body is kept.
                received: if self.max.is_some_and(|max| body.len() as u64 > max) {
                    format!("more than {} bytes", self.max.unwrap_or(0))
                } else {
                    format!("{} bytes", body.len())
                },
            })
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) if max == self.min => write!(f, "{max}"),
            Some(max) if self.min == 0 => write!(f, "at most {max}"),
            Some(max) => write!(f, "{} to {max}", self.min),
            None => write!(f, "at least {}", self.min),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrLimits)
    }
}

struct NumberOrLimits;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    min: Option<u64>,
    max: Option<u64>,
}

impl<'de> Visitor<'de> for NumberOrLimits {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or `{ min = 1, max = 5 }`")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        let number = u64::try_from(number);
        let number = number.map_err(|_| E::custom("a number below 0 is no amount"))?;
        Ok(Amount::exactly(number))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Amount, A::Error> {
        let limits = Limits::deserialize(MapAccessDeserializer::new(map))?;
        match (limits.min, limits.max) {
            (None, None) => Err(A::Error::custom("write `min`, `max` or both")),
            (min, max) => Amount::within(min.unwrap_or(0), max).map_err(A::Error::custom),
        }
    }
}
