//! Where the version of a subject's framework is read.

use std::fs;

use serde::Deserialize;

use crate::Subject;
use crate::manifest::VersionSource;
use crate::toolchain::Found;

/// The version that the manifest asks for, where it can be read.
pub fn read(subject: &Subject, found: &[Found]) -> Option<String> {
    match subject.manifest.version.as_ref()? {
        VersionSource::Text(text) => Some(text.clone()),
        VersionSource::Toolchain(name) => found
            .iter()
            .find(|found| found.name == name)
            .map(|found| found.version.to_string()),
        VersionSource::CargoLock(package) => {
            let text = fs::read_to_string(subject.folder.join("Cargo.lock")).ok()?;
            locked_version(&text, package)
        }
    }
}

/// The version of a package in the text of a `Cargo.lock`.
fn locked_version(text: &str, package: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn the_version_of_a_package_is_read_from_the_lock_file() {
        let text = "version = 4\n[[package]]\nname = \"axum\"\nversion = \"0.9.1\"\ndependencies = [\"x\"]\n";
        assert_eq!(locked_version(text, "axum").as_deref(), Some("0.9.1"));
        assert_eq!(locked_version(text, "hyper"), None);
        assert_eq!(locked_version("no toml", "axum"), None);
    }
}
