//! Predicates.

use super::combine::{Parsed, choice, fatal};
use super::primitive::{boolean, keyword, skip_spaces, spaces, try_literal};
use super::{bytes, multiline, number, regex, template, text};
use crate::ast::{Predicate, PredicateValue, RegexTemplate, RegexValue, Test};
use crate::reader::Reader;

const INVALID_VALUE: &str = "invalid predicate value";

pub(super) fn parse(reader: &mut Reader<'_>) -> Parsed<Predicate> {
    let is_negated = negation(reader);
    let position = reader.position();
    let test = test(reader)?;
    Ok(Predicate {
        is_negated,
        test,
        position,
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
    if let Some(test) = keyword(reader, plain) {
        return Ok(test);
    }
    match operator(reader) {
        Some(operator) => operator.test(reader),
        None => fatal(start, "expecting a predicate"),
    }
}

/// A keyword before a value.
struct Operator {
    keyword: &'static str,
    /// Whether the value may follow without spaces.
    is_symbol: bool,
    /// The test with a value, if it takes such a value.
    test: fn(PredicateValue) -> Option<Test>,
}

impl Operator {
    const fn symbol(keyword: &'static str, test: fn(PredicateValue) -> Option<Test>) -> Self {
        Self {
            keyword,
            is_symbol: true,
            test,
        }
    }

    const fn word(keyword: &'static str, test: fn(PredicateValue) -> Option<Test>) -> Self {
        Self {
            keyword,
            is_symbol: false,
            test,
        }
    }
}

/// The operators. One that begins like another comes first.
const OPERATORS: [Operator; 11] = [
    Operator::symbol("==", |value| Some(Test::Equal(value))),
    Operator::symbol("!=", |value| Some(Test::NotEqual(value))),
    Operator::symbol(">=", |value| {
        is_comparable(&value).then(|| Test::GreaterOrEqual(value))
    }),
    Operator::symbol(">", |value| {
        is_comparable(&value).then(|| Test::Greater(value))
    }),
    Operator::symbol("<=", |value| {
        is_comparable(&value).then(|| Test::LessOrEqual(value))
    }),
    Operator::symbol("<", |value| {
        is_comparable(&value).then(|| Test::Less(value))
    }),
    Operator::word("startsWith", |value| {
        is_text_or_bytes(&value).then(|| Test::StartsWith(value))
    }),
    Operator::word("endsWith", |value| {
        is_text_or_bytes(&value).then(|| Test::EndsWith(value))
    }),
    Operator::word("contains", |value| Some(Test::Contains(value))),
    Operator::word("includes", |value| Some(Test::Includes(value))),
    Operator::word("matches", |value| pattern(value).map(Test::Matches)),
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
        match (self.test)(value) {
            Some(test) => Ok(test),
            None => fatal(start, INVALID_VALUE),
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

fn pattern(value: PredicateValue) -> Option<RegexValue> {
    match value {
        PredicateValue::Text(template) => Some(RegexValue::Template(RegexTemplate::new(template))),
        PredicateValue::Regex(literal) => Some(RegexValue::Literal(literal)),
        _ => None,
    }
}

fn value(reader: &mut Reader<'_>) -> Parsed<PredicateValue> {
    let kinds: &[super::combine::Parser<PredicateValue>] = &[
        |reader| try_literal(reader, "null").map(|()| PredicateValue::Null),
        |reader| boolean(reader).map(PredicateValue::Bool),
        |reader| number::number(reader).map(PredicateValue::Number),
        |reader| bytes::file(reader).map(PredicateValue::File),
        |reader| bytes::hex(reader).map(|bytes| PredicateValue::Bytes(bytes.value)),
        |reader| bytes::base64(reader).map(|bytes| PredicateValue::Bytes(bytes.value)),
        |reader| template::placeholder(reader).map(PredicateValue::Placeholder),
        |reader| text::quoted(reader).map(PredicateValue::Text),
        |reader| multiline::parse(reader).map(PredicateValue::Multiline),
        |reader| text::backtick(reader).map(PredicateValue::Text),
        |reader| regex::literal(reader).map(PredicateValue::Regex),
    ];
    choice(reader, kinds).map_err(|refusal| refusal.because(INVALID_VALUE))
}
