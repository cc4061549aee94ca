//! Predicates.

use super::combine::{Parsed, Refusal, choice, fatal};
use super::primitive::{boolean, skip_spaces, spaces, try_literal};
use super::{bytes, multiline, number, regex, template, text};
use crate::ast::{Predicate, PredicateValue, Test};
use crate::error::{ParseError, ParseErrorKind};
use crate::reader::Reader;

pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Predicate> {
    let is_negated = negation(reader);
    let start = reader.cursor();
    let test = test(reader)?;
    Ok(Predicate {
        is_negated,
        test,
        span: reader.span_since(start),
    })
}

fn negation(reader: &mut Reader<'_>) -> bool {
    let start = reader.cursor();
    let is_negated = reader.skip("not") && skip_spaces(reader);
    if !is_negated {
        reader.seek(start);
    }
    is_negated
}

fn test(reader: &mut Reader<'_>) -> Parsed<Test> {
    let start = reader.position();
    let plain = [
        ("isInteger", Test::IsInteger),
        ("isFloat", Test::IsFloat),
        ("isBoolean", Test::IsBoolean),
        ("isString", Test::IsString),
        ("isCollection", Test::IsCollection),
        ("isList", Test::IsList),
        ("isObject", Test::IsObject),
        ("isDate", Test::IsDate),
        ("isIsoDate", Test::IsIsoDate),
        ("exists", Test::Exists),
        ("isEmpty", Test::IsEmpty),
        ("isNumber", Test::IsNumber),
        ("isIpv4", Test::IsIpv4),
        ("isIpv6", Test::IsIpv6),
        ("isUuid", Test::IsUuid),
    ];
    for (keyword, test) in plain {
        if reader.skip(keyword) {
            return Ok(test);
        }
    }
    match operator(reader) {
        Some(operator) => operator.test(reader),
        None => fatal(start, ParseErrorKind::Predicate),
    }
}

/// A keyword before a value.
struct Operator {
    keyword: &'static str,
    test: fn(PredicateValue) -> Test,
    /// Whether the value may follow without spaces.
    is_symbol: bool,
    takes: fn(&PredicateValue) -> bool,
}

/// The operators. One that begins like another comes first.
const OPERATORS: [Operator; 11] = [
    Operator {
        keyword: "==",
        test: Test::Equal,
        is_symbol: true,
        takes: |_| true,
    },
    Operator {
        keyword: "!=",
        test: Test::NotEqual,
        is_symbol: true,
        takes: |_| true,
    },
    Operator {
        keyword: ">=",
        test: Test::GreaterOrEqual,
        is_symbol: true,
        takes: is_comparable,
    },
    Operator {
        keyword: ">",
        test: Test::Greater,
        is_symbol: true,
        takes: is_comparable,
    },
    Operator {
        keyword: "<=",
        test: Test::LessOrEqual,
        is_symbol: true,
        takes: is_comparable,
    },
    Operator {
        keyword: "<",
        test: Test::Less,
        is_symbol: true,
        takes: is_comparable,
    },
    Operator {
        keyword: "startsWith",
        test: Test::StartsWith,
        is_symbol: false,
        takes: is_text_or_bytes,
    },
    Operator {
        keyword: "endsWith",
        test: Test::EndsWith,
        is_symbol: false,
        takes: is_text_or_bytes,
    },
    Operator {
        keyword: "contains",
        test: Test::Contains,
        is_symbol: false,
        takes: |_| true,
    },
    Operator {
        keyword: "includes",
        test: Test::Includes,
        is_symbol: false,
        takes: |_| true,
    },
    Operator {
        keyword: "matches",
        test: Test::Matches,
        is_symbol: false,
        takes: is_pattern,
    },
];

fn operator(reader: &mut Reader<'_>) -> Option<&'static Operator> {
    OPERATORS
        .iter()
        .find(|operator| reader.skip(operator.keyword))
}

impl Operator {
    fn test(&self, reader: &mut Reader<'_>) -> Parsed<Test> {
        if self.is_symbol {
            skip_spaces(reader);
        } else {
            spaces(reader)?;
        }
        let start = reader.position();
        let value = value(reader)?;
        if (self.takes)(&value) {
            Ok((self.test)(value))
        } else {
            fatal(start, ParseErrorKind::PredicateValue)
        }
    }
}

fn is_comparable(value: &PredicateValue) -> bool {
    matches!(
        value,
        PredicateValue::Number(_) | PredicateValue::Text(_) | PredicateValue::Placeholder(_)
    )
}

fn is_text_or_bytes(value: &PredicateValue) -> bool {
    matches!(value, PredicateValue::Text(_) | PredicateValue::Bytes(_))
}

fn is_pattern(value: &PredicateValue) -> bool {
    matches!(value, PredicateValue::Text(_) | PredicateValue::Regex(_))
}

fn value(reader: &mut Reader<'_>) -> Parsed<PredicateValue> {
    let kinds: &[super::combine::Parser<PredicateValue>] = &[
        |reader| try_literal(reader, "null").map(|()| PredicateValue::Null),
        |reader| boolean(reader).map(PredicateValue::Bool),
        |reader| number::number(reader).map(PredicateValue::Number),
        |reader| bytes::file(reader).map(PredicateValue::File),
        |reader| bytes::hex(reader).map(PredicateValue::Bytes),
        |reader| bytes::base64(reader).map(PredicateValue::Bytes),
        |reader| template::placeholder(reader).map(PredicateValue::Placeholder),
        |reader| text::quoted(reader).map(PredicateValue::Text),
        |reader| multiline::parse(reader).map(PredicateValue::Multiline),
        |reader| text::backtick(reader).map(PredicateValue::Text),
        |reader| regex::literal(reader).map(PredicateValue::Regex),
    ];
    choice(reader, kinds).map_err(|refusal| {
        let kind = if refusal.is_fatal {
            refusal.error.kind
        } else {
            ParseErrorKind::PredicateValue
        };
        Refusal {
            error: ParseError {
                kind,
                ..refusal.error
            },
            is_fatal: true,
        }
    })
}
