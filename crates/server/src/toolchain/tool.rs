//! What a manifest can need: a toolchain of Prony's table, or any program that the manifest describes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::path::{is_program, on_path};
use super::table::Toolchain;

/// Where servers are installed that are not on the `PATH` of everybody.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// A toolchain of the table, or a program that a manifest describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// One of the table.
    Known(&'static Toolchain),
    /// One that is only in a manifest.
    Own(Arc<Program>),
}

/// A program with all that must be known to find it, as a manifest says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name on `PATH`, or its path.
    pub program: String,
    /// The command that prints its version.
    pub version_command: Vec<String>,
    /// The line that installs it.
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

    /// Its program.
    pub fn program(&self) -> &str {
        match self {
            Tool::Known(toolchain) => toolchain.program,
            Tool::Own(own) => &own.program,
        }
    }

    /// The entry of the table, if it is one of it.
    pub fn known(&self) -> Option<&'static Toolchain> {
        match self {
            Tool::Known(toolchain) => Some(toolchain),
            Tool::Own(_) => None,
        }
    }

    /// The one line that installs it on this system.
    pub fn install_line(&self) -> String {
        match self {
            Tool::Known(toolchain) => toolchain.install_line(),
            Tool::Own(own) => own.install.clone(),
        }
    }
}

impl Program {
    /// Whether it can be looked for: a name without a folder, or an absolute path.
    pub fn is_findable(program: &str) -> bool {
        !program.trim().is_empty() && (Path::new(program).is_absolute() || !program.contains('/'))
    }

    /// The files that may be it, in the order of preference.
    pub(super) fn candidates(&self) -> Vec<PathBuf> {
        let system = SYSTEM_FOLDERS.map(|folder| Path::new(folder).join(&self.program));
        let mut paths = match Path::new(&self.program).is_absolute() {
            true => vec![PathBuf::from(&self.program)],
            false => on_path(&self.program),
        };
        paths.extend(system);
        paths.retain(|path| is_program(path));
        paths.dedup();
        paths
    }

    /// The command that makes the program at `path` print its version.
    pub(super) fn version_command_of<'a>(&'a self, path: &'a Path) -> (&'a Path, &'a [String]) {
        match self.version_command.split_first() {
            Some((first, rest)) if *first != self.program => (Path::new(first), rest),
            Some((_, rest)) => (path, rest),
            None => (path, &[]),
        }
    }
}
