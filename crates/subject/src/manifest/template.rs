//! Words of a command with placeholders in braces.

use std::path::{Path, PathBuf};

use crate::nearest::nearest;

use super::ManifestProblem;

const OUT: &str = "out";
const CARGO_TARGET: &str = "cargo_target";
const PACKAGES: &str = "packages";
const WORKLOADS: &str = "workloads";
const PRONY: &str = "prony";

const KNOWN: [&str; 5] = [OUT, CARGO_TARGET, PACKAGES, WORKLOADS, PRONY];

/// What the placeholders stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// `{out}`: the folder for what the build makes.
    pub out: PathBuf,
    /// `{cargo_target}`: Cargo's target folder.
    pub cargo_target: PathBuf,
    /// `{packages}`: the folder for what package managers fetch.
    pub packages: PathBuf,
    /// `{workloads}`: the project's workloads.
    pub workloads: PathBuf,
    /// `{prony}`: Prony's own program.
    pub prony: PathBuf,
}

impl Places {
    fn of(&self, name: &str) -> Option<&Path> {
        match name {
            OUT => Some(&self.out),
            CARGO_TARGET => Some(&self.cargo_target),
            PACKAGES => Some(&self.packages),
            WORKLOADS => Some(&self.workloads),
            PRONY => Some(&self.prony),
            _ => None,
        }
    }
}

/// All placeholders, as they are written.
pub fn known_placeholders() -> String {
    KNOWN.map(|name| format!("{{{name}}}")).join(", ")
}

/// A word of a command, its placeholders known to be ones that can be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Checks the placeholders of `text`. Braces around anything but a lower-case name are no placeholder.
    ///
    /// # Errors
    /// Where a placeholder is none that Prony fills in.
    pub fn new(text: &str) -> Result<Template, ManifestProblem> {
        match placeholders(text).find(|name| !KNOWN.contains(name)) {
            None => Ok(Template(text.to_owned())),
            Some(name) => Err(ManifestProblem::UnknownPlaceholder {
                name: name.to_owned(),
                nearest: nearest(name, KNOWN),
            }),
        }
    }

    /// The word as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The word with its placeholders filled in.
    pub fn fill(&self, places: &Places) -> String {
        let fill = |text: String, name: &str| match places.of(name) {
            Some(path) => text.replace(&format!("{{{name}}}"), &path.to_string_lossy()),
            None => text,
        };
        KNOWN.into_iter().fold(self.0.clone(), fill)
    }

    /// Whether it names the folder that all builds share for what package managers fetch.
    pub fn shares_packages(&self) -> bool {
        placeholders(&self.0).any(|name| name == PACKAGES)
    }
}

fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |name: &str| {
        let is_letter = |c: char| c.is_ascii_lowercase() || c == '_';
        !name.is_empty() && name.chars().all(is_letter)
    };
    text.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(move |name| is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places {
            out: "/o".into(),
            cargo_target: "/t".into(),
            packages: "/p".into(),
            workloads: "/w".into(),
            prony: "/bin/prony".into(),
        }
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_left() {
        let template = Template::new("{out}/x:{prony}:{cargo_target}:{ }:{\"a\":1}:{}").unwrap();
        assert_eq!(
            template.fill(&places()),
            "/o/x:/bin/prony:/t:{ }:{\"a\":1}:{}"
        );
    }

    #[test]
    fn every_placeholder_that_is_known_has_a_place() {
        let all = Template::new(&known_placeholders()).unwrap();
        assert_eq!(all.fill(&places()), "/o, /t, /p, /w, /bin/prony");
        assert!(all.shares_packages());
        assert!(!Template::new("packages {out}").unwrap().shares_packages());
    }

    #[test]
    fn an_unknown_placeholder_is_refused_with_the_nearest() {
        let problem = Template::new("{cargo-target}/{cargo_targt}/x").unwrap_err();
        assert_eq!(
            problem,
            ManifestProblem::UnknownPlaceholder {
                name: "cargo_targt".into(),
                nearest: Some("cargo_target".into())
            }
        );
        let text = problem.to_string();
        assert!(text.contains("did you mean `cargo_target`"), "{text}");
        assert!(text.ends_with("{packages}, {workloads}, {prony}"), "{text}");
    }
}
