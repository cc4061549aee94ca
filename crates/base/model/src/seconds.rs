//! A time that records give as a number of seconds.

use std::fmt;
use std::ops::Deref;
use std::time::{Duration, TryFromFloatSecsError};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// A time, in JSON a number of seconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Duration);

impl Seconds {
    /// No time.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// Whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(Duration::from_millis(milliseconds))
    }
}

impl Deref for Seconds {
    type Target = Duration;

    fn deref(&self) -> &Duration {
        &self.0
    }
}

impl From<Duration> for Seconds {
    fn from(time: Duration) -> Self {
        Self(time)
    }
}

impl fmt::Debug for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of seconds.
impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_secs_f64().fmt(f)
    }
}

impl From<Seconds> for Duration {
    fn from(time: Seconds) -> Self {
        time.0
    }
}

impl TryFrom<f64> for Seconds {
    type Error = TryFromFloatSecsError;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        Duration::try_from_secs_f64(seconds).map(Self)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_secs_f64())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Self::try_from(seconds)
            .map_err(|error| D::Error::custom(format_args!("{seconds:?} s: {error}")))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        f64::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        f64::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds_and_stays_the_same() {
        for (time, json) in [
            (Seconds::from_secs(2), "2.0"),
            (Seconds::from_millis(500), "0.5"),
            (Seconds(Duration::from_nanos(1)), "1e-9"),
            (
                Seconds(Duration::new(86_400, 123_456_789)),
                "86400.123456789",
            ),
        ] {
            assert_eq!(serde_json::to_string(&time).unwrap(), json);
            assert_eq!(serde_json::from_str::<Seconds>(json).unwrap(), time);
        }
        assert_eq!(
            serde_json::from_str::<Seconds>("2").unwrap(),
            Seconds::from_secs(2)
        );
    }

    #[test]
    fn a_number_that_is_no_time_is_an_error() {
        for wrong in ["-1", "-1e-9", "1e300", "null", "\"1\""] {
            serde_json::from_str::<Seconds>(wrong).unwrap_err();
        }
    }
}
