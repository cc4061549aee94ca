//! The toolchains that Prony knows, their packages, and how Prony installs some of them itself.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use prony_system::{is_program, on_path};
use serde::{Deserialize, Deserializer};

/// A known toolchain.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolchain {
    /// Its name in manifests.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The arguments with which the program prints its version.
    #[serde(deserialize_with = "words")]
    pub version_args: &'static [&'static str],
    /// Whether the program fails even when it prints its version, as wrk does. The output of any other failing program
    /// is not a version.
    pub fails_with_version: bool,
    /// The arguments with which the program prints its real path, if `PATH` may lead to a version manager's stand-in,
    /// whose own time would count as the server's startup. Empty if that does not happen or does not matter.
    #[serde(deserialize_with = "words")]
    pub itself_args: &'static [&'static str],
    /// Folders outside `PATH` where its installer puts it; `~` is the user's home, `*` any characters of a folder's
    /// name.
    #[serde(deserialize_with = "words")]
    pub usual_folders: &'static [&'static str],
    /// A file without which the program alone is not the toolchain.
    pub part: Option<Part>,
    /// The toolchains that the program itself needs to print its version.
    #[serde(deserialize_with = "words")]
    pub runs_on: &'static [&'static str],
    /// The variable by which other programs find it: it names the folder above the program's `bin`.
    pub home_variable: Option<&'static str>,
    /// Its packages.
    pub packages: Packages,
    /// How the user can install it if no package manager has it, in one line.
    pub install: &'static str,
    /// How Prony installs it for itself, if it can.
    pub source: Option<Source>,
}

/// A file of a toolchain that some installations lack.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub file: &'static str,
    /// The folders that may contain it, relative to the program's folder (links resolved).
    #[serde(deserialize_with = "words")]
    pub folders: &'static [&'static str],
}

impl Default for Toolchain {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl Default for Packages {
    fn default() -> Self {
        Self::NONE
    }
}

impl Toolchain {
    /// The defaults of an entry.
    pub const PLAIN: Toolchain = Toolchain {
        name: "",
        program: "",
        version_args: &["--version"],
        fails_with_version: false,
        itself_args: &[],
        usual_folders: &[],
        part: None,
        runs_on: &[],
        home_variable: None,
        packages: Packages::NONE,
        install: "",
        source: None,
    };

    /// The toolchain with this name.
    pub fn named(name: &str) -> Option<&'static Toolchain> {
        TOOLCHAINS.iter().find(|toolchain| toolchain.name == name)
    }

    /// The command that installs it on this system.
    pub fn install_line(&self) -> String {
        match PackageManager::detect() {
            Some(manager) if !self.packages.of(manager).is_empty() => {
                let command = manager.install(self.packages.of(manager)).join(" ");
                format!("{command} (or {})", self.install)
            }
            _ => self.install.to_owned(),
        }
    }
}

/// Every toolchain that a manifest can need.
pub static TOOLCHAINS: LazyLock<Vec<Toolchain>> = LazyLock::new(|| table().toolchain);

/// Tools that no server needs but that Prony's measurements can use.
pub static EXTRAS: LazyLock<Vec<Toolchain>> = LazyLock::new(|| table().extra);

/// The format of the data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Table {
    toolchain: Vec<Toolchain>,
    extra: Vec<Toolchain>,
}

fn table() -> Table {
    toml::from_str(include_str!("toolchains.toml")).expect("a test reads the table")
}

/// Parses words of the table, which stays in memory.
fn words<'de: 'static, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'static [&'static str], D::Error> {
    Vec::deserialize(deserializer).map(|words: Vec<&str>| &*words.leak())
}

/// A package manager that Prony can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageManager {
    /// Debian, Ubuntu.
    Apt,
    /// Fedora, RHEL.
    Dnf,
    /// Arch.
    Pacman,
    /// Alpine.
    Apk,
    /// Homebrew.
    Brew,
}

impl PackageManager {
    /// All, in the order in which Prony looks for them.
    pub const ALL: [PackageManager; 5] = [
        PackageManager::Apt,
        PackageManager::Dnf,
        PackageManager::Pacman,
        PackageManager::Apk,
        PackageManager::Brew,
    ];

    /// The first whose program is on `PATH`.
    pub fn detect() -> Option<PackageManager> {
        PackageManager::ALL
            .into_iter()
            .find(|manager| !on_path(manager.program()).is_empty())
    }

    /// Its program.
    pub const fn program(self) -> &'static str {
        match self {
            PackageManager::Apt => "apt-get",
            PackageManager::Dnf => "dnf",
            PackageManager::Pacman => "pacman",
            PackageManager::Apk => "apk",
            PackageManager::Brew => "brew",
        }
    }

    /// The command that installs `packages`, through `sudo` if it needs root and this user is not root.
    pub fn install(self, packages: &[&str]) -> Vec<String> {
        let words: &[&str] = match self {
            PackageManager::Apt | PackageManager::Dnf => &["install", "-y"],
            PackageManager::Pacman => &["-S", "--needed", "--noconfirm"],
            PackageManager::Apk => &["add"],
            PackageManager::Brew => &["install"],
        };
        let as_root = self == PackageManager::Brew || nix::unistd::geteuid().is_root();
        let sudo = if as_root { None } else { Some("sudo") };
        sudo.into_iter()
            .chain([self.program()])
            .chain(words.iter().copied())
            .chain(packages.iter().copied())
            .map(str::to_owned)
            .collect()
    }
}

/// The names of a tool's packages in each package manager; empty if it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub struct Packages {
    /// Debian, Ubuntu.
    #[serde(deserialize_with = "words")]
    pub apt: &'static [&'static str],
    /// Fedora, RHEL.
    #[serde(deserialize_with = "words")]
    pub dnf: &'static [&'static str],
    /// Arch.
    #[serde(deserialize_with = "words")]
    pub pacman: &'static [&'static str],
    /// Alpine.
    #[serde(deserialize_with = "words")]
    pub apk: &'static [&'static str],
    /// Homebrew.
    #[serde(deserialize_with = "words")]
    pub brew: &'static [&'static str],
}

impl Packages {
    /// No package manager has it.
    pub const NONE: Packages = Packages {
        apt: &[],
        dnf: &[],
        pacman: &[],
        apk: &[],
        brew: &[],
    };

    /// The packages of one package manager.
    pub const fn of(&self, manager: PackageManager) -> &'static [&'static str] {
        match manager {
            PackageManager::Apt => self.apt,
            PackageManager::Dnf => self.dnf,
            PackageManager::Pacman => self.pacman,
            PackageManager::Apk => self.apk,
            PackageManager::Brew => self.brew,
        }
    }
}

/// The file that marks a toolchain as completely installed.
pub const COMPLETE: &str = ".complete";

/// The source of a toolchain that Prony installs for itself under `.prony/tools`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
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
        /// The common start of the names of the variants that can run here.
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

    /// The system's program that fetches the package.
    pub fn installer(&self) -> &'static str {
        match self {
            Source::Python { .. } => "python3",
            Source::Npm { .. } => "npm",
        }
    }

    /// The commands that install it into `folder`.
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
                // The package's own scripts would move the program away.
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

    /// The installed programs below `folder`; Prony uses the first that runs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_complete() {
        let mut names = Vec::new();
        for tool in TOOLCHAINS.iter().chain(EXTRAS.iter()) {
            assert!(
                !tool.program.is_empty() && !tool.install.is_empty(),
                "{tool:?}"
            );
            assert!(!names.contains(&tool.name), "{} appears twice", tool.name);
            names.push(tool.name);
            for ground in tool.runs_on {
                assert!(Toolchain::named(ground).is_some(), "{tool:?}");
            }
        }
        assert!(!names.contains(&""));
    }
}
