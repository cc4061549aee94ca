//! Reading a TOML file, with errors that say where and what was probably meant.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use prony_server::nearest;

use crate::unknown_name::UnknownName;

/// Why a file of the project could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file, or the folder that should hold it, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file says something that makes no sense.
    #[error("{}{}: {message}{}", path.display(), At(*line), Offer(nearest.as_deref()))]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where it is known.
        line: Option<usize>,
        /// What makes no sense; names the field.
        message: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
}

struct At(Option<usize>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

struct Offer<'a>(Option<&'a str>);

impl fmt::Display for Offer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .map_or(Ok(()), |name| write!(f, "; did you mean `{name}`?"))
    }
}

/// Reads `path` as a `T`.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    Source::open(path)?.parse()
}

/// A file's text, in which faults have their lines.
pub struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    /// Reads the text of `path`.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let path = path.to_owned();
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Self { path, text }),
            Err(source) => Err(FileError::Read { path, source }),
        }
    }

    /// The text as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(&self.text).map_err(|error| FileError::Content {
            path: self.path.clone(),
            line: error.span().and_then(|span| self.line(&span)),
            message: error.message().trim().replace('\n', "; "),
            nearest: meant(error.message()),
        })
    }

    /// What makes no sense at `span`.
    pub fn fault(&self, span: Range<usize>, message: impl Into<String>) -> FileError {
        FileError::Content {
            path: self.path.clone(),
            line: self.line(&span),
            message: message.into(),
            nearest: None,
        }
    }

    /// A name that is none of `known`.
    pub fn unknown<'a>(
        &self,
        name: &Spanned<String>,
        what: &'static str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> FileError {
        let unknown = UnknownName::new(what, name.get_ref(), known);
        self.fault(name.span(), unknown.to_string())
    }

    fn line(&self, span: &Range<usize>) -> Option<usize> {
        let before = self.text.get(..span.start)?;
        Some(before.matches('\n').count() + 1)
    }
}

/// What serde says of unknown names lists the known ones: "unknown field `a`, expected one of `b`,
/// `c`".
fn meant(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    nearest(wrong, names)
}

/// The ids of the TOML files in `folder`: their names without `.toml`, sorted.
pub fn ids(folder: &Path) -> Result<Vec<String>, FileError> {
    let failed = |source| FileError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut ids = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            ids.extend(
                path.file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned()),
            );
        }
    }
    ids.sort_unstable();
    Ok(ids)
}

/// A duration as people write it: `700ms`, `1m 30s`.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map_err(|error| {
        D::Error::custom(format!(
            "`{text}` is no duration ({error}); write one like `700ms` or `5s`"
        ))
    })
}

/// A duration longer than none at all.
pub fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match duration(deserializer)? {
        Duration::ZERO => Err(D::Error::custom("the duration must be longer than 0")),
        duration => Ok(duration),
    }
}

/// A duration longer than none at all, for a field that may be left out.
pub fn maybe_some_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    some_duration(deserializer).map(Some)
}

/// A duration, for a field that may be left out.
pub fn maybe_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

/// A list of different names, at least one.
pub fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    if names.is_empty() {
        return Err(D::Error::custom("the list must name at least one"));
    }
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            return Err(D::Error::custom(format!("`{name}` is named twice")));
        }
    }
    Ok(names)
}
