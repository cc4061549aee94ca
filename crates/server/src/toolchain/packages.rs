//! The system's package manager.

use super::path::on_path;

/// A package manager that Prony knows how to ask.
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
    /// All, in the order they are looked for.
    pub const ALL: [PackageManager; 5] = [
        PackageManager::Apt,
        PackageManager::Dnf,
        PackageManager::Pacman,
        PackageManager::Apk,
        PackageManager::Brew,
    ];

    /// The one whose program is on `PATH`, where there is one.
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

    /// The command that installs `packages`, through `sudo` where this user is not root and that is needed.
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

/// What a tool's packages are called by each package manager; empty where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packages {
    /// Debian, Ubuntu.
    pub apt: &'static [&'static str],
    /// Fedora, RHEL.
    pub dnf: &'static [&'static str],
    /// Arch.
    pub pacman: &'static [&'static str],
    /// Alpine.
    pub apk: &'static [&'static str],
    /// Homebrew.
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

    /// Those of one package manager.
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
