//! Numbers, and how they compare.

use std::cmp::Ordering;
use std::fmt;

#[derive(Clone, Debug)]
pub enum Number {
    /// With decimals.
    Float(f64),
    /// Of at most 64 bits.
    Integer(i64),
    /// A longer one, as its digits.
    BigInteger(String),
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
    /// The order of two numbers by their size.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.whole(), other.whole()) {
            (Some(left), Some(right)) => left.cmp(&right),
            _ => {
                let order = self.float().partial_cmp(&other.float());
                order.unwrap_or(Ordering::Equal)
            }
        }
    }

    /// The value of an integer of up to 38 digits.
    fn whole(&self) -> Option<i128> {
        match self {
            Self::Float(_) => None,
            Self::Integer(value) => Some((*value).into()),
            Self::BigInteger(digits) => digits.parse().ok(),
        }
    }

    fn float(&self) -> f64 {
        match self {
            Self::Float(value) => *value,
            Self::Integer(value) => *value as f64,
            Self::BigInteger(digits) => digits.parse().unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_compare_by_size() {
        let big = |digits: &str| Number::BigInteger(digits.into());
        for (less, more) in [
            (big("99999999999999999999"), big("100000000000000000000")),
            (big("-100000000000000000000"), big("-99999999999999999999")),
            (Number::Integer(1), big("99999999999999999999")),
            (Number::Float(1e19), big("99999999999999999999")),
            (big("99999999999999999999"), big(&"9".repeat(50))),
        ] {
            assert!(less.compare(&more).is_lt(), "{less} {more}");
            assert!(more.compare(&less).is_gt(), "{more} {less}");
        }
    }
}
