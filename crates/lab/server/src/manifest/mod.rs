//! A server's manifest, `server.toml`.

mod outside;
mod read;
mod text_or_list;

use std::collections::BTreeMap;

use globset::{Glob, GlobBuilder, GlobMatcher};
use prony_manifest::Template;
use prony_manifest::fields::Filled;
use serde::Deserialize;

use crate::toolchain::Need;

pub use outside::{CertificateTrust, ClientCertificate, Outside, ServerUrl, TlsOptions};
pub use read::{Described, ServerTable};

pub const MANIFEST_FILE: &str = "server.toml";

prony_model::named! {
    /// The class of a server, for readers of a table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        /// The language's standard library only.
        Stdlib = "stdlib",
        /// A framework or library, used as usual.
        Framework = "framework",
        /// Tuned beyond common use.
        Tuned = "tuned",
        /// A reference for the others, not for use.
        Reference = "reference",
    }
}

/// The source of the version of a server's framework, as in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum VersionSource {
    /// The version of this toolchain, one of the manifest's needs.
    Toolchain(String),
    /// The version of this package in the folder's `Cargo.lock`.
    CargoLock(String),
    /// The version that the folder's `go.mod` requires of this module.
    GoMod(String),
    /// The version that the folder's `requirements.txt` pins this package to.
    Requirements(String),
    /// The value of this property in the folder's `pom.xml`.
    PomProperty(String),
    Text(String),
}

/// What a server is and serves, whether Prony starts it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name in tables.
    pub title: String,
    pub language: String,
    /// Framework or library.
    pub framework: String,
    pub class: Class,
    /// Whether it keeps HTTP/1.1 connections open between requests.
    pub keep_alive: bool,
    pub workloads: Vec<String>,
    pub notes: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub needs: Vec<Need>,
    pub version: Option<VersionSource>,
    pub inputs: Vec<Input>,
    /// The commands that build it, which run in its folder one after the other.
    pub build: Vec<Vec<Word>>,
    /// The files whose size is reported.
    pub artefacts: Vec<Word>,
    pub run: Vec<Word>,
    /// Variables for its build and its run.
    pub env: BTreeMap<String, Word>,
    /// Other ways to build and run the same server, which follow the server's id: `ID@NAME`. They have no variants.
    pub(crate) variants: Vec<(String, Recipe)>,
}

impl Recipe {
    pub fn variant(&self, name: &str) -> Option<&Recipe> {
        let mut variants = self.variants.iter();
        let (_, recipe) = variants.find(|(known, _)| known == name)?;
        Some(recipe)
    }
}

prony_model::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Placeholder {
        /// `{out}`: the folder for the results of the build.
        Out = "out",
        /// `{cargo_target}`: Cargo's target folder.
        CargoTarget = "cargo_target",
        /// `{packages}`: the folder for downloads of package managers, shared by all builds.
        Packages = "packages",
        /// `{workloads}`: the project's workloads.
        Workloads = "workloads",
        /// `{prony}`: Prony's own program.
        Prony = "prony",
        /// `{host}`: the address to listen on.
        Host = "host",
        /// `{port}`: the port to listen on.
        Port = "port",
        /// `{cpus}`: the number of the server's CPUs.
        Cpus = "cpus",
        /// `{assets}`: the folder of the files that it responds with.
        Assets = "assets",
        /// `{tmp}`: an empty folder of its own, removed when the server has ended.
        Tmp = "tmp",
    }
}

/// A word of a command or the value of a variable.
pub type Word = Template<Placeholder>;

impl Placeholder {
    /// The placeholders that are known before the build; the others are known only when a server starts.
    pub(crate) const OF_BUILD: &[Placeholder] = Self::ALL.split_at(5).0;
}

impl prony_manifest::Placeholder for Placeholder {
    fn name(self) -> &'static str {
        Placeholder::name(self)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Input {
    /// The file or folder; for a pattern, the folder that it starts in.
    pub path: Word,
    /// The pattern, if it is one, relative to that folder.
    pub pattern: Option<Pattern>,
}

/// A pattern of paths below a folder: `*`, `?`, `[…]` and `{…,…}` within a name, `**` for any folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Glob);

impl Pattern {
    pub fn new(text: &str) -> Result<Pattern, String> {
        let glob = GlobBuilder::new(text).literal_separator(true).build();
        glob.map(Pattern).map_err(|error| {
            let why = error.kind();
            format!("`{text}` is not a valid file pattern: {why}; write one like `src/**/*.rs`")
        })
    }

    pub fn as_str(&self) -> &str {
        self.0.glob()
    }

    pub(crate) fn matcher(&self) -> GlobMatcher {
        self.0.compile_matcher()
    }
}

impl TryFrom<String> for Input {
    type Error = String;

    fn try_from(text: String) -> Result<Input, String> {
        let Filled(text) = Filled::try_from(text)?;
        let names: Vec<&str> = text.split('/').collect();
        let literal = names.iter().position(|name| is_pattern(name));
        let literal = literal.unwrap_or(names.len());
        let path = match names[..literal].join("/") {
            // Below the root, or below the server's own folder.
            path if path.is_empty() && literal > 0 => "/".to_owned(),
            path if path.is_empty() => ".".to_owned(),
            path => path,
        };
        let pattern = match names[literal..].join("/") {
            rest if rest.is_empty() => None,
            rest => Some(Pattern::new(&rest)?),
        };
        Ok(Input {
            path: Word::new(&path, Placeholder::OF_BUILD).map_err(|error| error.to_string())?,
            pattern,
        })
    }
}

/// Whether a name is a pattern: `{out}` is a placeholder, `{rs,toml}` are alternatives.
fn is_pattern(name: &str) -> bool {
    let alternatives = name.split('{').skip(1).any(|rest| {
        rest.split('}')
            .next()
            .is_some_and(|inner| inner.contains(','))
    });
    name.contains(['*', '?', '[']) || alternatives
}

/// Whether it is a valid name for a server's folder or a variant.
pub(crate) fn is_id(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty() && name.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::{refused, rows};

    use super::*;

    #[test]
    fn a_pattern_starts_at_the_first_name_with_special_characters() {
        for [text, path, pattern] in rows(
            r#"
            {workloads}/echo.proto | {workloads}/echo.proto | ""
            ../framework | ../framework | ""
            ../fw/**/*.rs | ../fw | **/*.rs
            *.h | . | *.h
            /*.h | / | *.h
            ../a.{c,h} | .. | a.{c,h}
            {workloads}/[a-c]?.x | {workloads} | [a-c]?.x
        "#,
        ) {
            let input = Input::try_from(text.to_owned()).unwrap();
            let found = input.pattern.as_ref().map_or("", |found| found.as_str());
            assert_eq!([&*input.path.to_string(), found], [path, pattern]);
        }
    }

    #[test]
    fn one_star_matches_within_a_name_and_two_match_folders() {
        let matches =
            |pattern: &str, path: &str| Pattern::new(pattern).unwrap().matcher().is_match(path);
        assert!(matches("*.rs", "a.rs") && !matches("*.rs", "src/a.rs"));
        assert!(matches("**/*.rs", "a.rs") && matches("**/*.rs", "src/x/a.rs"));
        assert!(matches("src/*.{rs,toml}", "src/a.toml"));
    }

    #[test]
    fn an_invalid_pattern_is_reported_with_the_reason() {
        refused(
            |text: &str| Input::try_from(text.to_owned()),
            "
            ../fw/[a-c.rs | `[a-c.rs` is not a valid file pattern: unclosed character class
            ../fw/{a,b | unclosed alternate group
        ",
        );
    }
}
