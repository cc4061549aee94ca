//! JSON in files that are TOML, and how two values differ.

use std::fmt::Write;

use prony_model::without_mark;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::response::{Mismatch, excerpt};

/// The most characters of a value that a message shows.
const SHOWN: usize = 60;

/// A JSON value: a TOML value, or text that is JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json {
    text: String,
    value: Value,
}

impl Json {
    /// As it is sent: text unchanged.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    /// # Errors
    ///
    /// If the text is not JSON.
    pub(crate) fn parse(text: String) -> Result<Self, String> {
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Self { text, value }),
            Err(error) => Err(format!(
                "{} is not JSON: {error}",
                excerpt(text.as_bytes(), 0)
            )),
        }
    }

    fn of(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => Self::parse(text).map_err(|error| {
                format!(
                    "{error}; a string stands for JSON text, so write the string itself as '\"text\"'"
                )
            }),
            value => from_toml(value).map(Self::from),
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        let text = value.to_string();
        Self { text, value }
    }
}

/// JSON that a request sends, which may have placeholders: a TOML value, or text that is sent unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentJson(String);

impl SentJson {
    /// As the file has it.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<Json> for SentJson {
    fn from(json: Json) -> Self {
        Self(json.text)
    }
}

impl<'de> Deserialize<'de> for SentJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            // Whether it is JSON shows only when it is known what stands for a value.
            toml::Value::String(text) if text.contains("{{") => Ok(Self(text)),
            value => Json::of(value).map(Self::from).map_err(D::Error::custom),
        }
    }
}

/// As its text: the document around it may be nested less deeply than bodies.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(toml::Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// # Errors
///
/// If it is a number that JSON does not have.
pub fn from_toml(value: toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| format!("JSON has no number `{number}`"))?,
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Datetime(time) => Value::String(time.to_string()),
        toml::Value::Array(values) => {
            let values = values.into_iter().map(from_toml);
            Value::Array(values.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(members) => {
            let members = members.into_iter();
            let members = members.map(|(name, value)| Ok((name, from_toml(value)?)));
            Value::Object(members.collect::<Result<Map<_, _>, String>>()?)
        }
    })
}

/// Reads a body as JSON.
pub(crate) fn parsed(body: &[u8]) -> Result<Value, Mismatch> {
    serde_json::from_slice(without_mark(body)).map_err(|error| Mismatch {
        expected: "a JSON body".to_owned(),
        received: format!(
            "{} bytes that are not JSON ({error}): {}",
            body.len(),
            excerpt(body, 0)
        ),
    })
}

/// The first difference, if there is one, of two values at `path`. Numbers are equal if their values are: 1 is 1.0.
pub(crate) fn difference(expected: &Value, received: &Value, path: &str) -> Option<Mismatch> {
    match (expected, received) {
        (Value::Object(expected), Value::Object(received)) => {
            different_member(expected, received, path)
        }
        (Value::Array(expected), Value::Array(received)) => {
            different_element(expected, received, path)
        }
        (Value::Number(one), Value::Number(other)) if same_number(one, other) => None,
        _ if expected == received => None,
        _ => Some(Mismatch {
            expected: format!("{path} = {}", shown(expected)),
            received: format!("{path} = {}", shown(received)),
        }),
    }
}

fn different_member(
    expected: &Map<String, Value>,
    received: &Map<String, Value>,
    path: &str,
) -> Option<Mismatch> {
    for (name, value) in expected {
        let path = member(path, name);
        match received.get(name) {
            Some(received) => {
                if let Some(mismatch) = difference(value, received, &path) {
                    return Some(mismatch);
                }
            }
            None => {
                return Some(Mismatch {
                    expected: format!("{path} = {}", shown(value)),
                    received: format!("no {path}"),
                });
            }
        }
    }
    let (name, value) = received
        .iter()
        .find(|(name, _)| !expected.contains_key(*name))?;
    let path = member(path, name);
    Some(Mismatch {
        expected: format!("no {path}"),
        received: format!("{path} = {}", shown(value)),
    })
}

fn different_element(expected: &[Value], received: &[Value], path: &str) -> Option<Mismatch> {
    let mut pairs = expected.iter().zip(received).enumerate();
    let differs = pairs.find_map(|(index, (expected, received))| {
        difference(expected, received, &format!("{path}[{index}]"))
    });
    let elements = |count: usize| match count {
        1 => format!("1 element in {path}"),
        _ => format!("{count} elements in {path}"),
    };
    differs.or_else(|| {
        (expected.len() != received.len()).then(|| Mismatch {
            expected: elements(expected.len()),
            received: elements(received.len()),
        })
    })
}

fn same_number(one: &serde_json::Number, other: &serde_json::Number) -> bool {
    one == other || (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}

/// The path of a member of the object at `path`.
fn member(path: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
    {
        format!("{path}.{name}")
    } else {
        format!("{path}['{}']", name.escape_default())
    }
}

/// The path of the place that a JSON Pointer names.
pub(crate) fn path_of(pointer: &str) -> String {
    let mut path = "$".to_owned();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        match name.parse::<usize>() {
            Ok(index) => {
                let _ = write!(path, "[{index}]");
            }
            Err(_) => path = member(&path, &name),
        }
    }
    path
}

/// The value as JSON, shortened.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::{refused, rows};
    use serde_json::json;

    fn shown(expected: &Value, received: &Value) -> String {
        difference(expected, received, "$").map_or(String::new(), |mismatch| mismatch.to_string())
    }

    #[test]
    fn the_first_difference_is_shown_with_its_path() {
        for [expected, received, message] in rows(
            r#"
            {"a": 1} | {"a": 1.0} | ""
            [1, {"b": null}] | [1, {"b": null}] | ""
            {"items": [{"id": 7}]} | {"items": [{"id": 8}]} | expected $.items[0].id = 7, got $.items[0].id = 8
            {"a": 1} | {} | expected $.a = 1, got no $.a
            {} | {"a b": "x"} | expected no $['a b'], got $['a b'] = "x"
            [1, 2] | [1] | expected 2 elements in $, got 1 element in $
            "7" | 7 | expected $ = "7", got $ = 7
            1 | true | expected $ = 1, got $ = true
            "#,
        ) {
            let [expected, received] = [expected, received].map(|it| it.parse().unwrap());
            assert_eq!(shown(&expected, &received), message);
        }
        let long = shown(&json!("x".repeat(1000)), &json!("é".repeat(1000)));
        assert!(long.chars().count() < 200, "{long}");
    }

    #[test]
    fn toml_and_text_are_json() {
        #[derive(Debug, Deserialize)]
        struct File {
            json: Json,
        }
        let read = |text: &str| toml::from_str::<File>(&format!("json = {text}"));
        let json = |text: &str| read(text).unwrap().json;
        let table = json("{ a = [1, 2.5, true, \"x\"] }");
        assert_eq!(table.value(), &json!({"a": [1, 2.5, true, "x"]}));
        assert_eq!(json("'{\"a\":  null}'").text(), "{\"a\":  null}");
        assert_eq!(json("'\"x\"'").value(), &json!("x"));
        assert_eq!(json("2026-11-23").value(), &json!("2026-11-23"));
        refused(
            read,
            r#"
            '{"a": }' | is not JSON: expected value
            nan | JSON has no number
            "#,
        );
    }

    #[test]
    fn pointers_become_paths() {
        assert_eq!(path_of(""), "$");
        assert_eq!(path_of("/items/0/a~1b"), "$.items[0]['a/b']");
    }
}
