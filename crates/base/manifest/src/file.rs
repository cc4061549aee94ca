//! Reads TOML files, with errors that say where the fault is and what was probably meant.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::name::{UnknownName, did_you_mean, nearest};
use crate::wording::plain;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}{}: {message}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Content {
        path: PathBuf,
        /// The line, from 1, if the fault is in one line.
        line: Option<usize>,
        /// What is wrong; it names the field.
        message: String,
    },
}

impl FileError {
    pub fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}

pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    Source::open(path)?.parse()
}

/// The ids of the TOML files in `folder`: their names without `.toml`, sorted.
pub fn ids(folder: &Path) -> Result<Vec<String>, FileError> {
    let names = paths_in(folder)?;
    let names = names.iter().filter_map(|path| path.file_name());
    let ids =
        names.filter_map(|name| Some(name.to_string_lossy().strip_suffix(".toml")?.to_owned()));
    Ok(ids.collect())
}

/// The folders in `folder` that hold a file of this name, sorted.
pub fn folders_with(file: &str, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut folders = paths_in(folder)?;
    folders.retain(|path| path.join(file).is_file());
    Ok(folders)
}

fn paths_in(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = std::fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let mut paths = entries.map_err(|source| FileError::unreadable(folder, source))?;
    paths.sort_unstable();
    Ok(paths)
}

/// The text of a file, in which faults are located.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| FileError::unreadable(path, source))?;
        Ok(Self::new(path, text))
    }

    pub fn new(path: &Path, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            text: text.into(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        toml::from_str(&self.text).map_err(|error| {
            let message = plain(&error.message().trim().replace('\n', "; "));
            let message = format!("{message}{}", did_you_mean(&meant(&message)));
            match error.span() {
                Some(span) => self.fault(span, message),
                None => self.content(None, message),
            }
        })
    }

    /// A fault at `span`. The error names the field, unless the message does.
    pub fn fault(&self, span: Range<usize>, message: impl ToString) -> FileError {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let (message, field) = (message.to_string(), self.field_at(before, line));
        let names_its_field = |field: &String| message.contains(&format!("`{field}`"));
        // Serde's messages name fields that are unknown or missing.
        let mut naming = ["unknown field", "missing field"].into_iter();
        let named = naming.any(|start| message.starts_with(start));
        let message = match field.filter(|field| !named && !names_its_field(field)) {
            Some(field) => format!("field `{field}`: {message}"),
            None => message,
        };
        self.content(Some(line), message)
    }

    pub fn unknown<'a>(
        &self,
        name: &Spanned<String>,
        kind: &'static str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> FileError {
        let unknown = UnknownName::new(kind, name.get_ref(), known);
        self.fault(name.span(), unknown)
    }

    fn content(&self, line: Option<usize>, message: String) -> FileError {
        FileError::Content {
            path: self.path.clone(),
            line,
            message,
        }
    }

    /// The field whose value begins after `before`, else the last `name =` or `[name]` that begins a line up to there.
    fn field_at(&self, before: &str, line: usize) -> Option<String> {
        let own = before.trim_end().strip_suffix('=').and_then(|before| {
            let before = before.trim_end();
            let start = before.rfind(|c| !is_key(c));
            key(&before[start.map_or(0, |at| at + 1)..])
        });
        own.or_else(|| {
            let lines = self.text.lines().take(line);
            lines.filter_map(key_at_start).last()
        })
    }
}

fn key_at_start(line: &str) -> Option<String> {
    let Some(table) = line.strip_prefix('[') else {
        return key(line.split_once('=')?.0);
    };
    // A header's name may be in quotation marks, or not be one at all; a list of several elements is none.
    let name = table.trim_start_matches('[').split_once(']')?.0.trim();
    (!name.is_empty() && !name.contains(',')).then(|| name.to_owned())
}

fn key(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty() && name.chars().all(is_key)).then(|| name.to_owned())
}

fn is_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// Serde's message about an unknown name lists the known ones: "unknown field `a`, expected one of `b`, `c`".
fn meant(message: &str) -> Option<String> {
    if !message.starts_with("unknown ") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    nearest(wrong, names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prony_testkit::table::refused;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Example {
        title: String,
        #[serde(default)]
        words: Vec<Spanned<String>>,
        #[serde(default)]
        env: BTreeMap<String, Spanned<String>>,
    }

    fn source(text: &str) -> Source {
        Source::new(Path::new("x.toml"), text)
    }

    #[test]
    fn faults_that_serde_finds_are_located() {
        refused(
            |text| source(text).parse::<Example>(),
            r#"
            titel = "a" | x.toml:1: unknown field `titel`, expected one of `title`, `words`, `env`; did you mean `title`?
            words = [] | x.toml:1: missing field `title`
            \ntitle = 3 | x.toml:2: field `title`: expected text in quotation marks, not the number 3
            title = "a | x.toml:1: field `title`:
        "#,
        );
    }

    #[test]
    fn a_fault_names_its_field() {
        let source = source("title = \"a\"\nwords = [\n  \"b\",\n]\nenv = { ONE = \"c\" }\n");
        let Example { words, env, .. } = source.parse().unwrap();
        let faults = [
            source.fault(words[0].span(), "is odd"),
            source.fault(env["ONE"].span(), "is odd"),
            source.unknown(&words[0], "letter", ["bb", "x"]),
        ];
        let expected = [
            "x.toml:3: field `words`: is odd",
            "x.toml:5: field `ONE`: is odd",
            "x.toml:3: field `words`: there is no letter `b`; did you mean `bb`?",
        ];
        assert_eq!(faults.map(|fault| fault.to_string()), expected);
    }
}
