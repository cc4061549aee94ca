//! A server's need of a toolchain, as in its manifest.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use prony_manifest::UnknownName;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::table::{TOOLCHAINS, Toolchain};

/// A need such as `go >= 1.22`, `zig = 0.16` (any 0.16.x) or `python`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    tool: Arc<Toolchain>,
    bound: Bound,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bound {
    Any,
    AtLeast(Version),
    Series(Version),
}

/// What to write for a program that is not in the table.
const OWN_PROGRAM: &str = "{ program = \"php\", version_command = [\"php\", \"-v\"], least = \"8.1\", install = \"apt-get install php-cli\" }";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedError {
    #[error("{0}; any other program is written as {OWN_PROGRAM}")]
    Unknown(UnknownName),
    #[error("`{0}` is not a need; write for instance \"go\", \"go >= 1.22\" or \"zig = 0.16\"")]
    Malformed(String),
}

impl Need {
    pub fn any(tool: Arc<Toolchain>) -> Need {
        Need {
            tool,
            bound: Bound::Any,
        }
    }

    /// Parses `go`, `go >= 1.22` or `zig = 0.16`.
    pub fn parse(text: &str) -> Result<Need, NeedError> {
        let malformed = || NeedError::Malformed(text.to_owned());
        let version = |text: &str| Version::parse(text.trim()).ok_or_else(malformed);
        let (name, bound) = if let Some((name, least)) = text.split_once(">=") {
            (name, Bound::AtLeast(version(least)?))
        } else if let Some((name, series)) = text.split_once('=') {
            (name, Bound::Series(version(series)?))
        } else {
            (text, Bound::Any)
        };
        let name = name.trim();
        if name.is_empty() || name.contains(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            return Err(malformed());
        }
        let toolchain = Toolchain::named(name).ok_or_else(|| {
            let known = TOOLCHAINS.iter().map(|toolchain| &*toolchain.name);
            NeedError::Unknown(UnknownName::new("toolchain", name, known))
        })?;
        Ok(Need {
            tool: toolchain.clone(),
            bound,
        })
    }

    pub fn tool(&self) -> &Arc<Toolchain> {
        &self.tool
    }

    /// The version in its bound; `None` if any will do.
    pub(super) fn version(&self) -> Option<&Version> {
        match &self.bound {
            Bound::Any => None,
            Bound::AtLeast(version) | Bound::Series(version) => Some(version),
        }
    }

    pub(crate) fn met_by(&self, version: &Version) -> bool {
        match &self.bound {
            Bound::Any => true,
            Bound::AtLeast(least) => version.at_least(least),
            Bound::Series(series) => version.of_series(series),
        }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool.name)?;
        match &self.bound {
            Bound::Any => Ok(()),
            Bound::AtLeast(version) => write!(f, " >= {version}"),
            Bound::Series(version) => write!(f, " = {version}"),
        }
    }
}

/// Folders for daemons, which are not on every user's `PATH`.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A program that Prony does not know, as a manifest describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnProgram {
    program: String,
    version_command: Option<Vec<String>>,
    least: Option<String>,
    install: String,
}

impl TryFrom<OwnProgram> for Need {
    type Error = String;

    fn try_from(own: OwnProgram) -> Result<Need, String> {
        let program = own.program;
        let is_name = !program.trim().is_empty() && !program.contains('/');
        if !is_name && !Path::new(&program).is_absolute() {
            return Err(format!(
                "`{program}` is not a program: give its name on PATH, or its absolute path"
            ));
        }
        let is_empty = own.version_command.as_ref().is_some_and(Vec::is_empty);
        if is_empty || own.install.trim().is_empty() {
            return Err("`version_command` and `install` must not be empty".to_owned());
        }
        let least = own.least.map(|text| {
            Version::parse(&text).ok_or_else(|| {
                format!(
                    "`{text}` is not a version; write numbers separated by dots, for instance \"8.1\""
                )
            })
        });
        let tool = Toolchain {
            name: program.clone(),
            program,
            version_command: own.version_command.unwrap_or_default(),
            usual_folders: SYSTEM_FOLDERS.map(str::to_owned).into(),
            install: own.install,
            ..Toolchain::default()
        };
        Ok(Need {
            tool: Arc::new(tool),
            bound: least.transpose()?.map_or(Bound::Any, Bound::AtLeast),
        })
    }
}

/// By hand, because serde's untagged enums do not say which field is wrong.
impl<'de> Deserialize<'de> for Need {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Need, D::Error> {
        struct NeedVisitor;
        impl<'de> Visitor<'de> for NeedVisitor {
            type Value = Need;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text such as \"go >= 1.22\", or a table with `program` and `install`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Need, E> {
                Need::parse(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Need, A::Error> {
                let own = OwnProgram::deserialize(MapAccessDeserializer::new(map))?;
                Need::try_from(own).map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(NeedVisitor)
    }
}

/// A version such as `1.22.3`, without what follows the numbers (`-rc1`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Vec<u64>);

impl Version {
    pub fn parse(text: &str) -> Option<Version> {
        text.split('.')
            .map(|part| part.parse().ok())
            .collect::<Option<Vec<u64>>>()
            .map(Version)
    }

    /// The version in a program's output: the one in `version "…"`, or else the first number followed by a dot and a
    /// number.
    pub fn find(output: &str) -> Option<Version> {
        Version::named(output).or_else(|| Version::dotted(output))
    }

    /// As Java prints it: a new one is `version "25"`, and its other numbers are not the version.
    fn named(output: &str) -> Option<Version> {
        output
            .split("version \"")
            .skip(1)
            .filter_map(|rest| {
                rest.split(|c: char| !(c.is_ascii_digit() || c == '.'))
                    .next()
            })
            .find_map(Version::parse)
    }

    fn dotted(output: &str) -> Option<Version> {
        output
            .split(|c: char| !(c.is_ascii_digit() || c == '.'))
            .map(|word| word.trim_matches('.'))
            .filter(|word| word.contains('.'))
            .find_map(Version::parse)
    }

    /// Whether it is at least `least`; missing numbers count as 0.
    pub(crate) fn at_least(&self, least: &Version) -> bool {
        let length = self.0.len().max(least.0.len());
        self.padded(length) >= least.padded(length)
    }

    /// Whether it begins with the numbers of `series`: 0.16.1 belongs to the series 0.16.
    pub(crate) fn of_series(&self, series: &Version) -> bool {
        self.0.starts_with(&series.0)
    }

    fn padded(&self, length: usize) -> Vec<u64> {
        let zeros = std::iter::repeat(0);
        self.0.iter().copied().chain(zeros).take(length).collect()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_and_met() {
        let met = |need: &str, version: &str| {
            let version = Version::parse(version).unwrap();
            Need::parse(need).unwrap().met_by(&version)
        };
        assert!(met("go >= 1.22", "1.22.3") && !met("go>=1.22", "1.21.9"));
        assert!(met("zig = 0.16", "0.16.2") && !met("zig = 0.16", "0.17.0"));
        assert!(met("python", "3.1"));
    }

    #[test]
    fn invalid_needs_are_rejected() {
        for text in ["", "go 1.22", "go >= x", "go > 1", ">= 1.2"] {
            let error = Need::parse(text).unwrap_err();
            assert!(matches!(error, NeedError::Malformed(_)), "{text}: {error}");
        }
        let error = Need::parse("carg >= 1").unwrap_err().to_string();
        assert!(error.contains("did you mean `cargo`?"), "{error}");
    }
}

#[cfg(test)]
mod version_tests {
    use prony_testkit::table::rows;

    use super::*;

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
        for [output, expected] in rows(
            r#"
            go version go1.24.1 linux/amd64 | 1.24.1
            cargo 1.95.0 (abc12.3 2026-04-14) | 1.95.0
            Python 3.12.0rc1 | 3.12.0
            v22.1.0\n | 22.1.0
            wrk debian/4.1.0-3build1 [epoll] | 4.1.0
            no version 3 here. | ""
            \x1b[1mApache Maven 3.8.7\x1b[m\nJava version: 17.0.15 | 3.8.7
            // In quotes it needs no dot.
            Picked up JAVA_TOOL_OPTIONS: -Da=1.5\nopenjdk version "25" 2025-09-16\nOpenJDK (build 25+36) | 25
            openjdk version "26-ea" | 26
            java version "1.8.0_392" | 1.8.0
            version "x" of 1.2 | 1.2
        "#,
        ) {
            let found = Version::find(output).map(|version| version.to_string());
            assert_eq!(found.unwrap_or_default(), expected, "{output}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("1.22").at_least(&version("1.22.0")));
        assert!(version("1.100").at_least(&version("1.22.3")));
        assert!(!version("1.9").at_least(&version("1.22")));
        assert!(version("0.16.1").of_series(&version("0.16")));
        assert!(!version("0.160").of_series(&version("0.16")));
        assert_eq!(Version::parse("1.x"), None);
    }
}
