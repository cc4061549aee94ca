//! Fields that several files have, for `#[serde(deserialize_with = "…")]`.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// A duration as people write it: `700ms`, `1m 30s`.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(|error| {
        D::Error::custom(format!(
            "`{text}` is not a duration ({error}); write one like `700ms` or `5s`"
        ))
    })
}

/// A duration longer than 0.
pub fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match duration(deserializer)? {
        Duration::ZERO => Err(D::Error::custom("the duration must be longer than 0")),
        duration => Ok(duration),
    }
}

/// [`duration`], for a field that may be left out.
pub fn maybe_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// [`some_duration`], for a field that may be left out.
pub fn maybe_some_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    some_duration(deserializer).map(Some)
}

/// A non-empty list of different names.
pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if names.is_empty() {
        return Err(D::Error::custom("the list must not be empty"));
    }
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(D::Error::custom(format!("`{name}` is named twice")));
        }
    }
    Ok(names)
}

/// Text that has more than blanks.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Filled(pub String);

impl TryFrom<String> for Filled {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        match text.trim() {
            "" => Err("it must not be empty"),
            _ => Ok(Self(text)),
        }
    }
}
