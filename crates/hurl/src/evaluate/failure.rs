//! Why an entry failed.

use std::fmt;

use crate::ast::Status;
use crate::position::Span;

/// Why an entry failed, and where the file says what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The place in the file.
    pub span: Span,
    /// What failed, in Hurl's words.
    pub title: &'static str,
    /// Why.
    pub reason: String,
}

pub(super) const INVALID_REGEX: &str = "Invalid regex";

impl Failure {
    /// A failure at `span`.
    pub fn new(span: Span, title: &'static str, reason: impl Into<String>) -> Self {
        Self {
            span,
            title,
            reason: reason.into(),
        }
    }

    /// A response with another status.
    pub fn status(expected: &Status, actual: u16) -> Self {
        let reason = format!("actual value is <{actual}>");
        Self::new(expected.span, "Assert status code", reason)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            span,
            title,
            reason,
        } = self;
        write!(formatter, "{}: {title}: {reason}", span.start.line)
    }
}

impl std::error::Error for Failure {}

/// A result that fails at `span`.
pub(super) fn fail<T>(
    span: Span,
    title: &'static str,
    reason: impl Into<String>,
) -> Result<T, Failure> {
    Err(Failure::new(span, title, reason))
}
