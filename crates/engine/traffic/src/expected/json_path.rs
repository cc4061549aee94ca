//! What JSONPaths (RFC 9535) select in a body.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::rules::{Amount, Pattern};
use crate::json::{Json, difference, from_toml, shown};
use crate::response::Mismatch;

/// A JSONPath, and what it must select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(String, PathTests)", into = "(String, PathTests)")]
pub struct PathRule {
    text: String,
    path: JsonPath,
    tests: PathTests,
}

/// What a JSONPath must select: `7`, or `{ matches = "^a" }`. There is at least one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "TestFields")]
pub struct PathTests(Vec<PathTest>);

/// A test of what a JSONPath selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathTest {
    Equals(Json),
    Matches(Pattern),
    Exists(bool),
    Count(Amount),
}

/// The tests of a table.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestFields {
    json: Option<Json>,
    matches: Option<Pattern>,
    exists: Option<bool>,
    count: Option<Amount>,
}

impl From<PathTests> for TestFields {
    fn from(tests: PathTests) -> Self {
        let mut fields = Self::default();
        for test in tests.0 {
            match test {
                PathTest::Equals(json) => fields.json = Some(json),
                PathTest::Matches(pattern) => fields.matches = Some(pattern),
                PathTest::Exists(exists) => fields.exists = Some(exists),
                PathTest::Count(amount) => fields.count = Some(amount),
            }
        }
        fields
    }
}

impl<'de> Deserialize<'de> for PathTests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueOrTests)
    }
}

struct ValueOrTests;

impl ValueOrTests {
    fn equals<E: Error>(value: impl Into<toml::Value>) -> Result<PathTests, E> {
        let value = from_toml(value.into()).map_err(E::custom)?;
        Ok(PathTests(vec![PathTest::Equals(value.into())]))
    }
}

impl<'de> Visitor<'de> for ValueOrTests {
    type Value = PathTests;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a table with `json`, `matches`, `exists` or `count`")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<PathTests, E> {
        Self::equals(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<PathTests, E> {
        Self::equals(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<PathTests, E> {
        Self::equals(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<PathTests, E> {
        Self::equals(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<PathTests, A::Error> {
        Self::equals(toml::Value::deserialize(SeqAccessDeserializer::new(
            values,
        ))?)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PathTests, A::Error> {
        let fields = TestFields::deserialize(MapAccessDeserializer::new(map))?;
        let tests = [
            fields.exists.map(PathTest::Exists),
            fields.count.map(PathTest::Count),
            fields.json.map(PathTest::Equals),
            fields.matches.map(PathTest::Matches),
        ];
        let tests: Vec<_> = tests.into_iter().flatten().collect();
        if tests.is_empty() {
            Err(A::Error::custom(
                "write `json`, `matches`, `exists` or `count`",
            ))
        } else {
            Ok(PathTests(tests))
        }
    }
}

impl TryFrom<(String, PathTests)> for PathRule {
    type Error = String;

    fn try_from((text, tests): (String, PathTests)) -> Result<Self, String> {
        Self::new(text, tests)
    }
}

impl From<PathRule> for (String, PathTests) {
    fn from(rule: PathRule) -> Self {
        (rule.text, rule.tests)
    }
}

impl PathRule {
    /// # Errors
    ///
    /// If `text` is not a JSONPath.
    pub fn new(text: String, tests: PathTests) -> Result<Self, String> {
        match JsonPath::parse(&text) {
            Ok(path) => Ok(Self { text, path, tests }),
            Err(error) => Err(format!(
                "`{text}` is not a JSONPath: {} at character {}",
                error.message(),
                error.position()
            )),
        }
    }

    pub(super) fn check(&self, body: &Value) -> Result<(), Mismatch> {
        let selected = self.path.query(body).all();
        let mut tests = self.tests.0.iter();
        tests.try_for_each(|test| test.check(&self.text, &selected))
    }
}

impl PathTest {
    fn check(&self, path: &str, selected: &[&Value]) -> Result<(), Mismatch> {
        let mismatch = |expected, received| Err(Mismatch { expected, received });
        match self {
            Self::Exists(true) if selected.is_empty() => {
                mismatch(format!("{path} to exist"), format!("no {path}"))
            }
            Self::Exists(false) if !selected.is_empty() => mismatch(
                format!("no {path}"),
                format!("{path} = {}", shown(selected[0])),
            ),
            Self::Exists(_) => Ok(()),
            Self::Count(amount) => {
                let count = count(path, selected);
                if amount.has(count) {
                    Ok(())
                } else {
                    mismatch(
                        format!("{amount} values in {path}"),
                        format!("{count} values in {path}"),
                    )
                }
            }
            Self::Equals(expected) if selected.is_empty() => mismatch(
                format!("{path} = {}", shown(expected.value())),
                format!("no {path}"),
            ),
            Self::Equals(expected) => {
                let mut different = selected.iter();
                let different =
                    different.find_map(|value| difference(expected.value(), value, path));
                different.map_or(Ok(()), Err)
            }
            Self::Matches(pattern) => {
                let expected = format!("{path} to match `{}`", pattern.as_str());
                let is_other = |value: &&&Value| !matches_text(pattern, value);
                match selected.iter().find(is_other) {
                    Some(value) => mismatch(expected, format!("{path} = {}", shown(value))),
                    None if selected.is_empty() => mismatch(expected, format!("no {path}")),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Whether it is text, or a number, that matches.
fn matches_text(pattern: &Pattern, value: &Value) -> bool {
    match value {
        Value::String(text) => pattern.is_in(text.as_bytes()),
        Value::Number(number) => pattern.is_in(number.to_string().as_bytes()),
        _ => false,
    }
}

/// How many elements the array or object at `path` has, or, if the path may select several values, how many those are.
fn count(path: &str, selected: &[&Value]) -> u64 {
    let count = match selected {
        [Value::Array(elements)] if is_singular(path) => elements.len(),
        [Value::Object(members)] if is_singular(path) => members.len(),
        _ => selected.len(),
    };
    count as u64
}

/// Whether a path that is valid selects at most one value: it only has names and indices.
fn is_singular(path: &str) -> bool {
    let mut quote = None;
    let mut is_escaped = false;
    let mut before = ' ';
    for c in path.chars() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if c == '\\' => is_escaped = true,
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '*' | '?' | ':' | ',') || (before, c) == ('.', '.') => {
                return false;
            }
            None => {}
        }
        before = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;
    use serde_json::json;

    fn rule(path: &str, tests: &str) -> Result<PathRule, String> {
        #[derive(Deserialize)]
        struct File {
            tests: PathTests,
        }
        let file = toml::from_str::<File>(&format!("tests = {tests}"));
        let tests = file.map_err(|error| error.message().to_owned())?.tests;
        PathRule::new(path.to_owned(), tests)
    }

    fn shown(path: &str, tests: &str) -> String {
        let body = json!({
            "items": [{"id": 7, "name": "ann"}, {"id": 7.0, "name": "bob"}],
            "none": null,
            "a.*b": [1, 2, 3],
        });
        let result = rule(path, tests).unwrap().check(&body);
        result.map_or_else(|mismatch| mismatch.to_string(), |()| String::new())
    }

    #[test]
    fn a_difference_has_the_path_and_both_values() {
        for [path, tests, message] in rows(
            r#"
            $.items[0].id | 7 | ""
            $.items[*].id | 7 | ""
            $.items[0] | { json = { id = 7, name = "ann" } } | ""
            $.none | { json = "null" } | ""
            $['a.*b'] | [1, 2, 3] | ""
            $.items[*].name | { matches = "^[ab]" } | ""
            $.items[0].id | { matches = '^\\d$' } | ""
            $.nothing | { exists = false } | ""
            $.none | { exists = true } | ""
            $.items | { count = 2 } | ""
            $['a.*b'] | { count = 3 } | ""
            $.items[*] | { count = { min = 1, max = 2 } } | ""
            $.items[?@.name == 'ann'] | { count = 1, exists = true } | ""
            $..name | { count = 2 } | ""
            $.items[1].id | 8 | expected $.items[1].id = 8, got $.items[1].id = 7.0
            $.items[*].name | "ann" | expected $.items[*].name = "ann", got $.items[*].name = "bob"
            $.x | 1 | expected $.x = 1, got no $.x
            $.x | { exists = true } | expected $.x to exist, got no $.x
            $.none | { exists = false } | expected no $.none, got $.none = null
            $.items | { count = 3 } | expected 3 values in $.items, got 2 values in $.items
            $.items[*].name | { matches = "^a" } | expected $.items[*].name to match `^a`, got $.items[*].name = "bob"
            $.none | { matches = "null" } | expected $.none to match `null`, got $.none = null
            $.x | { matches = "a" } | expected $.x to match `a`, got no $.x
            "#,
        ) {
            assert_eq!(shown(path, tests), message, "{path} {tests}");
        }
    }

    #[test]
    fn faults_are_reported() {
        for [path, tests, expected] in rows(
            r#"
            items | 1 | `items` is not a JSONPath:\u{20}
            $.items[ | 1 | `$.items[` is not a JSONPath:\u{20}
            $.a | {} | write `json`, `matches`, `exists` or `count`
            $.a | { mtches = "a" } | unknown field `mtches`
            $.a | { matches = "(" } | `(` is not a regular expression: unclosed group
            $.a | { count = -1 } | a number below 0 is no amount
            $.a | { count = { min = 2, max = 1 } } | `min` is 2, which is more than `max`, 1
        "#,
        ) {
            let error = rule(path, tests).unwrap_err();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
        }
    }
}
