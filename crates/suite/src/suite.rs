//! Suites: which subjects, under which loads, in how many rounds.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::time::Duration;

use prony_record::{LoadShape, LoadSpec};
use serde::Deserialize;

use crate::plan::Measure;
use crate::toml_file::{self, FileError};
use crate::unknown_name::UnknownName;

/// What to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The name of its file, without `.toml`.
    pub id: String,
    /// What reports call it.
    pub title: String,
    /// What it is, in a sentence.
    pub about: String,
    /// What a reader of its report must know, a sentence each.
    pub notes: Vec<String>,
    /// How many times each measure is taken of each subject.
    pub rounds: NonZeroU32,
    /// The ids of the subjects, in the order of its tables.
    pub subjects: Vec<String>,
    /// What is measured of each.
    pub measures: Vec<MeasureSpec>,
}

/// Workloads under one load.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasureSpec {
    /// The ids of the workloads.
    #[serde(deserialize_with = "toml_file::names")]
    pub workloads: Vec<String>,
    /// The load.
    pub load: SuiteLoad,
}

/// A load as a suite asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteLoad {
    /// The arrivals.
    pub shape: LoadShape,
    /// How many connections, over all threads.
    pub connections: NonZeroUsize,
    /// How many threads make it; `None` for one on each CPU that is given to the load.
    pub threads: Option<NonZeroUsize>,
    /// How long it is measured.
    #[serde(deserialize_with = "toml_file::some_duration")]
    pub duration: Duration,
    /// How long requests are sent before measuring begins.
    #[serde(deserialize_with = "toml_file::duration")]
    pub warmup: Duration,
    /// How long an answer may take.
    #[serde(deserialize_with = "toml_file::some_duration")]
    pub timeout: Duration,
}

impl SuiteLoad {
    /// The load for a machine that gives `cpus` CPUs to it.
    pub fn spec(&self, cpus: NonZeroUsize) -> LoadSpec {
        // A thread without a connection would have nothing to do.
        let threads = self.threads.unwrap_or(cpus).min(self.connections);
        LoadSpec {
            shape: self.shape,
            connections: self.connections.get(),
            threads: threads.get(),
            duration_s: Some(self.duration.as_secs_f64()),
            requests: None,
            warmup_s: self.warmup.as_secs_f64(),
            timeout_s: self.timeout.as_secs_f64(),
        }
    }
}

/// A file of a suite.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    title: String,
    about: String,
    #[serde(default)]
    notes: Vec<String>,
    rounds: NonZeroU32,
    #[serde(deserialize_with = "toml_file::names")]
    subjects: Vec<String>,
    measure: Vec<MeasureSpec>,
}

/// Why a suite could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// There is none of that name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Its file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Suite {
    /// The ids of all suites in `folder`, sorted.
    pub fn ids(folder: &Path) -> Result<Vec<String>, FileError> {
        toml_file::ids(folder)
    }

    /// Reads `<folder>/<id>.toml`.
    pub fn read(folder: &Path, id: &str) -> Result<Self, SuiteError> {
        let known = Self::ids(folder)?;
        if !known.iter().any(|name| name == id) {
            let known = known.iter().map(String::as_str);
            return Err(UnknownName::new("suite", id, known).into());
        }
        let path = folder.join(format!("{id}.toml"));
        let file: SuiteFile = toml_file::read(&path)?;
        Ok(Self {
            id: id.to_owned(),
            title: file.title,
            about: file.about,
            notes: file.notes,
            rounds: file.rounds,
            subjects: file.subjects,
            measures: file.measure,
        })
    }

    /// The ids of its workloads, each once, in the order in which it names them.
    pub fn workloads(&self) -> Vec<&str> {
        let mut workloads = Vec::new();
        for id in self.measures.iter().flat_map(|measure| &measure.workloads) {
            if !workloads.contains(&id.as_str()) {
                workloads.push(id);
            }
        }
        workloads
    }

    /// Each workload with each of its loads, for a machine that gives `cpus` CPUs to the load.
    pub fn measures_on(&self, cpus: NonZeroUsize) -> Vec<Measure> {
        let with_load = |measure: &MeasureSpec| {
            let load = measure.load.spec(cpus);
            let ids = measure.workloads.clone().into_iter();
            ids.map(move |workload| Measure {
                workload,
                load: load.clone(),
            })
        };
        self.measures.iter().flat_map(with_load).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    const TOUR: &str = r#"title = "Tour"
about = "A first look."
notes = ["Trials are short."]
rounds = 6
subjects = ["ceiling", "go-nethttp"]
[[measure]]
workloads = ["hello", "byte"]
load = { shape = "closed", connections = 64, threads = 1, duration = "700ms", warmup = "200ms", timeout = "5s" }
[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 2, duration = "1s", warmup = "0s", timeout = "5s" }
"#;

    fn read(text: &str, id: &str) -> Result<Suite, String> {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("tour.toml"), text).unwrap();
        Suite::read(folder.path(), id).map_err(|error| {
            let path = format!("{}/", folder.path().display());
            error.to_string().replace(&path, "")
        })
    }

    #[test]
    fn every_field_is_read() {
        let suite = read(TOUR, "tour").unwrap();
        assert_eq!((suite.id.as_str(), suite.title.as_str()), ("tour", "Tour"));
        assert_eq!(
            (suite.about.as_str(), suite.rounds.get()),
            ("A first look.", 6)
        );
        assert_eq!(suite.notes, ["Trials are short."]);
        assert_eq!(suite.subjects, ["ceiling", "go-nethttp"]);
        assert_eq!(suite.workloads(), ["hello", "byte"]);
        let measures = suite.measures_on(4.try_into().unwrap());
        let seen: Vec<_> = measures
            .iter()
            .map(|m| (m.workload.as_str(), m.load.connections, m.load.threads))
            .collect();
        // The last has no more threads than connections, though there are 4 CPUs.
        assert_eq!(seen, [("hello", 64, 1), ("byte", 64, 1), ("hello", 2, 2)]);
        let load = &measures[0].load;
        assert_eq!((load.duration_s, load.requests), (Some(0.7), None));
        assert_eq!((load.warmup_s, load.timeout_s), (0.2, 5.0));
    }

    #[test]
    fn what_is_wrong_is_said_with_file_line_field_and_nearest_name() {
        for (from, to, said) in [
            ("rounds", "runds", "tour.toml:4: unknown field `runds`"),
            ("rounds", "runds", "did you mean `rounds`?"),
            ("rounds = 6", "rounds = 0", "tour.toml:4: "),
            ("rounds = 6\n", "", "missing field `rounds`"),
            (
                "connections = 64",
                "conections = 64",
                "did you mean `connections`?",
            ),
            ("connections = 64", "connections = 0", "tour.toml:8: "),
            (
                "\"closed\", connections = 64",
                "\"close\", connections = 64",
                "did you mean `closed`?",
            ),
            ("700ms", "700", "tour.toml:8: `700` is no duration"),
            (
                "700ms",
                "0s",
                "tour.toml:8: the duration must be longer than 0",
            ),
            (
                "[\"hello\", \"byte\"]",
                "[]",
                "tour.toml:7: the list must name at least one",
            ),
            (
                "\"ceiling\", ",
                "\"go-nethttp\", ",
                "tour.toml:5: `go-nethttp` is named twice",
            ),
        ] {
            let error = read(&TOUR.replace(from, to), "tour").unwrap_err();
            assert!(error.contains(said), "{error}\nlacks {said}");
        }
    }

    #[test]
    fn an_unknown_suite_is_answered_with_the_nearest() {
        let error = read(TOUR, "tuor").unwrap_err();
        assert_eq!(error, "there is no suite `tuor`; did you mean `tour`?");
    }
}
