//! A server's need of a toolchain, as its manifest writes it.

use std::fmt;
use std::sync::Arc;

use prony_manifest::UnknownName;

use super::table::{TOOLCHAINS, Toolchain};
use super::tool::{Program, Tool};
use super::version::Version;

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

/// Why text is no need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeedError {
    /// It names a toolchain that Prony does not know.
    #[error("{0}; any other program is written as {OWN_PROGRAM}")]
    Unknown(UnknownName),
    /// It is not a name with a version bound.
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
    pub fn of_program(program: Program, least: Option<Version>) -> Need {
        Need {
            tool: Tool::Own(Arc::new(program)),
            bound: least.map_or(Bound::Any, Bound::AtLeast),
        }
    }

    /// Reads `go`, `go >= 1.22` or `zig = 0.16`.
    ///
    /// # Errors
    /// Where the toolchain is unknown or the bound makes no sense.
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

    /// Whether a version will do.
    pub fn met_by(&self, version: &Version) -> bool {
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
    fn nonsense_is_refused() {
        for text in ["", "go 1.22", "go >= x", "go > 1", ">= 1.2"] {
            let error = Need::parse(text).unwrap_err();
            assert!(matches!(error, NeedError::Malformed(_)), "{text}: {error}");
        }
        let error = Need::parse("carg >= 1").unwrap_err().to_string();
        assert!(error.contains("did you mean `cargo`?"), "{error}");
    }
}
