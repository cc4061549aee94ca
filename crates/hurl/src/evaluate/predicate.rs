//! Whether a value is as expected.

use super::date;
use super::failure::{Failure, FailureKind, fail};
use super::scope::Scope;
use super::value::{Mismatch, Number, Value, is_ip, is_uuid};
use crate::ast::{Predicate, PredicateValue, RegexValue, Test};
use crate::position::{Position, Span};

/// How a test ended.
struct Outcome {
    is_passed: Result<bool, Mismatch>,
    actual: String,
    expected: String,
}

/// Checks a value, or that there is none.
pub(super) fn check(
    predicate: &Predicate,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<(), Failure> {
    let outcome = match value {
        Some(value) => outcome(predicate, value, scope)?,
        None => Outcome {
            is_passed: Ok(false),
            actual: "none".into(),
            expected: expected_of_nothing(&predicate.test, scope)?,
        },
    };
    let is_type_mismatch = match outcome.is_passed {
        Ok(is_passed) if is_passed != predicate.is_negated => return Ok(()),
        Ok(_) => false,
        Err(Mismatch) => true,
    };
    // `!=` is a negation of its own.
    let not = if predicate.is_negated != matches!(predicate.test, Test::NotEqual(_)) {
        "not "
    } else {
        ""
    };
    let expected = format!("{not}{}", outcome.expected);
    // Column 0: the message shows no caret.
    let span = Span::at(Position {
        line: predicate.span.start.line,
        column: 0,
    });
    fail(
        span,
        FailureKind::Predicate {
            actual: outcome.actual,
            expected,
            is_type_mismatch,
        },
    )
}

fn outcome(
    predicate: &Predicate,
    value: &Value,
    scope: &mut Scope<'_>,
) -> Result<Outcome, Failure> {
    let described = || value.described();
    let of_type = |is_passed: bool, expected: &str| Outcome {
        is_passed: Ok(is_passed),
        actual: described(),
        expected: expected.into(),
    };
    let of_text = |is_passed: fn(&str) -> bool, expected: &str| match value.text() {
        Ok(text) => Outcome {
            is_passed: Ok(is_passed(text)),
            actual: text.into(),
            expected: expected.into(),
        },
        Err(mismatch) => Outcome {
            is_passed: Err(mismatch),
            actual: described(),
            expected: "string".into(),
        },
    };
    let mut compare =
        |other: &PredicateValue, words: &str, test: &dyn Fn(&Value) -> Result<bool, Mismatch>| {
            let other = expected_value(other, scope)?;
            Ok(Outcome {
                is_passed: test(&other),
                actual: described(),
                expected: format!("{words}{}", other.described()),
            })
        };
    Ok(match &predicate.test {
        Test::Equal(other) => compare(other, "", &|other| Ok(value == other))?,
        Test::NotEqual(other) => compare(other, "", &|other| Ok(value != other))?,
        Test::Greater(other) => compare(other, "greater than ", &|other| {
            value.order(other).map(|order| order.is_gt())
        })?,
        Test::GreaterOrEqual(other) => compare(other, "greater or equal than ", &|other| {
            value.order(other).map(|order| order.is_ge())
        })?,
        Test::Less(other) => compare(other, "less than ", &|other| {
            value.order(other).map(|order| order.is_lt())
        })?,
        Test::LessOrEqual(other) => compare(other, "less or equal than ", &|other| {
            value.order(other).map(|order| order.is_le())
        })?,
        Test::StartsWith(other) => {
            compare(other, "starts with ", &|other| value.starts_with(other))?
        }
        Test::EndsWith(other) => compare(other, "ends with ", &|other| value.ends_with(other))?,
        Test::Contains(other) => compare(other, "contains ", &|other| value.contains(other))?,
        Test::Includes(other) => compare(other, "includes ", &|other| value.includes(other))?,
        Test::Matches(pattern) => matches(pattern, predicate.span, value, scope)?,
        Test::Exists => of_type(true, "something"),
        Test::IsBoolean => of_type(matches!(value, Value::Bool(_)), "boolean"),
        Test::IsCollection => of_type(
            matches!(value, Value::Bytes(_) | Value::List(_) | Value::Object(_)),
            "collection",
        ),
        Test::IsDate => of_type(matches!(value, Value::Date(_)), "date"),
        Test::IsEmpty => is_empty(value),
        Test::IsFloat => of_type(value.type_name() == "float", "float"),
        Test::IsInteger => of_type(value.type_name() == "integer", "integer"),
        Test::IsList => of_type(matches!(value, Value::Bytes(_) | Value::List(_)), "list"),
        Test::IsNumber => of_type(matches!(value, Value::Number(_)), "number"),
        Test::IsObject => of_type(matches!(value, Value::Object(_)), "object"),
        Test::IsString => of_type(matches!(value, Value::Text(_)), "string"),
        Test::IsIpv4 => of_text(
            |text| is_ip(text, |address| address.is_ipv4()),
            "string in IPv4 format",
        ),
        Test::IsIpv6 => of_text(
            |text| is_ip(text, |address| address.is_ipv6()),
            "string in IPv6 format",
        ),
        Test::IsIsoDate => of_text(date::is_iso, "string with format YYYY-MM-DDTHH:mm:ss.sssZ"),
        Test::IsUuid => of_text(is_uuid, "string in UUID format"),
    })
}

fn is_empty(value: &Value) -> Outcome {
    let (is_passed, actual) = match value.size() {
        Ok(size) => (Ok(size == 0), format!("count equals to {size}")),
        Err(mismatch) => (Err(mismatch), value.described()),
    };
    Outcome {
        is_passed,
        actual,
        expected: "count equals to 0".into(),
    }
}

fn matches(
    pattern: &RegexValue,
    span: Span,
    value: &Value,
    scope: &mut Scope<'_>,
) -> Result<Outcome, Failure> {
    let regex = scope.regex(pattern).map_err(|failure| match failure.kind {
        FailureKind::InvalidRegex => Failure { span, ..failure },
        _ => failure,
    })?;
    let shown = match pattern {
        RegexValue::Literal(literal) => Value::Regex(literal.regex.clone()).to_string(),
        RegexValue::Template(_) => regex.as_str().to_owned(),
    };
    Ok(Outcome {
        is_passed: value.text().map(|text| regex.is_match(text)),
        actual: value.described(),
        expected: format!("matches regex <{shown}>"),
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
        Value::Unit => "something".into(),
        Value::Bool(_) | Value::Date(_) | Value::Number(_) | Value::Text(_) => value.described(),
    }
}
