//! What a manifest needs, as it is written: text, or a table for a program that Prony does not know.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::ManifestProblem;
use crate::toolchain::{Need, NeedError, OWN_PROGRAM, Program, Version};

/// A need, not yet checked.
pub enum RawNeed {
    /// `go >= 1.22`.
    Text(String),
    /// `{ program = "php", … }`.
    Program(RawProgram),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawProgram {
    program: String,
    version_command: Option<Vec<String>>,
    least: Option<String>,
    install: String,
}

/// By hand, because serde's own untagged enums lose which field is wrong.
impl<'de> Deserialize<'de> for RawNeed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawNeed, D::Error> {
        struct NeedVisitor;
        impl<'de> Visitor<'de> for NeedVisitor {
            type Value = RawNeed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text such as \"go >= 1.22\", or a table with `program` and `install`")
            }

            fn visit_str<E>(self, text: &str) -> Result<RawNeed, E> {
                Ok(RawNeed::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawNeed, A::Error> {
                RawProgram::deserialize(MapAccessDeserializer::new(map)).map(RawNeed::Program)
            }
        }
        deserializer.deserialize_any(NeedVisitor)
    }
}

/// Checks a need.
///
/// # Errors
/// If it names no toolchain, or describes a program that cannot be found.
pub fn need(raw: &RawNeed) -> Result<Need, ManifestProblem> {
    match raw {
        RawNeed::Text(text) => Need::parse(text).map_err(ManifestProblem::from),
        RawNeed::Program(program) => own(program),
    }
}

fn own(raw: &RawProgram) -> Result<Need, ManifestProblem> {
    let program = raw.program.clone();
    if !Program::is_findable(&program) {
        return Err(ManifestProblem::BadProgram(program));
    }
    let default = || vec![program.clone(), "--version".to_owned()];
    let version_command = raw.version_command.clone().unwrap_or_else(default);
    if version_command.is_empty() || raw.install.trim().is_empty() {
        return Err(ManifestProblem::Empty);
    }
    let least = raw
        .least
        .as_ref()
        .map(|text| Version::parse(text).ok_or_else(|| ManifestProblem::BadVersion(text.clone())));
    let install = raw.install.clone();
    let program = Program {
        program,
        version_command,
        install,
    };
    Ok(Need::of_program(program, least.transpose()?))
}

impl From<NeedError> for ManifestProblem {
    fn from(error: NeedError) -> ManifestProblem {
        match error {
            NeedError::Unknown {
                name,
                nearest,
                known,
            } => ManifestProblem::UnknownName {
                kind: "toolchain",
                name,
                nearest,
                known,
                more: OWN_PROGRAM,
            },
            NeedError::Malformed(text) => ManifestProblem::BadNeed(text),
        }
    }
}
