//! A recorded run, from the store or from a file.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prony_model::{Run, TrialRecord, from_json_str};
use prony_store::{RUN_SCHEMA, Store};
use serde::Deserialize;

/// A run with its trials.
#[derive(Deserialize)]
pub struct Recorded {
    pub run: Run,
    pub trials: Vec<TrialRecord>,
}

/// A side as it was written on the command line.
#[derive(Debug, PartialEq)]
pub struct Source {
    place: Place,
    pub server: Option<String>,
}

#[derive(Debug, PartialEq)]
enum Place {
    File(PathBuf),
    /// So many runs before the newest.
    Latest(usize),
    Id(String),
}

impl Source {
    /// A text that is the path of a file is that file, whatever colons are in it.
    pub fn of(text: &str) -> Self {
        let whole = |text: &str| Path::new(text).is_file();
        match text.rsplit_once(':') {
            Some((run, server)) if !whole(text) && !server.is_empty() => Self {
                place: Place::of(run),
                server: Some(server.to_owned()),
            },
            _ => Self {
                place: Place::of(text),
                server: None,
            },
        }
    }

    /// The run. `store` is asked for the record file where the run is no file of its own.
    pub fn read(
        &self,
        store: &dyn Fn() -> Result<PathBuf, Box<dyn Error>>,
    ) -> Result<Recorded, Box<dyn Error>> {
        let open = || -> Result<Store, Box<dyn Error>> { Ok(Store::open_read(store()?)?) };
        match &self.place {
            Place::File(file) => exported(file),
            Place::Id(id) => stored(&open()?, id),
            Place::Latest(before) => {
                let store = open()?;
                let runs = store.runs()?;
                let run = runs.get(*before).ok_or_else(|| {
                    format!(
                        "there is no run `latest~{before}`: {} holds {} of them",
                        store.path().display(),
                        runs.len()
                    )
                })?;
                stored(&store, &run.id)
            }
        }
    }
}

impl Place {
    fn of(text: &str) -> Self {
        let path = Path::new(text);
        if path.is_file()
            || path
                .extension()
                .is_some_and(|extension| extension == "json")
        {
            return Self::File(path.to_owned());
        }
        let before = match text.strip_prefix("latest") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|n| n.parse().ok()),
            None => None,
        };
        before.map_or_else(|| Self::Id(text.to_owned()), Self::Latest)
    }
}

fn stored(store: &Store, id: &str) -> Result<Recorded, Box<dyn Error>> {
    Ok(Recorded {
        run: store.run(id)?,
        trials: store.trials(id)?,
    })
}

/// The text of an exported run: what the schema's name says is looked at before the rest, so that another document
/// is told as such.
fn exported(file: &Path) -> Result<Recorded, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let head: Result<Head, _> = serde_json::from_str(&text);
    if !head.is_ok_and(|head| head.schema == RUN_SCHEMA) {
        return Err(format!(
            "{name} is not a run of Prony ({RUN_SCHEMA}); write one with `prony export --output {name}`"
        )
        .into());
    }
    let read = from_json_str(&text);
    read.map_err(|error| format!("{name} is not a run as Prony writes it: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(place: Place, server: Option<&str>) -> Source {
        Source {
            place,
            server: server.map(str::to_owned),
        }
    }

    #[test]
    fn a_side_is_a_run_and_perhaps_its_server() {
        let id = |id: &str| Place::Id(id.to_owned());
        assert_eq!(Source::of("latest"), source(Place::Latest(0), None));
        assert_eq!(Source::of("latest~12"), source(Place::Latest(12), None));
        assert_eq!(
            Source::of("latest~1:x@4f2a1b"),
            source(Place::Latest(1), Some("x@4f2a1b"))
        );
        assert_eq!(Source::of("latest~x"), source(id("latest~x"), None));
        assert_eq!(
            Source::of("2026-tour:bun"),
            source(id("2026-tour"), Some("bun"))
        );
        assert_eq!(
            Source::of("no/such.json:bun"),
            source(Place::File("no/such.json".into()), Some("bun"))
        );
    }

    #[test]
    fn a_file_may_have_a_colon_in_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a:b");
        fs::write(&file, "{}").unwrap();
        let whole = Source::of(file.to_str().unwrap());
        assert_eq!(whole, source(Place::File(file.clone()), None));
        let error = exported(&file).err().unwrap().to_string();
        assert!(error.contains("prony export"), "{error}");
    }

    #[test]
    fn a_run_in_which_a_key_is_there_twice_is_no_run() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        let text = format!(r#"{{"schema": "{RUN_SCHEMA}", "extra": {{"x": 1, "x": 2}}}}"#);
        fs::write(&file, text).unwrap();
        let error = exported(&file).err().unwrap().to_string();
        assert!(error.contains("the key `x` appears twice"), "{error}");
    }
}
