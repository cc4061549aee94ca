//! Why there is no schema.

use std::io;
use std::path::Path;

use prony_manifest::UnknownName;

/// The most files that a schema may consist of.
pub const MAX_FILES: usize = 1000;

/// The most bytes that the files of a schema may have together.
pub const MAX_BYTES: usize = 16 << 20;

/// Why there is no schema, or not what was searched in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub(crate) String);

impl From<UnknownName> for SchemaError {
    fn from(unknown: UnknownName) -> Self {
        Self(unknown.to_string())
    }
}

impl SchemaError {
    pub(crate) fn in_file(self, path: &Path) -> Self {
        Self(format!("{}: {self}", path.display()))
    }

    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        // A file that is too large was read.
        match error.kind() {
            io::ErrorKind::Other => Self(error.to_string()).in_file(path),
            _ => Self(format!("cannot read {}: {error}", path.display())),
        }
    }
}

/// The files have more than [`MAX_BYTES`].
pub(crate) fn too_large() -> SchemaError {
    SchemaError(format!("the schema is larger than {} MiB", MAX_BYTES >> 20))
}

pub(crate) fn invalid(file: &str, fault: impl std::fmt::Display) -> SchemaError {
    SchemaError(format!("{file}: {fault}"))
}

/// `text` without what would control a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}
