//! Whether a value is as expected.

use std::borrow::Cow;
use std::fmt;

use super::date;
use super::failure::{Failure, FailureKind, fail};
use super::scope::Scope;
use super::value::{Mismatch, Number, Value, is_ip, is_uuid};
use crate::ast::{Predicate, PredicateValue, RegexValue, Test};
use crate::position::{Position, Span};

/// How a test ended, and what its message is about. Only a failure takes the time to write a message.
struct Outcome<'a> {
    is_passed: Result<bool, Mismatch>,
    actual: Actual,
    expected: Expected<'a>,
}

/// How a message shows the value.
enum Actual {
    /// With its type.
    Described,
    /// Alone.
    Text,
    /// By its size.
    Size(usize),
}

/// How a message shows what was expected.
enum Expected<'a> {
    Word(&'static str),
    /// Words, then a value with its type.
    Value(&'static str, Value),
    Regex(&'a RegexValue, Cow<'a, regex::Regex>),
}

/// Checks a value, or that there is none.
pub(super) fn check(
    predicate: &Predicate,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<(), Failure> {
    let Some(value) = value else {
        let expected = expected_of_nothing(&predicate.test, scope)?;
        if predicate.is_negated {
            return Ok(());
        }
        return failure(predicate, "none".into(), &expected, false);
    };
    let outcome = outcome(predicate, value, scope)?;
    let is_type_mismatch = match outcome.is_passed {
        Ok(is_passed) if is_passed != predicate.is_negated => return Ok(()),
        Ok(_) => false,
        Err(Mismatch) => true,
    };
    let actual = match outcome.actual {
        Actual::Described => value.described(),
        Actual::Text => value.to_string(),
        Actual::Size(size) => format!("count equals to {size}"),
    };
    failure(
        predicate,
        actual,
        &outcome.expected.to_string(),
        is_type_mismatch,
    )
}

fn failure(
    predicate: &Predicate,
    actual: String,
    expected: &str,
    is_type_mismatch: bool,
) -> Result<(), Failure> {
    // `!=` is a negation of its own.
    let is_negated = predicate.is_negated != matches!(predicate.test, Test::NotEqual(_));
    let expected = format!("{}{expected}", if is_negated { "not " } else { "" });
    // Column 0: the message shows no caret.
    let span = Span::at(Position {
        line: predicate.span.start.line,
        column: 0,
    });
    fail(
        span,
        FailureKind::Predicate {
            actual,
            expected,
            is_type_mismatch,
        },
    )
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => formatter.write_str(word),
            Self::Value(words, value) => write!(formatter, "{words}{}", value.described()),
            Self::Regex(RegexValue::Template(_), regex) => {
                write!(formatter, "matches regex <{regex}>")
            }
            Self::Regex(RegexValue::Literal(_), regex) => {
                write!(
                    formatter,
                    "matches regex <{}>",
                    Value::Regex(regex.clone().into_owned())
                )
            }
        }
    }
}

fn outcome<'p>(
    predicate: &'p Predicate,
    value: &Value,
    scope: &mut Scope<'_>,
) -> Result<Outcome<'p>, Failure> {
    let is = of_type;
    let mut compare =
        |other: &PredicateValue, words, test: &dyn Fn(&Value) -> Result<bool, Mismatch>| {
            let other = expected_value(other, scope)?;
            Ok(Outcome {
                is_passed: test(&other),
                actual: Actual::Described,
                expected: Expected::Value(words, other),
            })
        };
    Ok(match &predicate.test {
        Test::Equal(other) => compare(other, "", &|other| Ok(value == other))?,
        Test::NotEqual(other) => compare(other, "", &|other| Ok(value != other))?,
        Test::Greater(other) => compare(other, "greater than ", &|other| {
            Ok(value.order(other)?.is_gt())
        })?,
        Test::GreaterOrEqual(other) => compare(other, "greater or equal than ", &|other| {
            Ok(value.order(other)?.is_ge())
        })?,
        Test::Less(other) => compare(other, "less than ", &|other| {
            Ok(value.order(other)?.is_lt())
        })?,
        Test::LessOrEqual(other) => compare(other, "less or equal than ", &|other| {
            Ok(value.order(other)?.is_le())
        })?,
        Test::StartsWith(other) => {
            compare(other, "starts with ", &|other| value.starts_with(other))?
        }
        Test::EndsWith(other) => compare(other, "ends with ", &|other| value.ends_with(other))?,
        Test::Contains(other) => compare(other, "contains ", &|other| value.contains(other))?,
        Test::Includes(other) => compare(other, "includes ", &|other| value.includes(other))?,
        Test::Matches(pattern) => matches(pattern, predicate.span, value, scope)?,
        Test::Exists => is(true, "something"),
        Test::IsBoolean => is(matches!(value, Value::Bool(_)), "boolean"),
        Test::IsCollection => is(
            matches!(value, Value::Bytes(_) | Value::List(_) | Value::Object(_)),
            "collection",
        ),
        Test::IsDate => is(matches!(value, Value::Date(_)), "date"),
        Test::IsEmpty => is_empty(value),
        Test::IsFloat => is(value.type_name() == "float", "float"),
        Test::IsInteger => is(value.type_name() == "integer", "integer"),
        Test::IsList => is(matches!(value, Value::Bytes(_) | Value::List(_)), "list"),
        Test::IsNumber => is(matches!(value, Value::Number(_)), "number"),
        Test::IsObject => is(matches!(value, Value::Object(_)), "object"),
        Test::IsString => is(matches!(value, Value::Text(_)), "string"),
        Test::IsIpv4 => of_text(
            value,
            |text| is_ip(text, |address| address.is_ipv4()),
            "string in IPv4 format",
        ),
        Test::IsIpv6 => of_text(
            value,
            |text| is_ip(text, |address| address.is_ipv6()),
            "string in IPv6 format",
        ),
        Test::IsIsoDate => of_text(
            value,
            date::is_iso,
            "string with format YYYY-MM-DDTHH:mm:ss.sssZ",
        ),
        Test::IsUuid => of_text(value, is_uuid, "string in UUID format"),
    })
}

fn of_type(is_passed: bool, word: &'static str) -> Outcome<'static> {
    Outcome {
        is_passed: Ok(is_passed),
        actual: Actual::Described,
        expected: Expected::Word(word),
    }
}

fn of_text(value: &Value, is_passed: fn(&str) -> bool, word: &'static str) -> Outcome<'static> {
    match value.text() {
        Ok(text) => Outcome {
            is_passed: Ok(is_passed(text)),
            actual: Actual::Text,
            expected: Expected::Word(word),
        },
        Err(mismatch) => Outcome {
            is_passed: Err(mismatch),
            actual: Actual::Described,
            expected: Expected::Word("string"),
        },
    }
}

fn is_empty(value: &Value) -> Outcome<'static> {
    let (is_passed, actual) = match value.size() {
        Ok(size) => (Ok(size == 0), Actual::Size(size)),
        Err(mismatch) => (Err(mismatch), Actual::Described),
    };
    Outcome {
        is_passed,
        actual,
        expected: Expected::Word("count equals to 0"),
    }
}

fn matches<'p>(
    pattern: &'p RegexValue,
    span: Span,
    value: &Value,
    scope: &mut Scope<'_>,
) -> Result<Outcome<'p>, Failure> {
    let regex = scope.regex(pattern).map_err(|failure| match failure.kind {
        FailureKind::InvalidRegex => Failure { span, ..failure },
        _ => failure,
    })?;
    let is_passed = value.text().map(|text| regex.is_match(text));
    Ok(Outcome {
        is_passed,
        actual: Actual::Described,
        expected: Expected::Regex(pattern, regex),
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

/// What was expected if the query found nothing.
fn expected_of_nothing(test: &Test, scope: &mut Scope<'_>) -> Result<String, Failure> {
    let mut with = |value: &PredicateValue, before: &str, after: &str| {
        Ok(format!(
            "{before}{}{after}",
            summary(&expected_value(value, scope)?)
        ))
    };
    let word = match test {
        Test::Equal(value) | Test::NotEqual(value) => return with(value, "", ""),
        Test::Greater(value) => return with(value, "greater than <", ">"),
        Test::GreaterOrEqual(value) => return with(value, "greater than or equals to <", ">"),
        Test::Less(value) => return with(value, "less than <", ">"),
        Test::LessOrEqual(value) => return with(value, "less than or equals to <", ">"),
        Test::StartsWith(value) => return with(value, "starts with ", ""),
        Test::EndsWith(value) => return with(value, "ends with ", ""),
        Test::Contains(value) => return with(value, "contains ", ""),
        Test::Includes(value) => return with(value, "include ", ""),
        Test::Matches(value) => {
            let pattern = match value {
                RegexValue::Literal(literal) => literal.regex.as_str().to_owned(),
                RegexValue::Template(pattern) => scope.text(&pattern.template)?,
            };
            return Ok(format!("matches regex <{pattern}>"));
        }
        Test::Exists => "something",
        Test::IsBoolean => "boolean",
        Test::IsCollection => "collection",
        Test::IsDate | Test::IsIsoDate => "date",
        Test::IsEmpty => "empty",
        Test::IsFloat => "float",
        Test::IsInteger => "integer",
        Test::IsIpv4 => "ipv4",
        Test::IsIpv6 => "ipv6",
        Test::IsList => "list",
        Test::IsNumber => "number",
        Test::IsObject => "object",
        Test::IsString => "string",
        Test::IsUuid => "uuid",
    };
    Ok(word.into())
}

/// An expected value, shorter if it is long.
fn summary(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => format!(
            "{} byte{}",
            bytes.len(),
            if bytes.len() > 1 { "s" } else { "" }
        ),
        Value::List(values) => format!("list of size {}", values.len()),
        Value::Object(members) => format!("list of size {}", members.len()),
        Value::Null => "null".into(),
        Value::Number(Number::BigInteger(digits)) => format!("number <{digits}>"),
        Value::Regex(regex) => format!("regex <{regex}>"),
        Value::Redirect(redirect) => format!("HTTP response <{redirect}>"),
        Value::Unit => "something".into(),
        Value::Bool(_) | Value::Date(_) | Value::Number(_) | Value::Text(_) => value.described(),
    }
}
