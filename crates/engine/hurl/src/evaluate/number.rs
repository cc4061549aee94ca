//! How numbers compare.

use std::cmp::Ordering;
use std::fmt;

use super::value::Number;
use crate::ast;

impl From<&ast::Number> for Number {
    fn from(number: &ast::Number) -> Self {
        match number {
            ast::Number::Float(value) => Self::Float(*value),
            ast::Number::Integer(value) => Self::Integer(*value),
            ast::Number::BigInteger(digits) => Self::BigInteger(digits.clone()),
        }
    }
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Self::Integer(value),
            (None, Some(value), _) => Self::BigInteger(value.to_string()),
            (None, None, Some(value)) => Self::Float(value),
            (None, None, None) => Self::BigInteger(number.to_string()),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(value) if value.fract() == 0.0 => write!(formatter, "{value}.0"),
            Self::Float(value) => write!(formatter, "{value}"),
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::BigInteger(digits) => formatter.write_str(digits),
        }
    }
}

impl Number {
    /// The order of two numbers. Those of more than 64 bits compare by their digits.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(right),
            (Self::Float(left), Self::Float(right)) => compare_floats(*left, *right),
            (Self::Integer(left), Self::Float(right)) => compare_floats(*left as f64, *right),
            (Self::Float(left), Self::Integer(right)) => compare_floats(*left, *right as f64),
            (left, right) => Digits::of(&left.to_string()).cmp(&Digits::of(&right.to_string())),
        }
    }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// A number as its digits.
#[derive(PartialEq, Eq)]
struct Digits {
    is_negative: bool,
    integer: String,
    decimals: String,
}

impl Digits {
    fn of(text: &str) -> Self {
        let (integer, decimals) = text.split_once('.').unwrap_or((text, ""));
        Self {
            is_negative: integer.starts_with('-'),
            integer: integer.trim_start_matches(['-', '0']).to_owned(),
            decimals: decimals.trim_end_matches('0').to_owned(),
        }
    }
}

impl PartialOrd for Digits {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Digits {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = |digits: &Self| {
            (
                digits.integer.len(),
                digits.integer.clone(),
                digits.decimals.clone(),
            )
        };
        match (self.is_negative, other.is_negative) {
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}
