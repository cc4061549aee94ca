//! What can be wrong with a manifest.

use std::fmt;
use std::path::PathBuf;

use crate::nearest::offer;

/// A fault in a manifest, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The manifest.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The field, where it belongs to one.
    pub field: Option<String>,
    /// What is wrong.
    pub problem: Box<ManifestProblem>,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file.display(), self.line)?;
        if let Some(field) = &self.field {
            write!(f, "field `{field}`: ")?;
        }
        write!(f, "{}", self.problem)
    }
}

impl std::error::Error for ManifestError {}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestProblem {
    /// There is no such field.
    #[error("there is no such field{}; known are {known}", offer(.nearest))]
    UnknownField {
        /// The field that was probably meant.
        nearest: Option<String>,
        /// All fields allowed there.
        known: String,
    },
    /// A field that must be there is not.
    #[error("it is missing; add it")]
    MissingField,
    /// A name that is none of those allowed.
    #[error("there is no {kind} `{name}`{}; known are {known}{more}", offer(.nearest))]
    UnknownName {
        /// What it should name: class, wire or toolchain.
        kind: &'static str,
        /// The name.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// All names allowed.
        known: String,
        /// What else is allowed, to follow the names.
        more: &'static str,
    },
    /// A placeholder that Prony does not fill in.
    #[error("there is no placeholder `{{{name}}}`{}; known are {known}", offer(.nearest))]
    UnknownPlaceholder {
        /// What stands between the braces.
        name: String,
        /// The placeholder that was probably meant.
        nearest: Option<String>,
        /// All placeholders that may stand there.
        known: String,
    },
    /// A placeholder that is known only when a server starts, in a field that is filled in earlier.
    #[error("`{{{0}}}` is known only when the server starts: use it in `run` or `env`")]
    PlaceholderOfStart(&'static str),
    /// Nothing where something must be.
    #[error("it must not be empty")]
    Empty,
    /// The same entry twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// A variant that is named in other letters.
    #[error("`{0}` is not a valid variant name: use lower-case letters, digits and hyphens")]
    BadVariantName(String),
    /// A variant that changes nothing.
    #[error("the variant `{0}` changes nothing: give it `env`, `run` or `build`")]
    EmptyVariant(String),
    /// A need that is no toolchain with a version.
    #[error("`{0}` is no need; write for instance \"go\", \"go >= 1.22\" or \"zig = 0.16\"")]
    BadNeed(String),
    /// `keep_alive` beside a wire that leaves no choice.
    #[error("it applies only to `wire = \"http/1.1\"`, not to `{0}`; remove it")]
    KeepAliveOfAnotherWire(&'static str),
    /// A pattern of file names that is none.
    #[error("`{pattern}` is not a valid file pattern: {why}; write one like `src/**/*.rs`")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A program that cannot be looked for.
    #[error("`{0}` is not a program: give its name on PATH, or its absolute path")]
    BadProgram(String),
    /// Text that is no version.
    #[error("`{0}` is not a version; write numbers separated by dots, for instance \"8.1\"")]
    BadVersion(String),
    /// A version that is to be a toolchain's which is not among the needs.
    #[error("its toolchain `{0}` is not among the `needs`; add it there")]
    VersionWithoutNeed(String),
    /// No TOML, or a value of the wrong type.
    #[error("{0}")]
    Syntax(String),
}
