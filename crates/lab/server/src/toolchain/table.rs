//! The toolchains that Prony knows, their packages, and how Prony installs some of them itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use prony_kernel::on_path;
use serde::Deserialize;

/// A toolchain: one of the table, or a program that a manifest describes.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolchain {
    pub name: String,
    /// The name of its program on `PATH`, or its path.
    pub program: String,
    /// The command that prints its version; empty for `PROGRAM --version`.
    pub version_command: Vec<String>,
    /// Whether the program fails even when it prints its version, as wrk does. The output of any other failing program
    /// is not a version.
    pub fails_with_version: bool,
    /// The arguments with which the program prints its real path, if `PATH` may lead to a version manager's stand-in,
    /// whose own time would count as the server's startup. Empty if that does not happen or does not matter.
    pub itself_args: Vec<String>,
    /// Folders outside `PATH` where its installer puts it; `~` is the user's home, `*` any characters of a folder's
    /// name.
    pub usual_folders: Vec<String>,
    /// A file without which the program alone is not the toolchain.
    pub part: Option<Part>,
    /// The toolchains that the program itself needs to print its version.
    pub runs_on: Vec<String>,
    /// The variable by which other programs find it: it names the folder above the program's `bin`.
    pub home_variable: Option<String>,
    /// Its packages in each package manager that has it.
    pub packages: BTreeMap<PackageManager, Vec<String>>,
    /// How the user can install it if no package manager has it, in one line.
    pub install: String,
    pub source: Option<PackageSource>,
}

/// A file of a toolchain that some installations lack.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub file: String,
    /// The folders that may contain it, relative to the program's folder (links resolved).
    pub folders: Vec<String>,
}

impl Toolchain {
    pub fn named(name: &str) -> Option<&'static Arc<Toolchain>> {
        TOOLCHAINS.iter().find(|toolchain| toolchain.name == name)
    }

    pub fn install_line(&self) -> String {
        let manager = PackageManager::detect();
        match manager.and_then(|manager| Some((manager, self.packages.get(&manager)?))) {
            Some((manager, packages)) => {
                let command = manager.install(packages).join(" ");
                format!("{command} (or {})", self.install)
            }
            None => self.install.clone(),
        }
    }
}

/// Every toolchain of the table that a manifest can need.
pub(super) static TOOLCHAINS: LazyLock<Vec<Arc<Toolchain>>> =
    LazyLock::new(|| table().toolchain.into_iter().map(Arc::new).collect());

/// Tools that no server needs but that Prony's measurements can use.
pub(super) static EXTRAS: LazyLock<Vec<Arc<Toolchain>>> =
    LazyLock::new(|| table().extra.into_iter().map(Arc::new).collect());

/// The command that installs one of these tools on this system; `None` for an unknown one.
pub fn install_line(name: &str) -> Option<String> {
    let tool = EXTRAS.iter().find(|tool| tool.name == name);
    tool.map(|tool| tool.install_line())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
    pub(crate) fn detect() -> Option<PackageManager> {
        PackageManager::ALL
            .into_iter()
            .find(|manager| !on_path(manager.name()).is_empty())
    }

    /// The command that installs `packages`, through `sudo` if it needs root and this user is not root.
    pub fn install(self, packages: &[String]) -> Vec<String> {
        let words: &[&str] = match self {
            PackageManager::Apt | PackageManager::Dnf => &["install", "-y"],
            PackageManager::Pacman => &["-S", "--needed", "--noconfirm"],
            PackageManager::Apk => &["add"],
            PackageManager::Brew => &["install"],
        };
        let as_root = self == PackageManager::Brew || nix::unistd::geteuid().is_root();
        let sudo = if as_root { None } else { Some("sudo") };
        let own = sudo.into_iter().chain([self.name()]);
        let own = own.chain(words.iter().copied()).map(str::to_owned);
        own.chain(packages.iter().cloned()).collect()
    }
}

/// The file that marks a toolchain as completely installed.
pub(super) const COMPLETE: &str = ".complete";

/// The source of a toolchain that Prony installs for itself under `.prony/tools`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageSource {
    pub installer: Installer,
    /// The package with its version, as the installer takes it.
    pub package: String,
    /// The installed programs below the toolchain's folder, `*` as in a folder's name; Prony uses the first that runs.
    pub programs: String,
}

prony_model::named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Installer {
        /// Pip, in a virtual environment of the toolchain's own.
        Python3 = "python3",
        Npm = "npm",
    }
}

impl PackageSource {
    pub fn commands(&self, folder: &Path) -> Vec<Vec<String>> {
        let (place, installer) = (folder.to_string_lossy(), self.installer.name());
        let pip = folder.join("bin/pip");
        let commands: Vec<Vec<&str>> = match self.installer {
            Installer::Python3 => vec![
                vec![installer, "-m", "venv", &place],
                vec![pip.to_str().unwrap_or("pip"), "install", &self.package],
            ],
            Installer::Npm => vec![vec![
                installer,
                "install",
                // The package's own scripts would move the program away.
                "--ignore-scripts",
                "--include=optional",
                "--no-audit",
                "--no-fund",
                "--prefix",
                &place,
                &self.package,
            ]],
        };
        let commands = commands.into_iter();
        commands
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
            names.push(tool.name.clone());
            for ground in &tool.runs_on {
                assert!(Toolchain::named(ground).is_some(), "{tool:?}");
            }
        }
        assert!(names.iter().all(|name| !name.is_empty()));
    }
}
