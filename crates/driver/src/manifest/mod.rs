//! What a `driver.toml` says.

mod error;
mod raw;
mod reader;
pub(crate) mod template;

use std::path::{Path, PathBuf};

use regex::Regex;

pub use error::{ManifestError, Problem};

use crate::reading::Output;
use template::Template;

/// The file in a driver's folder.
pub const MANIFEST_FILE: &str = "driver.toml";

/// A load generator: its program, its arguments and how its output is read.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its name in tables.
    pub title: String,
    /// The command that installs it.
    pub install: String,
    /// What one must know to read its figures.
    pub notes: Option<String>,
    pub(crate) folder: PathBuf,
    pub(crate) program: Template,
    pub(crate) version: Option<VersionCommand>,
    pub(crate) arguments: Arguments,
    pub(crate) environment: Vec<(String, Template)>,
    pub(crate) output: Output,
}

/// How a tool is asked for its version.
#[derive(Clone, Debug)]
pub(crate) struct VersionCommand {
    pub arguments: Vec<String>,
    pub pattern: Regex,
}

/// The words of a command.
pub(crate) type Words = Vec<Template>;

/// The arguments, part by part in the order in which they are given. `None` is what the tool
/// cannot do.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub before: Words,
    pub closed: Option<Words>,
    pub rate: Option<Words>,
    /// Where connections are kept.
    pub keep: Words,
    /// Where every request has a connection of its own.
    pub close: Option<Words>,
    pub pipeline: Option<Words>,
    pub duration: Option<Words>,
    pub requests: Option<Words>,
    /// Once for every header.
    pub header: Option<Words>,
    pub method: Option<Words>,
    pub body: Option<Words>,
    pub after: Words,
}

impl Manifest {
    /// Reads the manifest in `folder`.
    ///
    /// # Errors
    /// Where it cannot be read or makes no sense; the text names the file and the line.
    pub fn open(folder: &Path) -> Result<Manifest, ManifestError> {
        let file = folder.join(MANIFEST_FILE);
        match std::fs::read_to_string(&file) {
            Ok(text) => Manifest::parse(&text, folder),
            Err(error) => Err(ManifestError {
                file,
                line: None,
                problem: Problem::Unreadable(error.to_string()),
            }),
        }
    }

    /// Reads `text` as the manifest of `folder`.
    ///
    /// # Errors
    /// Where it makes no sense; the text names the line.
    pub fn parse(text: &str, folder: &Path) -> Result<Manifest, ManifestError> {
        reader::read(text, folder)
    }

    /// Whether it makes loads of a given rate.
    pub fn makes_rates(&self) -> bool {
        self.arguments.rate.is_some()
    }

    /// How its output is read.
    pub fn output(&self) -> &Output {
        &self.output
    }
}

#[cfg(test)]
mod tests;
