//! The toolchains that Prony knows. To teach it another, add an entry.

use super::packages::{PackageManager, Packages};
use super::source::Source;

/// A toolchain, as data.
#[derive(Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Its name in manifests.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The arguments that make the program print its version.
    pub version_args: &'static [&'static str],
    /// The arguments that make the program print where it really lies, where what is on `PATH` may
    /// be a version manager's stand-in, whose own time would count as the server's startup. Empty
    /// where that does not happen or does not matter.
    pub itself_args: &'static [&'static str],
    /// Folders beside those of `PATH` where its installer puts it; `~` is the user's home.
    pub usual_folders: &'static [&'static str],
    /// Its packages.
    pub packages: Packages,
    /// How a human gets it where no package manager has it, in one line.
    pub install: &'static str,
    /// How Prony makes it for itself, where it can.
    pub source: Option<Source>,
}

impl Toolchain {
    /// The toolchain of this name.
    pub fn named(name: &str) -> Option<&'static Toolchain> {
        TOOLCHAINS.iter().find(|toolchain| toolchain.name == name)
    }

    /// The one line that installs it on this system.
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
pub static TOOLCHAINS: [Toolchain; 6] = [
    Toolchain {
        name: "go",
        program: "go",
        version_args: &["version"],
        itself_args: &[],
        usual_folders: &["/usr/local/go/bin", "~/go/bin"],
        packages: Packages {
            apt: &["golang-go"],
            dnf: &["golang"],
            pacman: &["go"],
            apk: &["go"],
            brew: &["go"],
        },
        install: "see https://go.dev/doc/install",
        source: None,
    },
    Toolchain {
        name: "cargo",
        program: "cargo",
        version_args: &["--version"],
        itself_args: &[],
        usual_folders: &["~/.cargo/bin"],
        packages: Packages {
            apt: &["cargo"],
            dnf: &["cargo"],
            pacman: &["rust"],
            apk: &["cargo"],
            brew: &["rust"],
        },
        install: "see https://rustup.rs",
        source: None,
    },
    Toolchain {
        name: "zig",
        program: "zig",
        version_args: &["version"],
        itself_args: &[],
        usual_folders: &[],
        packages: Packages {
            apt: &[],
            dnf: &["zig"],
            pacman: &["zig"],
            apk: &["zig"],
            brew: &["zig"],
        },
        install: "see https://ziglang.org/learn/getting-started",
        source: Some(Source::Python {
            package: "ziglang==0.16.0",
            program: "ziglang/zig",
        }),
    },
    Toolchain {
        name: "bun",
        program: "bun",
        version_args: &["--version"],
        itself_args: &[],
        usual_folders: &["~/.bun/bin"],
        packages: Packages {
            apt: &[],
            dnf: &[],
            pacman: &[],
            apk: &[],
            brew: &["oven-sh/bun/bun"],
        },
        install: "see https://bun.sh/docs/installation",
        source: Some(Source::Npm {
            package: "bun@1",
            variants: "@oven",
            prefix: "bun-linux-",
            program: "bin/bun",
        }),
    },
    Toolchain {
        name: "python",
        program: "python3",
        version_args: &["--version"],
        itself_args: &["-c", "import sys; print(sys.executable)"],
        usual_folders: &[],
        packages: Packages {
            apt: &["python3", "python3-venv"],
            dnf: &["python3"],
            pacman: &["python"],
            apk: &["python3"],
            brew: &["python"],
        },
        install: "see https://www.python.org/downloads",
        source: None,
    },
    Toolchain {
        name: "node",
        program: "node",
        version_args: &["--version"],
        itself_args: &["-p", "process.execPath"],
        usual_folders: &[],
        packages: Packages {
            apt: &["nodejs", "npm"],
            dnf: &["nodejs", "nodejs-npm"],
            pacman: &["nodejs", "npm"],
            apk: &["nodejs", "npm"],
            brew: &["node"],
        },
        install: "see https://nodejs.org/download",
        source: None,
    },
];

/// Tools that no subject needs but that Prony's own measurements can use.
pub static EXTRAS: [Toolchain; 2] = [
    Toolchain {
        name: "wrk",
        program: "wrk",
        version_args: &["--version"],
        itself_args: &[],
        usual_folders: &[],
        packages: Packages {
            apt: &["wrk"],
            dnf: &[],
            pacman: &["wrk"],
            apk: &["wrk"],
            brew: &["wrk"],
        },
        install: "see https://github.com/wg/wrk",
        source: None,
    },
    Toolchain {
        name: "perf",
        program: "perf",
        version_args: &["--version"],
        itself_args: &[],
        usual_folders: &[],
        packages: Packages {
            apt: &["linux-perf"],
            dnf: &["perf"],
            pacman: &["perf"],
            apk: &["perf"],
            brew: &[],
        },
        install: "install your kernel's perf package",
        source: None,
    },
];
