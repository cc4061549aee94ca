//! Why a text is not imported.

/// Why there is no Hurl file: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImportError(String);

impl<T: Into<String>> From<T> for ImportError {
    fn from(reason: T) -> Self {
        Self(reason.into())
    }
}

pub(super) fn refuse<T>(reason: impl Into<String>) -> Result<T, ImportError> {
    Err(reason.into().into())
}
