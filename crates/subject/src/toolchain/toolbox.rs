//! What toolchains are here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::need::Need;
use super::path::{is_program, on_path, path_folders};
use super::table::Toolchain;
use super::version::Version;
use crate::{GuardProgram, Layout};

/// A toolchain that is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: &'static str,
    /// Its program, absolute.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// A toolchain that is not here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is missing; to install it: {install}")]
pub struct Missing {
    /// What is missing, with what was found in its place.
    pub what: String,
    /// The one line that installs it.
    pub install: String,
}

/// Whether a need can be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is met.
    Found(Found),
    /// Prony can make it for itself with [`Toolbox::provide`]; this says how.
    Obtainable(String),
    /// The user must install it.
    Missing(Missing),
}

/// The toolchains of this machine and those that Prony made under `.prony/tools`.
#[derive(Debug)]
pub struct Toolbox {
    pub(super) layout: Layout,
    pub(super) guard: GuardProgram,
    /// What the programs said of themselves: each is asked once.
    known: Mutex<BTreeMap<PathBuf, Found>>,
}

impl Toolbox {
    /// The toolbox of a layout; `guard` guards the commands that make a toolchain.
    pub fn new(layout: &Layout, guard: &GuardProgram) -> Toolbox {
        Toolbox {
            layout: layout.clone(),
            guard: guard.clone(),
            known: Mutex::default(),
        }
    }

    /// Whether a need is met here, could be, or not.
    ///
    /// What the system has comes first, then what Prony made.
    pub fn find(&self, need: &Need) -> Availability {
        let toolchain = need.toolchain();
        let mut other = None;
        for path in self.candidates(toolchain) {
            let Some(found) = self.ask(&path, toolchain) else {
                continue;
            };
            if need.met_by(&found.version) {
                return Availability::Found(found);
            }
            other.get_or_insert((found.version, path));
        }
        if let Some(how) = self.makeable(need) {
            return Availability::Obtainable(how);
        }
        let instead = other.map_or(String::new(), |(version, path)| {
            format!(" ({} is {version})", path.display())
        });
        Availability::Missing(Missing {
            what: format!("{need}{instead}"),
            install: toolchain.install_line(),
        })
    }

    /// Any version of a tool that is here, with what could be read of it.
    pub(super) fn any(&self, tool: &Toolchain) -> Option<(PathBuf, Option<Version>)> {
        let path = system_candidates(tool).into_iter().next()?;
        let version = self.ask(&path, tool).map(|found| found.version);
        Some((path, version))
    }

    /// Where Prony makes a toolchain.
    pub(super) fn folder_of(&self, toolchain: &Toolchain) -> PathBuf {
        self.layout.tools().join(toolchain.name)
    }

    fn candidates(&self, toolchain: &Toolchain) -> Vec<PathBuf> {
        let mut candidates = system_candidates(toolchain);
        if let Some(source) = &toolchain.source {
            candidates.extend(source.programs(&self.folder_of(toolchain)));
        }
        candidates
    }

    /// What a program says of itself; one that gives no version may be one that is being made right
    /// now, so it is asked again.
    fn ask(&self, program: &Path, tool: &Toolchain) -> Option<Found> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(program) {
            return Some(known.clone());
        }
        let found = Found {
            name: tool.name,
            version: ask_version(program, tool.version_args)?,
            path: itself(program, tool),
        };
        lock().insert(program.to_owned(), found.clone());
        Some(found)
    }
}

/// `PATH` with the folders of `found` before it, where `PATH` alone would not lead to them.
pub(crate) fn search_path(found: &[Found]) -> OsString {
    let unreached = found.iter().filter(|found| {
        let first = found.path.file_name().and_then(|name| name.to_str());
        first
            .and_then(|name| on_path(name).into_iter().next())
            .as_ref()
            != Some(&found.path)
    });
    let folders = unreached
        .filter_map(|found| found.path.parent().map(Path::to_owned))
        .chain(path_folders());
    std::env::join_paths(folders).unwrap_or_else(|_| std::env::var_os("PATH").unwrap_or_default())
}

fn system_candidates(tool: &Toolchain) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let usual =
        tool.usual_folders
            .iter()
            .filter_map(|folder| match (folder.strip_prefix("~/"), &home) {
                (Some(below), Some(home)) => Some(home.join(below)),
                (Some(_), None) => None,
                (None, _) => Some(PathBuf::from(folder)),
            });
    let mut candidates = on_path(tool.program);
    for path in usual.map(|folder| folder.join(tool.program)) {
        if is_program(&path) && !candidates.contains(&path) {
            candidates.push(path);
        }
    }
    candidates
}

/// The program behind a stand-in; the path itself where it does not say.
fn itself(program: &Path, tool: &Toolchain) -> PathBuf {
    if tool.itself_args.is_empty() {
        return program.to_owned();
    }
    let output = Command::new(program)
        .args(tool.itself_args)
        .stdin(Stdio::null())
        .output();
    let said = output
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    match said.map(|text| PathBuf::from(text.trim())) {
        Some(real) if real.is_absolute() && is_program(&real) => real,
        _ => program.to_owned(),
    }
}

/// The exit code does not matter: some programs print their version and fail.
fn ask_version(program: &Path, args: &[&str]) -> Option<Version> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Version::find(&String::from_utf8_lossy(&output.stdout))
        .or_else(|| Version::find(&String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toolbox(root: &Path) -> Toolbox {
        Toolbox::new(&Layout::at(root), &GuardProgram::new("/none"))
    }

    #[test]
    fn what_the_system_has_is_found_with_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let need = Need::parse("python >= 3.0").unwrap();
        match toolbox(folder.path()).find(&need) {
            Availability::Found(found) => {
                assert!(found.path.is_absolute() && found.path.ends_with("python3"));
                assert!(need.met_by(&found.version));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_search_path_leads_to_what_was_found() {
        let path = std::env::var_os("PATH").unwrap();
        let found = |path: PathBuf| Found {
            name: "python",
            path,
            version: Version::parse("3.0").unwrap(),
        };
        let first = on_path("python3").remove(0);
        assert_eq!(search_path(&[found(first.clone())]), path);
        let folders = |found: Found| {
            let path = search_path(&[found]);
            std::env::split_paths(&path).collect::<Vec<_>>()
        };
        let elsewhere = folders(found(PathBuf::from("/elsewhere/bin/python3")));
        assert_eq!(elsewhere[0], Path::new("/elsewhere/bin"));
        assert_eq!(elsewhere[1..], path_folders());
    }

    #[test]
    fn a_version_that_is_not_here_is_missing_and_what_is_here_is_said() {
        let folder = tempfile::tempdir().unwrap();
        match toolbox(folder.path()).find(&Need::parse("python >= 999").unwrap()) {
            Availability::Missing(missing) => {
                assert!(missing.what.starts_with("python >= 999 (/"), "{missing}");
                assert!(!missing.install.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}
