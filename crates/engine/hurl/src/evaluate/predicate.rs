//! Whether a value is as expected.

use std::net::IpAddr;

use super::date;
use super::failure::Failure;
use super::scope::Scope;
use super::value::{Mismatch, Value, is_ip, is_uuid};
use crate::ast::{Comparison, Predicate, PredicateValue, Property, Test};
use crate::position::Position;

/// Checks a value, or that there is none. No value passes no test, but what it is compared with is evaluated
/// nevertheless.
pub(super) fn check(
    predicate: &Predicate,
    value: Option<&Value>,
    scope: &mut Scope<'_>,
) -> Result<(), Failure> {
    let passes = |test: &dyn Fn(&Value) -> Result<bool, Mismatch>| value.map_or(Ok(false), test);
    // Only a failure takes the time to write a message.
    let judge = |is_passed, expected: &dyn Fn() -> String| match is_passed {
        Ok(is_passed) if is_passed != predicate.is_negated => Ok(()),
        Ok(_) => Err(failure(predicate, value, &expected(), "")),
        Err(Mismatch) => {
            let note = " >>> types between actual and expected are not consistent";
            Err(failure(predicate, value, &expected(), note))
        }
    };
    match &predicate.test {
        Test::Is(property) => {
            let is_passed = passes(&|value| has(value, *property));
            judge(is_passed, &|| described(*property).to_owned())
        }
        Test::Compares(comparison, other) => {
            let other = expected_value(other, scope)?;
            let is_passed = passes(&|value| compares(value, *comparison, &other));
            judge(is_passed, &|| {
                format!("{}{}", words(*comparison), other.described())
            })
        }
        Test::Matches(pattern) => {
            let regex = scope.regex(pattern)?;
            let is_passed = passes(&|value| Ok(regex.is_match(value.text()?)));
            judge(is_passed, &|| format!("matches regex <{regex}>"))
        }
    }
}

fn failure(predicate: &Predicate, value: Option<&Value>, expected: &str, note: &str) -> Failure {
    let actual = value.map_or_else(|| "none".to_owned(), Value::described);
    // `!=` is a negation of its own.
    let is_not_equal = matches!(predicate.test, Test::Compares(Comparison::NotEqual, _));
    let not = if predicate.is_negated == is_not_equal {
        ""
    } else {
        "not "
    };
    let reason = format!("actual: {actual} expected: {not}{expected}{note}");
    // Column 0, as in Hurl: what fails is the whole line.
    let position = Position {
        column: 0,
        ..predicate.position
    };
    Failure::new(position, "Assert failure", reason)
}

fn compares(value: &Value, comparison: Comparison, other: &Value) -> Result<bool, Mismatch> {
    match comparison {
        Comparison::Equal => Ok(value == other),
        Comparison::NotEqual => Ok(value != other),
        Comparison::Greater => Ok(value.order(other)?.is_gt()),
        Comparison::GreaterOrEqual => Ok(value.order(other)?.is_ge()),
        Comparison::Less => Ok(value.order(other)?.is_lt()),
        Comparison::LessOrEqual => Ok(value.order(other)?.is_le()),
        Comparison::StartsWith => value.starts_with(other),
        Comparison::EndsWith => value.ends_with(other),
        Comparison::Contains => value.contains(other),
        Comparison::Includes => value.includes(other),
    }
}

fn words(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal | Comparison::NotEqual => "",
        Comparison::Greater => "greater than ",
        Comparison::GreaterOrEqual => "greater or equal than ",
        Comparison::Less => "less than ",
        Comparison::LessOrEqual => "less or equal than ",
        Comparison::StartsWith => "starts with ",
        Comparison::EndsWith => "ends with ",
        Comparison::Contains => "contains ",
        Comparison::Includes => "includes ",
    }
}

fn has(value: &Value, property: Property) -> Result<bool, Mismatch> {
    Ok(match property {
        Property::Exists => true,
        Property::IsCollection => {
            matches!(value, Value::Bytes(_) | Value::List(_) | Value::Object(_))
        }
        Property::IsEmpty => value.size()? == 0,
        Property::IsList => matches!(value, Value::Bytes(_) | Value::List(_)),
        Property::IsNumber => matches!(value, Value::Number(_)),
        Property::IsIpv4 => is_ip(value.text()?, IpAddr::is_ipv4),
        Property::IsIpv6 => is_ip(value.text()?, IpAddr::is_ipv6),
        Property::IsIsoDate => date::is_iso(value.text()?),
        Property::IsUuid => is_uuid(value.text()?),
        Property::IsBoolean
        | Property::IsDate
        | Property::IsFloat
        | Property::IsInteger
        | Property::IsObject
        | Property::IsString => value.type_name() == described(property),
    })
}

fn described(property: Property) -> &'static str {
    match property {
        Property::Exists => "something",
        Property::IsBoolean => "boolean",
        Property::IsCollection => "collection",
        Property::IsDate => "date",
        Property::IsEmpty => "empty",
        Property::IsFloat => "float",
        Property::IsInteger => "integer",
        Property::IsList => "list",
        Property::IsNumber => "number",
        Property::IsObject => "object",
        Property::IsString => "string",
        Property::IsIpv4 => "string in IPv4 format",
        Property::IsIpv6 => "string in IPv6 format",
        Property::IsIsoDate => "string with format YYYY-MM-DDTHH:mm:ss.sssZ",
        Property::IsUuid => "string in UUID format",
    }
}

fn expected_value(value: &PredicateValue, scope: &mut Scope<'_>) -> Result<Value, Failure> {
    Ok(match value {
        PredicateValue::Bytes(bytes) => Value::Bytes(bytes.clone()),
        PredicateValue::Bool(value) => Value::Bool(*value),
        PredicateValue::File(name) => Value::Bytes(scope.file(name)?),
        PredicateValue::Multiline(multiline) => Value::Text(scope.multiline(multiline)?),
        PredicateValue::Null => Value::Null,
        PredicateValue::Number(number) => Value::Number(number.clone()),
        PredicateValue::Placeholder(placeholder) => scope.value(placeholder)?,
        PredicateValue::Regex(regex) => Value::Regex(regex.clone()),
        PredicateValue::Text(template) => Value::Text(scope.text(template)?),
    })
}
