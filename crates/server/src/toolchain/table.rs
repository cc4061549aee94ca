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
    /// Whether the program fails even where it prints its version, as wrk does. What any other
    /// prints as it fails is no version, whatever numbers are in it.
    pub fails_with_version: bool,
    /// The arguments that make the program print where it really lies, where what is on `PATH` may
    /// be a version manager's stand-in, whose own time would count as the server's startup. Empty
    /// where that does not happen or does not matter.
    pub itself_args: &'static [&'static str],
    /// Folders beside those of `PATH` where its installer puts it; `~` is the user's home, `*` any
    /// letters of one folder's name.
    pub usual_folders: &'static [&'static str],
    /// A file without which the program alone is not the toolchain.
    pub part: Option<Part>,
    /// The toolchains that the program itself runs on, so that it can be asked.
    pub runs_on: &'static [&'static str],
    /// The variable by which other programs find it: it names the folder above the program's `bin`.
    pub home_variable: Option<&'static str>,
    /// Its packages.
    pub packages: Packages,
    /// How a human gets it where no package manager has it, in one line.
    pub install: &'static str,
    /// How Prony makes it for itself, where it can.
    pub source: Option<Source>,
}

/// A file of a toolchain that some installations leave out.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub file: &'static str,
    /// The folders it may lie in, seen from the folder of the program (links followed).
    pub folders: &'static [&'static str],
}

impl Toolchain {
    /// One of which an entry says only what is special about it.
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

/// What makes Ruby print where it really lies.
const RUBY_ITSELF: &[&str] = &["-e", "print RbConfig.ruby"];

/// Where nginx lies where those folders are on the `PATH` of root alone.
const NGINX_FOLDERS: &[&str] = &["/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"];

/// Every toolchain that a manifest can need.
pub static TOOLCHAINS: [Toolchain; 14] = [
    Toolchain {
        name: "go",
        program: "go",
        version_args: &["version"],
        usual_folders: &["/usr/local/go/bin", "~/go/bin"],
        packages: Packages {
            apt: &["golang-go"],
            dnf: &["golang"],
            pacman: &["go"],
            apk: &["go"],
            brew: &["go"],
        },
        install: "see https://go.dev/doc/install",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "cargo",
        program: "cargo",
        usual_folders: &["~/.cargo/bin"],
        packages: Packages {
            apt: &["cargo"],
            dnf: &["cargo"],
            pacman: &["rust"],
            apk: &["cargo"],
            brew: &["rust"],
        },
        install: "see https://rustup.rs",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "zig",
        program: "zig",
        version_args: &["version"],
        packages: Packages {
            dnf: &["zig"],
            pacman: &["zig"],
            apk: &["zig"],
            brew: &["zig"],
            ..Packages::NONE
        },
        install: "see https://ziglang.org/learn/getting-started",
        source: Some(Source::Python {
            package: "ziglang==0.16.0",
            program: "ziglang/zig",
        }),
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "bun",
        program: "bun",
        usual_folders: &["~/.bun/bin"],
        packages: Packages {
            brew: &["oven-sh/bun/bun"],
            ..Packages::NONE
        },
        install: "see https://bun.sh/docs/installation",
        source: Some(Source::Npm {
            package: "bun@1",
            variants: "@oven",
            prefix: "bun-linux-",
            program: "bin/bun",
        }),
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "python",
        program: "python3",
        itself_args: &["-c", "import sys; print(sys.executable)"],
        packages: Packages {
            apt: &["python3", "python3-venv"],
            dnf: &["python3"],
            pacman: &["python"],
            apk: &["python3"],
            brew: &["python"],
        },
        install: "see https://www.python.org/downloads",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "node",
        program: "node",
        itself_args: &["-p", "process.execPath"],
        packages: Packages {
            apt: &["nodejs", "npm"],
            dnf: &["nodejs", "nodejs-npm"],
            pacman: &["nodejs", "npm"],
            apk: &["nodejs", "npm"],
            brew: &["node"],
        },
        install: "see https://nodejs.org/download",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "deno",
        program: "deno",
        itself_args: &["eval", "-p", "Deno.execPath()"],
        usual_folders: &["~/.deno/bin"],
        packages: Packages {
            pacman: &["deno"],
            apk: &["deno"],
            brew: &["deno"],
            ..Packages::NONE
        },
        install: "see https://docs.deno.com/runtime/getting_started/installation",
        source: Some(Source::Npm {
            package: "deno@2",
            variants: "@deno",
            prefix: "linux-",
            program: "deno",
        }),
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "java",
        program: "java",
        version_args: &["-version"],
        usual_folders: &[
            "/usr/lib/jvm/*/bin",
            "/opt/*jdk*/bin",
            "~/.sdkman/candidates/java/*/bin",
            "/home/linuxbrew/.linuxbrew/opt/openjdk*/bin",
        ],
        // A runtime without the compiler builds nothing.
        part: Some(Part {
            file: "javac",
            folders: &["."],
        }),
        home_variable: Some("JAVA_HOME"),
        packages: Packages {
            apt: &["default-jdk-headless"],
            dnf: &["java-devel"],
            pacman: &["jdk-openjdk"],
            apk: &["openjdk21"],
            brew: &["openjdk"],
        },
        install: "see https://adoptium.net/installation",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "maven",
        program: "mvn",
        usual_folders: &["/opt/*maven*/bin", "~/.sdkman/candidates/maven/*/bin"],
        runs_on: &["java"],
        packages: Packages {
            apt: &["maven"],
            dnf: &["maven"],
            pacman: &["maven"],
            apk: &["maven"],
            brew: &["maven"],
        },
        install: "see https://maven.apache.org/install.html",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "ruby",
        program: "ruby",
        itself_args: RUBY_ITSELF,
        packages: Packages {
            apt: &["ruby"],
            dnf: &["ruby"],
            pacman: &["ruby"],
            apk: &["ruby"],
            brew: &["ruby"],
        },
        install: "see https://www.ruby-lang.org/en/documentation/installation",
        ..Toolchain::PLAIN
    },
    // The ruby that has Sinatra, which need not be the first one.
    Toolchain {
        name: "sinatra",
        program: "ruby",
        version_args: &["-e", "require 'sinatra/version'; puts Sinatra::VERSION"],
        itself_args: RUBY_ITSELF,
        packages: Packages {
            apt: &["ruby-sinatra"],
            dnf: &["rubygem-sinatra"],
            ..Packages::NONE
        },
        install: "gem install sinatra",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "thin",
        program: "thin",
        version_args: &["-v"],
        packages: Packages {
            apt: &["thin"],
            dnf: &["rubygem-thin"],
            ..Packages::NONE
        },
        install: "gem install thin",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "nginx",
        program: "nginx",
        version_args: &["-v"],
        usual_folders: NGINX_FOLDERS,
        packages: Packages {
            apt: &["nginx"],
            dnf: &["nginx"],
            pacman: &["nginx"],
            apk: &["nginx"],
            brew: &["nginx"],
        },
        install: "see https://nginx.org/en/docs/install.html",
        ..Toolchain::PLAIN
    },
    // The nginx that has the JavaScript module. A module fits the one nginx it was made for, so the
    // version is nginx's.
    Toolchain {
        name: "njs",
        program: "nginx",
        version_args: &["-v"],
        usual_folders: NGINX_FOLDERS,
        part: Some(Part {
            file: "ngx_http_js_module.so",
            folders: &[
                "../lib/nginx/modules",
                "../lib64/nginx/modules",
                "../share/nginx/modules",
                "../modules",
            ],
        }),
        packages: Packages {
            apt: &["libnginx-mod-http-js"],
            pacman: &["nginx-mod-njs"],
            apk: &["nginx-mod-http-js"],
            ..Packages::NONE
        },
        install: "see https://nginx.org/en/docs/njs/install.html",
        ..Toolchain::PLAIN
    },
];

/// Tools that no server needs but that Prony's own measurements can use.
pub static EXTRAS: [Toolchain; 2] = [
    Toolchain {
        name: "wrk",
        program: "wrk",
        fails_with_version: true,
        packages: Packages {
            apt: &["wrk"],
            pacman: &["wrk"],
            apk: &["wrk"],
            brew: &["wrk"],
            ..Packages::NONE
        },
        install: "see https://github.com/wg/wrk",
        ..Toolchain::PLAIN
    },
    Toolchain {
        name: "perf",
        program: "perf",
        packages: Packages {
            apt: &["linux-perf"],
            dnf: &["perf"],
            pacman: &["perf"],
            apk: &["perf"],
            ..Packages::NONE
        },
        install: "install your kernel's perf package",
        ..Toolchain::PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_says_what_it_must() {
        let mut names = Vec::new();
        for tool in TOOLCHAINS.iter().chain(&EXTRAS) {
            assert!(
                !tool.program.is_empty() && !tool.install.is_empty(),
                "{tool:?}"
            );
            assert!(!names.contains(&tool.name), "{} is there twice", tool.name);
            names.push(tool.name);
            for ground in tool.runs_on {
                assert!(Toolchain::named(ground).is_some(), "{tool:?}");
            }
        }
        assert!(!names.contains(&""));
    }
}
