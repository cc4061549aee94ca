//! Predicates: what a value is to be.

use super::{Multiline, Placeholder, RegexValue, Template};
use crate::number::Number;
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct Predicate {
    /// Whether the test is to fail: `not`.
    pub(crate) is_negated: bool,
    pub test: Test,
    pub position: Position,
}

#[derive(Clone, Debug)]
pub enum Test {
    Compares(Comparison, PredicateValue),
    Matches(RegexValue),
    Is(Property),
}

keywords! {
    /// How a value is compared with another. One whose keyword begins like another's comes first.
    Comparison {
        Equal = "==",
        NotEqual = "!=",
        GreaterOrEqual = ">=",
        Greater = ">",
        LessOrEqual = "<=",
        Less = "<",
        StartsWith = "startsWith",
        EndsWith = "endsWith",
        Contains = "contains",
        Includes = "includes",
    }
}

keywords! {
    /// What a value may be by itself.
    Property {
        IsInteger = "isInteger",
        IsFloat = "isFloat",
        IsBoolean = "isBoolean",
        IsString = "isString",
        IsCollection = "isCollection",
        IsList = "isList",
        IsObject = "isObject",
        IsDate = "isDate",
        IsIsoDate = "isIsoDate",
        Exists = "exists",
        IsEmpty = "isEmpty",
        IsNumber = "isNumber",
        IsIpv4 = "isIpv4",
        IsIpv6 = "isIpv6",
        IsUuid = "isUuid",
    }
}

#[derive(Clone, Debug)]
pub enum PredicateValue {
    /// `base64,…;` or `hex,…;`
    Bytes(Vec<u8>),
    Bool(bool),
    /// `file,name;`
    File(Template),
    Multiline(Multiline),
    Null,
    Number(Number),
    Placeholder(Placeholder),
    /// `/…/`
    Regex(regex::Regex),
    /// A text between quotes or backticks.
    Text(Template),
}
