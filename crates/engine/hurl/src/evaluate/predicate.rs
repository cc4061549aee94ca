//! Whether a value is as expected.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use super::date;
use super::failure::{Failure, INVALID_REGEX, fail};
use super::scope::Scope;
use super::value::{Mismatch, Value, is_ip, is_uuid};
use crate::ast::{Predicate, PredicateValue, RegexValue, Test};
use crate::position::Position;

/// How a test ended, and what was expected. Only a failure takes the time to write a message.
struct Outcome<'a> {
    is_passed: Result<bool, Mismatch>,
    expected: Expected<'a>,
}

/// How a message shows what was expected.
enum Expected<'a> {
    Word(&'static str),
    /// Words, then a value with its type.
    Value(&'static str, Value),
    Regex(Cow<'a, regex::Regex>),
}

/// Checks a value, or that there is none.
pub(super) fn check(
    predicate: &Predicate,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<(), Failure> {
    let outcome = outcome(predicate, value, scope)?;
    let note = match outcome.is_passed {
        Ok(is_passed) if is_passed != predicate.is_negated => return Ok(()),
        Ok(_) => "",
        Err(Mismatch) => " >>> types between actual and expected are not consistent",
    };
    let actual = value.map_or_else(|| "none".to_owned(), Value::described);
    // `!=` is a negation of its own.
    let is_negated = predicate.is_negated != matches!(predicate.test, Test::NotEqual(_));
    let not = if is_negated { "not " } else { "" };
    let expected = outcome.expected;
    let reason = format!("actual: {actual} expected: {not}{expected}{note}");
    // Column 0, as in Hurl: what fails is the whole line.
    let position = Position {
        line: predicate.position.line,
        column: 0,
    };
    fail(position, "Assert failure", reason)
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => formatter.write_str(word),
            Self::Value(words, value) => write!(formatter, "{words}{}", value.described()),
            Self::Regex(regex) => write!(formatter, "matches regex <{regex}>"),
        }
    }
}

/// A test of no value does not pass, but what it compares with is evaluated nevertheless.
fn outcome<'p>(
    predicate: &'p Predicate,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<Outcome<'p>, Failure> {
    let is = |test: fn(&Value) -> Result<bool, Mismatch>, word| Outcome {
        is_passed: value.map_or(Ok(false), test),
        expected: Expected::Word(word),
    };
    let mut compare = |other: &PredicateValue,
                       words,
                       test: fn(&Value, &Value) -> Result<bool, Mismatch>|
     -> Result<Outcome<'static>, Failure> {
        let other = expected_value(other, scope)?;
        Ok(Outcome {
            is_passed: value.map_or(Ok(false), |value| test(value, &other)),
            expected: Expected::Value(words, other),
        })
    };
    Ok(match &predicate.test {
        Test::Equal(other) => compare(other, "", |value, other| Ok(value == other))?,
        Test::NotEqual(other) => compare(other, "", |value, other| Ok(value != other))?,
        Test::Greater(other) => compare(other, "greater than ", |value, other| {
            Ok(value.order(other)?.is_gt())
        })?,
        Test::GreaterOrEqual(other) => compare(other, "greater or equal than ", |value, other| {
            Ok(value.order(other)?.is_ge())
        })?,
        Test::Less(other) => compare(other, "less than ", |value, other| {
            Ok(value.order(other)?.is_lt())
        })?,
        Test::LessOrEqual(other) => compare(other, "less or equal than ", |value, other| {
            Ok(value.order(other)?.is_le())
        })?,
        Test::StartsWith(other) => compare(other, "starts with ", Value::starts_with)?,
        Test::EndsWith(other) => compare(other, "ends with ", Value::ends_with)?,
        Test::Contains(other) => compare(other, "contains ", Value::contains)?,
        Test::Includes(other) => compare(other, "includes ", Value::includes)?,
        Test::Matches(pattern) => matches(pattern, predicate.position, value, scope)?,
        Test::Exists => is(|_| Ok(true), "something"),
        Test::IsBoolean => is(|value| Ok(matches!(value, Value::Bool(_))), "boolean"),
        Test::IsCollection => is(
            |value| {
                Ok(matches!(
                    value,
                    Value::Bytes(_) | Value::List(_) | Value::Object(_)
                ))
            },
            "collection",
        ),
        Test::IsDate => is(|value| Ok(matches!(value, Value::Date(_))), "date"),
        Test::IsEmpty => is(|value| Ok(value.size()? == 0), "empty"),
        Test::IsFloat => is(|value| Ok(value.type_name() == "float"), "float"),
        Test::IsInteger => is(|value| Ok(value.type_name() == "integer"), "integer"),
        Test::IsList => is(
            |value| Ok(matches!(value, Value::Bytes(_) | Value::List(_))),
            "list",
        ),
        Test::IsNumber => is(|value| Ok(matches!(value, Value::Number(_))), "number"),
        Test::IsObject => is(|value| Ok(matches!(value, Value::Object(_))), "object"),
        Test::IsString => is(|value| Ok(matches!(value, Value::Text(_))), "string"),
        Test::IsIpv4 => is(
            |value| Ok(is_ip(value.text()?, IpAddr::is_ipv4)),
            "string in IPv4 format",
        ),
        Test::IsIpv6 => is(
            |value| Ok(is_ip(value.text()?, IpAddr::is_ipv6)),
            "string in IPv6 format",
        ),
        Test::IsIsoDate => is(
            |value| Ok(date::is_iso(value.text()?)),
            "string with format YYYY-MM-DDTHH:mm:ss.sssZ",
        ),
        Test::IsUuid => is(|value| Ok(is_uuid(value.text()?)), "string in UUID format"),
    })
}

fn matches<'p>(
    pattern: &'p RegexValue,
    position: Position,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<Outcome<'p>, Failure> {
    let Some(value) = value else {
        // A text with placeholders is not compiled.
        let pattern = match pattern {
            RegexValue::Literal(literal) => literal.regex.as_str().to_owned(),
            RegexValue::Template(pattern) => scope.text(&pattern.template)?,
        };
        return Ok(Outcome {
            is_passed: Ok(false),
            expected: Expected::Value("matches regex ", Value::Text(pattern)),
        });
    };
    let regex = scope.regex(pattern).map_err(|failure| {
        if failure.title == INVALID_REGEX {
            Failure {
                position,
                ..failure
            }
        } else {
            failure
        }
    })?;
    Ok(Outcome {
        is_passed: value.text().map(|text| regex.is_match(text)),
        expected: Expected::Regex(regex),
    })
}

/// The value of a predicate.
fn expected_value(value: &PredicateValue, scope: &mut Scope<'_>) -> Result<Value, Failure> {
    Ok(match value {
        PredicateValue::Bytes(bytes) => Value::Bytes(bytes.clone()),
        PredicateValue::Bool(value) => Value::Bool(*value),
        PredicateValue::File(name) => Value::Bytes(scope.file(name)?),
        PredicateValue::Multiline(multiline) => Value::Text(scope.multiline(multiline)?),
        PredicateValue::Null => Value::Null,
        PredicateValue::Number(number) => Value::Number(number.into()),
        PredicateValue::Placeholder(placeholder) => scope.value(placeholder)?,
        PredicateValue::Regex(literal) => Value::Regex(literal.regex.clone()),
        PredicateValue::Text(template) => Value::Text(scope.text(template)?),
    })
}
