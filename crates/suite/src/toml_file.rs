//! Reading a TOML file, with errors that say where and what was probably meant.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use prony_subject::nearest;

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
    let text = std::fs::read_to_string(path).map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    toml::from_str(&text).map_err(|error| content_error(path, &text, &error))
}

fn content_error(path: &Path, text: &str, error: &toml::de::Error) -> FileError {
    let line = error
        .span()
        .and_then(|span| text.get(..span.start))
        .map(|before| before.matches('\n').count() + 1);
    FileError::Content {
        path: path.to_owned(),
        line,
        message: error.message().trim().replace('\n', "; "),
        nearest: meant(error.message()),
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
