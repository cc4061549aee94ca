//! Reads the version of a server's framework.

use std::fs;

use serde::Deserialize;

use crate::manifest::VersionSource;
use crate::server::{Server, Started};
use crate::toolchain::Found;

/// The version, from the source that the manifest names, if it can be read.
pub(super) fn read(server: &Server, started: &Started, found: &[Found]) -> Option<String> {
    let file = |name| fs::read_to_string(server.folder.join(name)).ok();
    match started.recipe.version.as_ref()? {
        VersionSource::Text(text) => Some(text.clone()),
        VersionSource::Toolchain(name) => found
            .iter()
            .find(|found| found.tool.name == *name)
            .map(|found| found.version.to_string()),
        VersionSource::CargoLock(package) => locked(&file("Cargo.lock")?, package),
        VersionSource::GoMod(module) => required(&file("go.mod")?, module),
        VersionSource::Requirements(package) => pinned(&file("requirements.txt")?, package),
        VersionSource::PomProperty(name) => property(&file("pom.xml")?, name),
    }
}

fn locked(text: &str, package: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Locked>,
    }
    #[derive(Deserialize)]
    struct Locked {
        name: String,
        version: String,
    }
    let lock: Lock = toml::from_str(text).ok()?;
    lock.package
        .into_iter()
        .find(|locked| locked.name == package)
        .map(|locked| locked.version)
}

/// The version that a `go.mod` requires of a module, without Go's leading `v`.
fn required(text: &str, module: &str) -> Option<String> {
    let mut in_block = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, version) = match words[..] {
            ["require", "("] => {
                in_block = true;
                continue;
            }
            [")"] => {
                in_block = false;
                continue;
            }
            ["require", name, version] => (name, version),
            [name, version] if in_block => (name, version),
            _ => continue,
        };
        if name.trim_matches('"') == module {
            return Some(version.strip_prefix('v').unwrap_or(version).to_owned());
        }
    }
    None
}

fn pinned(text: &str, package: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let line = line.split('#').next()?;
        let (name, version) = line.split_once("==")?;
        let name = name.split('[').next()?;
        let end = |c: char| c.is_whitespace() || ";,\\".contains(c);
        let version = version.trim_start().split(end).next()?;
        let same = same_package(name.trim(), package) && !version.is_empty();
        same.then(|| version.to_owned())
    })
}

/// Names of Python packages ignore case, and `-`, `_` and `.` mean the same.
fn same_package(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.to_lowercase().replace(['_', '.'], "-");
    plain(one) == plain(other)
}

/// The value of a property of a `pom.xml`, unless it refers to other properties.
fn property(text: &str, name: &str) -> Option<String> {
    let text = without_comments(text);
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    text.split("<properties>")
        .skip(1)
        .filter_map(|rest| rest.split("</properties>").next())
        .find_map(|properties| {
            let (_, value) = properties.split_once(&start)?;
            let value = value.split_once(&end)?.0.trim();
            let plain = !value.is_empty() && !value.contains(['<', '$']);
            plain.then(|| value.to_owned())
        })
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let before = parts.next().unwrap_or_default().to_owned();
    parts.fold(before, |before, part| {
        before + part.split_once("-->").map_or("", |(_, after)| after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_package_is_read_from_the_lock_file() {
        let text = "version = 4\n[[package]]\nname = \"axum\"\nversion = \"0.9.1\"\ndependencies = [\"x\"]\n";
        assert_eq!(locked(text, "axum").as_deref(), Some("0.9.1"));
        assert_eq!(locked(text, "hyper"), None);
        assert_eq!(locked("no toml", "axum"), None);
    }

    #[test]
    fn the_version_of_a_module_is_read_from_go_mod() {
        let text = "module example.org/server\n\ngo 1.24\n\nrequire example.org/one v1.2.3 // indirect\n\
            require (\n\t// example.org/two v9.9.9\n\texample.org/two/v2 v2.0.0-rc.1+incompatible\n\
            \texample.org/two v0.5.0\n)\n\nreplace (\n\texample.org/three v1.0.0\n)\n";
        for (module, version) in [
            ("example.org/one", Some("1.2.3")),
            ("example.org/two", Some("0.5.0")),
            ("example.org/two/v2", Some("2.0.0-rc.1+incompatible")),
            ("example.org/three", None),
            ("example.org", None),
        ] {
            assert_eq!(required(text, module).as_deref(), version, "{module}");
        }
        assert_eq!(required("", "go"), None);
    }

    #[test]
    fn a_pinned_version_is_read_from_requirements() {
        let text = "# gunicorn==1.0\n-r more.txt\nflask>=3,!=3.1\nZope.interface == 7.2\n\
            gunicorn==25.0.1  # the newest\ngranian[uvloop,reload]==2.5.0 ; python_version >= \"3.10\"\n\
            uvloop==0.22.1 \\\n    --hash=sha256:ab\nempty==\n";
        let found = |package| pinned(text, package);
        assert_eq!(found("gunicorn").as_deref(), Some("25.0.1"));
        assert_eq!(found("Granian").as_deref(), Some("2.5.0"));
        assert_eq!(found("zope-interface").as_deref(), Some("7.2"));
        assert_eq!(found("uvloop").as_deref(), Some("0.22.1"));
        for package in ["flask", "uni", "empty", "more"] {
            assert_eq!(found(package), None, "{package}");
        }
    }

    #[test]
    fn a_property_is_read_from_a_pom() {
        let text = "<project><version>1.0</version><properties>\n\
            <!-- <vertx.version>4.0.0</vertx.version> -->\n\
            <vertx.version>\n 5.2.0 </vertx.version><a>${vertx.version}</a><empty/>\n\
            </properties>\n<dependency><b>1</b></dependency><!-- open";
        let found = |name| property(text, name);
        assert_eq!(found("vertx.version").as_deref(), Some("5.2.0"));
        for name in ["version", "vertx", "a", "b", "empty"] {
            assert_eq!(found(name), None, "{name}");
        }
        assert_eq!(property("<properties>", "a"), None);
    }
}
