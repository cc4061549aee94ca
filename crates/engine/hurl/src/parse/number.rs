//! Numbers and times.

use std::time::Duration;

use super::combine::{Parsed, fatal, soft};
use crate::ast::Count;
use crate::number::Number;
use crate::reader::Reader;

pub(super) fn natural(reader: &mut Reader<'_>) -> Parsed<u64> {
    let start = reader.position();
    let value = digits(reader, "natural")?.parse();
    value.or_else(|_| fatal(start, "expecting 'natural'"))
}

pub(super) fn integer(reader: &mut Reader<'_>) -> Parsed<i64> {
    let start = reader.position();
    let sign = if reader.skip("-") { -1 } else { 1 };
    let value = digits(reader, "integer")?.parse::<i64>();
    let value = value.map(|value| sign * value);
    value.or_else(|_| fatal(start, "expecting 'integer'"))
}

/// Digits without a leading zero.
fn digits<'a>(reader: &mut Reader<'a>, expecting: &str) -> Parsed<&'a str> {
    let start = reader.position();
    let digits = reader.read_while(|character| character.is_ascii_digit());
    if digits.is_empty() {
        return soft(start, format!("expecting '{expecting}'"));
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return fatal(start.right(1), format!("expecting '{expecting}'"));
    }
    Ok(digits)
}

pub(super) fn number(reader: &mut Reader<'_>) -> Parsed<Number> {
    let start = reader.cursor();
    reader.skip("-");
    let integer = reader.read_while(|character| character.is_ascii_digit());
    if integer.is_empty() {
        return soft(reader.position(), "expecting 'number'");
    }
    if integer.len() > 1 && integer.starts_with('0') {
        return fatal(reader.position(), "expecting 'natural'");
    }
    if reader.skip(".") {
        let decimals_start = reader.position();
        if reader
            .read_while(|character| character.is_ascii_digit())
            .is_empty()
        {
            return fatal(decimals_start, "expecting 'decimal digits'");
        }
        let value = reader.since(start).parse().map(Number::Float);
        return value.or_else(|_| fatal(start.position, "expecting 'float'"));
    }
    let text = reader.since(start);
    let big = || Number::BigInteger(text.to_owned());
    Ok(text.parse().map_or_else(|_| big(), Number::Integer))
}

/// A number of times, or `-1` for without end.
pub(super) fn count(reader: &mut Reader<'_>) -> Parsed<Count> {
    let start = reader.position();
    match integer(reader)? {
        -1 => Ok(Count::Infinite),
        value => u64::try_from(value)
            .map(Count::Finite)
            .or_else(|_| fatal(start, "expecting 'integer >= -1'")),
    }
}

/// A number with or without a unit of time: milliseconds, as for Hurl, which only takes seconds on its command line.
pub(super) fn duration(reader: &mut Reader<'_>) -> Parsed<Duration> {
    let value = natural(reader)?;
    let start = reader.position();
    let unit = match reader.read_while(|character| character.is_ascii_alphabetic()) {
        "" | "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return fatal(start, "expecting 'ms', 's', 'm' or 'h'"),
    };
    Ok(Duration::from_millis(value.saturating_mul(unit)))
}
