//! JSON in which no object has a key twice.
//!
//! JSON does not define what a repeated key means, and serde_json silently takes the last value. A repeated key is a
//! mistake.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Reads a text in which no object has a key twice. A byte order mark before it is skipped.
///
/// # Errors
/// If it is not JSON, has a key twice, or is not a `T`.
pub fn from_json<T: DeserializeOwned>(text: impl AsRef<[u8]>) -> serde_json::Result<T> {
    let text = without_mark(text.as_ref());
    serde_json::from_slice::<UniqueKeys>(text)?;
    serde_json::from_slice(text)
}

/// A text without the byte order mark with which editors and exporters of Windows begin UTF-8.
pub fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Any JSON whose objects have each key once; its values are not kept.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeys)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if let Some(key) = keys.replace(key) {
                let twice = format_args!("the key `{key}` appears twice");
                return Err(A::Error::custom(twice));
            }
            map.next_value::<Self>()?;
        }
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self, A::Error> {
        while values.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_unit<E: Error>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_repeated_key_is_reported_with_its_position() {
        for (text, key, place) in [
            (r#"{"a": 1, "a": 1}"#, "a", "line 1 column 12"),
            (r#"{"a": 1, "\u0061": 2}"#, "a", "line 1"),
            ("[{\"x\": {\"b\": 1,\n\"b\": null}}]", "b", "line 2"),
        ] {
            let told = from_json::<Value>(text).unwrap_err().to_string();
            let expected = format!("the key `{key}` appears twice at ");
            assert!(told.contains(&expected) && told.contains(place), "{told}");
        }
    }

    #[test]
    fn valid_json_is_read() {
        let text = r#"{"a": [1, -2, 3.5, "x", null, true, {"a": {}}], "b": {"a": 1e400}}"#;
        assert!(from_json::<Value>(text).is_err(), "beyond any number");
        let text = text.replace("e400", "e40");
        let expected = json!({"a": [1, -2, 3.5, "x", null, true, {"a": {}}], "b": {"a": 1e40}});
        assert_eq!(from_json::<Value>(&text).unwrap(), expected);
        assert_eq!(from_json::<Value>("\u{feff}[1]").unwrap(), json!([1]));
        let told = from_json::<Value>("{\"a\": }").unwrap_err().to_string();
        assert!(told.contains("line 1 column 7"), "{told}");
        assert!(from_json::<Value>(b"\xff").is_err());
    }
}
