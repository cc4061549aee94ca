//! Hurl files: a parser with the errors of Hurl.
#![forbid(unsafe_code)]

pub mod ast;
mod error;
mod listing;
mod parse;
mod position;
mod reader;

pub use error::{ParseError, ParseErrorKind};
pub use parse::parse;
pub use position::{Position, Span};

/// The longest file that [`parse`] reads.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// How deep the lists and objects of JSON may be nested, as in Hurl.
pub const MAX_JSON_DEPTH: usize = 128;
