//! A request to which the parts of an operation add theirs.

use crate::import::scenario::{Entry, Text};

#[derive(Default)]
pub(super) struct Draft {
    /// The path, in which braces are around what has no value yet.
    pub(super) path: String,
    /// Fields of the query, encoded.
    pub(super) query: Vec<Text>,
    /// `name=value`
    pub(super) cookies: Vec<Text>,
    /// The rest of the request. Its comments say what the reader has to check because a schema may not allow it.
    pub(super) entry: Entry,
}
