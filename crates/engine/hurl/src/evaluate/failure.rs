//! Why an entry failed.

use std::fmt;

use crate::ast::Status;
use crate::position::Position;

/// Why an entry failed, and where the file says what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The place in the file.
    pub position: Position,
    /// What failed, in Hurl's words.
    pub title: &'static str,
    /// Why.
    pub reason: String,
}

impl Failure {
    /// A failure at `position`.
    pub fn new(position: Position, title: &'static str, reason: impl Into<String>) -> Self {
        Self {
            position,
            title,
            reason: reason.into(),
        }
    }

    /// A response with another status.
    pub fn status(expected: &Status, actual: u16) -> Self {
        Self::actual(expected.position, "Assert status code", actual)
    }

    /// A value that is not the expected one.
    pub(super) fn actual(
        position: Position,
        title: &'static str,
        actual: impl fmt::Display,
    ) -> Self {
        Self::new(position, title, format!("actual value is <{actual}>"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            position,
            title,
            reason,
        } = self;
        write!(formatter, "{}: {title}: {reason}", position.line)
    }
}

impl std::error::Error for Failure {}

/// A result that fails at `position`.
pub(super) fn fail<T>(
    position: Position,
    title: &'static str,
    reason: impl Into<String>,
) -> Result<T, Failure> {
    Err(Failure::new(position, title, reason))
}
