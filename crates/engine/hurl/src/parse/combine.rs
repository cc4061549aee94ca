//! How parsers are combined. As in Hurl, an error is either *soft* (this is something else: try the next parser) or
//! fatal, because errors are to be at the same place.

use std::borrow::Cow;

use crate::error::Fault;
use crate::position::Position;
use crate::reader::Reader;

#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) error: Fault,
    pub(super) is_fatal: bool,
}

impl Refusal {
    pub(super) fn is_soft(&self) -> bool {
        !self.is_fatal
    }

    pub(super) fn into_fatal(self) -> Self {
        Self {
            is_fatal: true,
            ..self
        }
    }

    /// The fatal refusal with this reason, if no other parser has found a better one.
    pub(super) fn because(self, reason: impl Into<Cow<'static, str>>) -> Self {
        if self.is_fatal {
            return self;
        }
        Self {
            error: Fault::invalid(self.error.position, reason),
            is_fatal: true,
        }
    }

    pub(super) fn into_soft(self) -> Self {
        Self {
            is_fatal: false,
            ..self
        }
    }
}

pub(super) type Parsed<T> = Result<T, Refusal>;

pub(super) type Parser<T> = for<'a> fn(&mut Reader<'a>) -> Parsed<T>;

pub(super) fn soft<T>(position: Position, reason: impl Into<Cow<'static, str>>) -> Parsed<T> {
    Err(Refusal {
        error: Fault::invalid(position, reason),
        is_fatal: false,
    })
}

pub(super) fn fatal<T>(position: Position, reason: impl Into<Cow<'static, str>>) -> Parsed<T> {
    soft(position, reason).map_err(Refusal::into_fatal)
}

/// The parser's value, or nothing if it softly refuses.
pub(super) fn optional<T>(reader: &mut Reader<'_>, parser: Parser<T>) -> Parsed<Option<T>> {
    let start = reader.cursor();
    match parser(reader) {
        Ok(value) => Ok(Some(value)),
        Err(refusal) if refusal.is_soft() => {
            reader.seek(start);
            Ok(None)
        }
        Err(refusal) => Err(refusal),
    }
}

/// The parser's values until it softly refuses or the text ends.
pub(super) fn zero_or_more<T>(reader: &mut Reader<'_>, parser: Parser<T>) -> Parsed<Vec<T>> {
    let mut values = Vec::new();
    while !reader.is_at_end() {
        match optional(reader, parser)? {
            Some(value) => values.push(value),
            None => break,
        }
    }
    Ok(values)
}

/// The value of the first parser that does not softly refuse. The refusal is the last one's.
pub(super) fn choice<T>(reader: &mut Reader<'_>, parsers: &[Parser<T>]) -> Parsed<T> {
    let start = reader.cursor();
    let (last, others) = parsers.split_last().expect("a choice has parsers");
    for parser in others {
        match parser(reader) {
            Err(refusal) if refusal.is_soft() => reader.seek(start),
            result => return result,
        }
    }
    last(reader)
}
