//! Predicates: what a value is to be.

use super::{Multiline, Placeholder, RegexLiteral, RegexValue, Template};
use crate::position::Position;

/// What a value is to be.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Whether the test is to fail: `not`.
    pub is_negated: bool,
    /// The test.
    pub test: Test,
    /// Where the test is.
    pub position: Position,
}

/// The kinds of tests.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each has the name of its keyword")]
pub enum Test {
    Equal(PredicateValue),
    NotEqual(PredicateValue),
    Greater(PredicateValue),
    GreaterOrEqual(PredicateValue),
    Less(PredicateValue),
    LessOrEqual(PredicateValue),
    StartsWith(PredicateValue),
    EndsWith(PredicateValue),
    Contains(PredicateValue),
    Includes(PredicateValue),
    Matches(RegexValue),
    Exists,
    IsBoolean,
    IsCollection,
    IsDate,
    IsEmpty,
    IsFloat,
    IsInteger,
    IsIpv4,
    IsIpv6,
    IsIsoDate,
    IsList,
    IsNumber,
    IsObject,
    IsString,
    IsUuid,
}

/// A value to compare with.
#[derive(Clone, Debug)]
pub enum PredicateValue {
    /// `base64,…;` or `hex,…;`
    Bytes(Vec<u8>),
    /// `true` or `false`
    Bool(bool),
    /// `file,name;`
    File(Template),
    /// A text between lines of three backticks.
    Multiline(Multiline),
    /// `null`
    Null,
    /// A number.
    Number(Number),
    /// `{{name}}`
    Placeholder(Placeholder),
    /// `/…/`
    Regex(RegexLiteral),
    /// A text between quotes or backticks.
    Text(Template),
}

/// A number.
#[derive(Clone, Debug)]
pub enum Number {
    /// With decimals.
    Float(f64),
    /// Of at most 64 bits.
    Integer(i64),
    /// A longer one, as its digits.
    BigInteger(String),
}
