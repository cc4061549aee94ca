//! Where a toolchain comes from that Prony makes for itself.

use std::path::{Path, PathBuf};

use super::path::is_program;
use super::version::Version;

/// The file that says that a toolchain was made to its end.
pub const COMPLETE: &str = ".complete";

/// Where Prony gets a toolchain that it makes for itself under `.prony/tools`.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// From a Python package, in a virtual environment of its own.
    Python {
        /// The package with its version, as pip takes it.
        package: &'static str,
        /// The program below `site-packages`.
        program: &'static str,
    },
    /// From an npm package, in a folder of its own.
    Npm {
        /// The package with its version, as npm takes it.
        package: &'static str,
        /// The folder below `node_modules` with a folder for each variant of the program.
        variants: &'static str,
        /// What the folders of the variants that can run here begin with.
        prefix: &'static str,
        /// The program below a variant.
        program: &'static str,
    },
}

impl Source {
    /// The package with its version.
    pub fn package(&self) -> &'static str {
        match self {
            Source::Python { package, .. } | Source::Npm { package, .. } => package,
        }
    }

    /// The version that the package is pinned to, where it is written in full.
    pub fn pinned(&self) -> Option<Version> {
        let (_, version) = self.package().rsplit_once(['=', '@'])?;
        Version::parse(version).filter(|_| version.contains('.'))
    }

    /// The program of the system that fetches the package.
    pub fn installer(&self) -> &'static str {
        match self {
            Source::Python { .. } => "python3",
            Source::Npm { .. } => "npm",
        }
    }

    /// The commands that put it into `folder`.
    pub fn commands(&self, folder: &Path) -> Vec<Vec<String>> {
        let place = folder.to_string_lossy();
        let pip = folder.join("bin/pip");
        let commands: Vec<Vec<&str>> = match self {
            Source::Python { package, .. } => vec![
                vec![self.installer(), "-m", "venv", &place],
                vec![pip.to_str().unwrap_or("pip"), "install", package],
            ],
            Source::Npm { package, .. } => vec![vec![
                self.installer(),
                "install",
                // Their own scripts would move the program away from where it is looked for.
                "--ignore-scripts",
                "--include=optional",
                "--no-audit",
                "--no-fund",
                "--prefix",
                &place,
                package,
            ]],
        };
        commands
            .into_iter()
            .map(|command| command.into_iter().map(str::to_owned).collect())
            .collect()
    }

    /// The programs that it has put below `folder`, of which the first that runs is the one.
    pub fn programs(&self, folder: &Path) -> Vec<PathBuf> {
        if !folder.join(COMPLETE).is_file() {
            return Vec::new();
        }
        let programs = match self {
            Source::Python { program, .. } => subfolders(&folder.join("lib"), "python3")
                .into_iter()
                .map(|python| python.join("site-packages").join(program))
                .collect::<Vec<_>>(),
            Source::Npm {
                variants,
                prefix,
                program,
                ..
            } => subfolders(&folder.join("node_modules").join(variants), prefix)
                .into_iter()
                .map(|variant| variant.join(program))
                .collect(),
        };
        programs
            .into_iter()
            .filter(|path| is_program(path))
            .collect()
    }
}

/// The folders in `folder` whose names begin with `prefix`, sorted.
fn subfolders(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}
