//! Hurl files: a parser and the evaluation of queries, captures and asserts, without I/O.
//!
//! ```
//! let text = "GET http://{{host}}/items\nHTTP 200\n[Asserts]\njsonpath \"$.count\" > 3\n";
//! let file = prony_hurl::parse(text).map_err(|error| error.render("items.hurl", text));
//! assert_eq!(file.map(|file| file.entries.len()), Ok(1));
//! ```
#![forbid(unsafe_code)]

pub mod ast;
mod error;
pub mod evaluate;
mod number;
mod parse;
mod position;
mod reader;
mod unsupported;

pub use error::Fault;
pub use parse::{is_variable_name, parse};
pub use position::Position;
pub use unsupported::unsupported;

/// The longest file that [`parse`] reads: parsing takes up to 100 times as much memory.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// How deep the lists and objects of JSON may be nested, as in Hurl.
pub(crate) const MAX_JSON_DEPTH: usize = 128;
