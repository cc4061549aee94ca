//! A server's need of a toolchain, as in its manifest.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prony_kernel::{is_program, on_path};
use prony_manifest::UnknownName;

use super::table::{TOOLCHAINS, Toolchain};

/// A need such as `go >= 1.22`, `zig = 0.16` (any 0.16.x) or `python`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    tool: Tool,
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

/// Why text is not a need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedError {
    #[error("{0}; any other program is written as {OWN_PROGRAM}")]
    Unknown(UnknownName),
    #[error("`{0}` is not a need; write for instance \"go\", \"go >= 1.22\" or \"zig = 0.16\"")]
    Malformed(String),
}

impl Need {
    /// The need of any version of a toolchain.
    pub fn any(toolchain: &'static Toolchain) -> Need {
        Need {
            tool: Tool::Known(toolchain),
            bound: Bound::Any,
        }
    }

    /// The need of a program that is not in the table, of `least` or later.
    pub(crate) fn of_program(program: Program, least: Option<Version>) -> Need {
        Need {
            tool: Tool::Own(Arc::new(program)),
            bound: least.map_or(Bound::Any, Bound::AtLeast),
        }
    }

    /// Parses `go`, `go >= 1.22` or `zig = 0.16`.
    ///
    /// # Errors
    /// If the toolchain is unknown or the bound is invalid.
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
            let known = TOOLCHAINS.iter().map(|toolchain| toolchain.name);
            NeedError::Unknown(UnknownName::new("toolchain", name, known))
        })?;
        Ok(Need {
            tool: Tool::Known(toolchain),
            bound,
        })
    }

    /// What is needed.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// The version in its bound; `None` if any will do.
    pub(super) fn version(&self) -> Option<&Version> {
        match &self.bound {
            Bound::Any => None,
            Bound::AtLeast(version) | Bound::Series(version) => Some(version),
        }
    }

    /// Whether a version will do.
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
        f.write_str(self.tool.name())?;
        match &self.bound {
            Bound::Any => Ok(()),
            Bound::AtLeast(version) => write!(f, " >= {version}"),
            Bound::Series(version) => write!(f, " = {version}"),
        }
    }
}

/// Folders for daemons, which are not on every user's `PATH`.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A toolchain of the table, or a program that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// One of the table.
    Known(&'static Toolchain),
    /// One that only a manifest describes.
    Own(Arc<Program>),
}

/// A program as a manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name on `PATH`, or its path.
    pub program: String,
    /// The command that prints its version.
    pub(crate) version_command: Vec<String>,
    /// The command that installs it.
    pub install: String,
}

impl Tool {
    /// Its name in manifests.
    pub fn name(&self) -> &str {
        match self {
            Tool::Known(toolchain) => toolchain.name,
            Tool::Own(own) => &own.program,
        }
    }

    pub fn program(&self) -> &str {
        match self {
            Tool::Known(toolchain) => toolchain.program,
            Tool::Own(own) => &own.program,
        }
    }

    /// Its entry in the table, if it has one.
    pub fn known(&self) -> Option<&'static Toolchain> {
        match self {
            Tool::Known(toolchain) => Some(toolchain),
            Tool::Own(_) => None,
        }
    }

    /// The command that installs it on this system.
    pub fn install_line(&self) -> String {
        match self {
            Tool::Known(toolchain) => toolchain.install_line(),
            Tool::Own(own) => own.install.clone(),
        }
    }
}

impl Program {
    /// Whether it can be looked for: a name without a folder, or an absolute path.
    pub(crate) fn is_findable(program: &str) -> bool {
        !program.trim().is_empty() && (Path::new(program).is_absolute() || !program.contains('/'))
    }

    /// The candidate files, in the order of preference.
    pub(super) fn candidates(&self) -> Vec<PathBuf> {
        let system = SYSTEM_FOLDERS.map(|folder| Path::new(folder).join(&self.program));
        let mut paths = if Path::new(&self.program).is_absolute() {
            vec![PathBuf::from(&self.program)]
        } else {
            on_path(&self.program)
        };
        paths.extend(system);
        paths.retain(|path| is_program(path));
        paths.dedup();
        paths
    }

    /// The command with which the program at `path` prints its version.
    pub(super) fn version_command_of<'a>(&'a self, path: &'a Path) -> (&'a Path, &'a [String]) {
        match self.version_command.split_first() {
            Some((first, rest)) if *first != self.program => (Path::new(first), rest),
            Some((_, rest)) => (path, rest),
            None => (path, &[]),
        }
    }
}

/// A version such as `1.22.3`, without what follows the numbers (`-rc1`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Vec<u64>);

impl Version {
    /// Parses text that is only a version.
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
