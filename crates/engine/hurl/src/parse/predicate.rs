//! Predicates.

use super::combine::{Parsed, Parser, choice, fatal};
use super::primitive::{boolean, keyword, skip_spaces, spaces, try_literal};
use super::{bytes, multiline, number, regex, template, text};
use crate::ast::{
    Comparison, Predicate, PredicateValue, Property, RegexTemplate, RegexValue, Test,
};
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
    if let Some(property) = keyword(reader, Property::ALL) {
        return Ok(Test::Is(property));
    }
    if reader.skip("matches") {
        spaces(reader)?;
        let start = reader.position();
        return match value(reader)? {
            PredicateValue::Text(template) => Ok(Test::Matches(RegexValue::Template(
                RegexTemplate::new(template),
            ))),
            PredicateValue::Regex(regex) => Ok(Test::Matches(RegexValue::Literal(regex))),
            _ => fatal(start, INVALID_VALUE),
        };
    }
    let Some(comparison) = keyword(reader, Comparison::ALL) else {
        return fatal(start, "expecting a predicate");
    };
    // The value may follow a symbol without spaces.
    if comparison.name().starts_with(char::is_alphabetic) {
        spaces(reader)?;
    } else {
        skip_spaces(reader);
    }
    let start = reader.position();
    let value = value(reader)?;
    if takes(comparison, &value) {
        Ok(Test::Compares(comparison, value))
    } else {
        fatal(start, INVALID_VALUE)
    }
}

fn takes(comparison: Comparison, value: &PredicateValue) -> bool {
    use PredicateValue::{Bytes, Number, Placeholder, Text};
    match comparison {
        Comparison::Greater
        | Comparison::GreaterOrEqual
        | Comparison::Less
        | Comparison::LessOrEqual => matches!(value, Number(_) | Text(_) | Placeholder(_)),
        Comparison::StartsWith | Comparison::EndsWith => matches!(value, Text(_) | Bytes(_)),
        _ => true,
    }
}

fn value(reader: &mut Reader<'_>) -> Parsed<PredicateValue> {
    let kinds: &[Parser<PredicateValue>] = &[
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
    choice(reader, kinds).map_err(|refusal| refusal.because(INVALID_VALUE))
}
