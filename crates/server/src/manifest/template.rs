//! Words of a command with placeholders in braces.

use std::path::{Path, PathBuf};

use crate::nearest::nearest;

use super::ManifestProblem;

const OUT: &str = "out";
const CARGO_TARGET: &str = "cargo_target";
const PACKAGES: &str = "packages";
const WORKLOADS: &str = "workloads";
const PRONY: &str = "prony";

/// Those that are filled in before the build.
const KNOWN: [&str; 5] = [OUT, CARGO_TARGET, PACKAGES, WORKLOADS, PRONY];

/// What is known only when a server starts, so that only its command and its variables can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPlace {
    /// `{host}`: the address to listen on.
    Host,
    /// `{port}`: the port to listen on.
    Port,
    /// `{cpus}`: how many CPUs the server has.
    Cpus,
    /// `{assets}`: the folder of the files that it responds with.
    Assets,
    /// `{tmp}`: an empty folder of its own, removed when it has ended.
    Tmp,
}

impl StartPlace {
    const ALL: [StartPlace; 5] = [
        StartPlace::Host,
        StartPlace::Port,
        StartPlace::Cpus,
        StartPlace::Assets,
        StartPlace::Tmp,
    ];

    const fn name(self) -> &'static str {
        match self {
            StartPlace::Host => "host",
            StartPlace::Port => "port",
            StartPlace::Cpus => "cpus",
            StartPlace::Assets => "assets",
            StartPlace::Tmp => "tmp",
        }
    }

    fn named(name: &str) -> Option<StartPlace> {
        StartPlace::ALL
            .into_iter()
            .find(|place| place.name() == name)
    }
}

/// The places in `text` that are filled in when a server starts.
pub fn names_at_start(text: &str) -> impl Iterator<Item = StartPlace> {
    placeholders(text).filter_map(StartPlace::named)
}

/// `text` with the places filled in that are known when a server starts.
pub fn fill_at_start(text: &str, value: impl Fn(StartPlace) -> String) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, braced) = rest.split_at(at);
        filled.push_str(before);
        let place = braced[1..]
            .split_once('}')
            .and_then(|(name, after)| StartPlace::named(name).map(|place| (place, after)));
        rest = match place {
            Some((place, after)) => {
                filled.push_str(&value(place));
                after
            }
            None => {
                filled.push('{');
                &braced[1..]
            }
        };
    }
    filled + rest
}

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

/// The placeholders, as they are written; with `at_start` those too that are known when a server starts.
pub fn known_placeholders(at_start: bool) -> String {
    let known = names(at_start).map(|name| format!("{{{name}}}"));
    known.collect::<Vec<_>>().join(", ")
}

fn names(at_start: bool) -> impl Iterator<Item = &'static str> {
    let later = StartPlace::ALL.map(StartPlace::name);
    let later = later.into_iter().filter(move |_| at_start);
    KNOWN.into_iter().chain(later)
}

/// A word of a command, its placeholders known to be ones that can be filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Checks the placeholders of a word of a build. Braces around anything but a lower-case name are no
    /// placeholder.
    ///
    /// # Errors
    /// Where a placeholder is none that Prony fills in before the build.
    pub fn new(text: &str) -> Result<Template, ManifestProblem> {
        match names_at_start(text).next() {
            Some(place) => Err(ManifestProblem::PlaceholderOfStart(place.name())),
            None => Template::checked(text, false),
        }
    }

    /// Checks the placeholders of a word of the command that runs a server, or of a variable: these may
    /// also name what is known when it starts.
    ///
    /// # Errors
    /// Where a placeholder is none that Prony fills in.
    pub fn for_start(text: &str) -> Result<Template, ManifestProblem> {
        Template::checked(text, true)
    }

    fn checked(text: &str, at_start: bool) -> Result<Template, ManifestProblem> {
        match placeholders(text).find(|name| names(at_start).all(|known| known != *name)) {
            None => Ok(Template(text.to_owned())),
            Some(name) => Err(ManifestProblem::UnknownPlaceholder {
                name: name.to_owned(),
                nearest: nearest(name, names(at_start)),
                known: known_placeholders(at_start),
            }),
        }
    }

    /// The word as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The word with its placeholders filled in, but for those that are known when a server starts (see
    /// `fill_at_start`).
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
        let all = Template::new(&known_placeholders(false)).unwrap();
        assert_eq!(all.fill(&places()), "/o, /t, /p, /w, /bin/prony");
        assert!(all.shares_packages());
        assert!(!Template::new("packages {out}").unwrap().shares_packages());
    }

    #[test]
    fn what_is_known_at_the_start_is_filled_in_then_and_only_once() {
        let text = "{host}:{port} {{cpus}} {assets {tmp} {out} {";
        let value = |place| match place {
            StartPlace::Host => "{port}".to_owned(),
            other => format!("<{}>", other.name()),
        };
        assert_eq!(
            fill_at_start(text, value),
            "{port}:<port> {<cpus>} {assets <tmp> {out} {"
        );
        let all = Template::for_start(&known_placeholders(true)).unwrap();
        assert_eq!(names_at_start(all.as_str()).count(), StartPlace::ALL.len());
        assert!(all.fill(&places()).contains("/bin/prony, {host}, {port}"));
    }

    #[test]
    fn a_build_cannot_name_what_is_known_only_at_the_start() {
        let problem = Template::new("{out}/{port}").unwrap_err();
        assert_eq!(problem, ManifestProblem::PlaceholderOfStart("port"));
        let text = Template::for_start("--port={prot}")
            .unwrap_err()
            .to_string();
        assert!(text.contains("did you mean `port`?"), "{text}");
        assert!(
            text.ends_with("{host}, {port}, {cpus}, {assets}, {tmp}"),
            "{text}"
        );
    }

    #[test]
    fn an_unknown_placeholder_is_refused_with_the_nearest() {
        let problem = Template::new("{cargo-target}/{cargo_targt}/x").unwrap_err();
        assert_eq!(
            problem,
            ManifestProblem::UnknownPlaceholder {
                name: "cargo_targt".into(),
                nearest: Some("cargo_target".into()),
                known: known_placeholders(false),
            }
        );
        let text = problem.to_string();
        assert!(text.contains("did you mean `cargo_target`"), "{text}");
        assert!(text.ends_with("{packages}, {workloads}, {prony}"), "{text}");
    }
}
