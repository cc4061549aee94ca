//! Why an entry failed.

use std::fmt;

use crate::ast::Status;
use crate::position::Position;

/// Why an entry failed, and where the file says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {title}: {reason}", position.line)]
pub struct Failure {
    pub position: Position,
    /// What failed, in Hurl's words.
    pub title: &'static str,
    pub reason: String,
}

impl Failure {
    pub fn new(position: Position, title: &'static str, reason: impl Into<String>) -> Self {
        Self {
            position,
            title,
            reason: reason.into(),
        }
    }

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

pub(super) fn fail<T>(
    position: Position,
    title: &'static str,
    reason: impl Into<String>,
) -> Result<T, Failure> {
    Err(Failure::new(position, title, reason))
}
