//! Words of a command with placeholders in braces.

use std::path::{Path, PathBuf};

use crate::nearest::nearest;

use super::ManifestProblem;

const OUT: &str = "out";
const PRONY: &str = "prony";
const CARGO_TARGET: &str = "cargo_target";

/// What the placeholders stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// `{out}`: the folder for what the build makes.
    pub out: PathBuf,
    /// `{prony}`: Prony's own program.
    pub prony: PathBuf,
    /// `{cargo_target}`: Cargo's target folder.
    pub cargo_target: PathBuf,
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
        const KNOWN: [&str; 3] = [OUT, PRONY, CARGO_TARGET];
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
        let fill = |text: String, name: &str, path: &Path| {
            text.replace(&format!("{{{name}}}"), &path.to_string_lossy())
        };
        let text = fill(self.0.clone(), OUT, &places.out);
        let text = fill(text, PRONY, &places.prony);
        fill(text, CARGO_TARGET, &places.cargo_target)
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
            prony: "/bin/prony".into(),
            cargo_target: "/t".into(),
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
    fn an_unknown_placeholder_is_refused_with_the_nearest() {
        let problem = Template::new("{cargo-target}/{cargo_targt}/x").unwrap_err();
        assert_eq!(
            problem,
            ManifestProblem::UnknownPlaceholder {
                name: "cargo_targt".into(),
                nearest: Some("cargo_target".into())
            }
        );
        assert!(problem.to_string().contains("did you mean `cargo_target`"));
    }
}
