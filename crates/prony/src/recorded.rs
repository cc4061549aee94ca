//! A recorded run, from the store or from an exported file.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prony_model::{Explanation, Run, TrialRecord, from_json};
use prony_store::{RUN_SCHEMA, Store};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) trials: Vec<TrialRecord>,
    #[serde(default)]
    pub(crate) explanations: Vec<Explanation>,
}

/// A run as the command line names it.
#[derive(Debug, PartialEq)]
pub(crate) enum RunName {
    /// A file that `prony export` wrote.
    File(PathBuf),
    /// The newest but this many: `latest~1`.
    Latest(usize),
    Id(String),
}

impl RunName {
    pub(crate) fn of(text: &str) -> Self {
        let path = Path::new(text);
        if path.is_file() || path.extension().is_some_and(|it| it == "json") {
            return Self::File(path.to_owned());
        }
        let before = match text.strip_prefix("latest") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|n| n.parse().ok()),
            None => None,
        };
        before.map_or_else(|| Self::Id(text.to_owned()), Self::Latest)
    }

    /// The run. Only a run that is not a file of its own needs the store.
    pub(crate) fn read(
        &self,
        store: impl Fn() -> Result<Store, Box<dyn Error>>,
    ) -> Result<Recorded, Box<dyn Error>> {
        if let Self::File(file) = self {
            return exported(file);
        }
        let store = store()?;
        let run = match self {
            Self::Id(id) => store.run(id)?,
            Self::File(_) | Self::Latest(0) => store.latest()?,
            Self::Latest(before) => {
                let runs = store.runs()?;
                let run = runs.get(*before).ok_or_else(|| {
                    format!(
                        "there is no run `latest~{before}`: {} has {} runs",
                        store.path().display(),
                        runs.len()
                    )
                })?;
                store.run(&run.id)?
            }
        };
        Ok(Recorded {
            trials: store.trials(&run.id)?,
            explanations: store.explanations(&run.id)?,
            run,
        })
    }
}

/// An exported run. The schema's name is read before the rest, so that another kind of document is recognised.
fn exported(file: &Path) -> Result<Recorded, Box<dyn Error>> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let head: Result<Head, _> = serde_json::from_str(text.trim_start_matches('\u{feff}'));
    if !head.is_ok_and(|head| head.schema == RUN_SCHEMA) {
        return Err(format!(
            "{name} is not a run of Prony ({RUN_SCHEMA}); write one with `prony export --output {name}`"
        )
        .into());
    }
    let read = from_json(&text);
    read.map_err(|error| format!("{name} is not a run as Prony writes it: {error}").into())
}

#[cfg(test)]
mod tests {
    use prony_model::sample;
    use prony_store::export_json;

    use super::*;

    #[test]
    fn a_run_has_several_names() {
        let id = |id: &str| RunName::Id(id.to_owned());
        assert_eq!(RunName::of("latest"), RunName::Latest(0));
        assert_eq!(RunName::of("latest~12"), RunName::Latest(12));
        assert_eq!(RunName::of("latest~x"), id("latest~x"));
        assert_eq!(RunName::of("2026-tour"), id("2026-tour"));
        let file = RunName::File("no/such.json".into());
        assert_eq!(RunName::of("no/such.json"), file);
    }

    #[test]
    fn explanations_are_read_from_the_store_and_from_an_exported_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prony.db");
        let store = Store::open(&path).unwrap();
        store.begin_run(&sample::run("r")).unwrap();
        let explanation = sample::explanation("bun");
        store.add_explanation("r", &explanation).unwrap();
        let from_store = RunName::of("r").read(|| Ok(Store::open_read(&path)?));
        let recorded = from_store.unwrap();
        assert_eq!(recorded.explanations, [explanation]);

        let file = folder.path().join("run.json");
        let json = export_json(&recorded.run, &recorded.trials, &recorded.explanations);
        fs::write(&file, json.to_string()).unwrap();
        assert_eq!(exported(&file).unwrap().explanations, recorded.explanations);
        let without = export_json(&recorded.run, &recorded.trials, &[]);
        fs::write(&file, without.to_string()).unwrap();
        assert_eq!(exported(&file).unwrap().explanations, []);
    }

    #[test]
    fn what_is_not_an_exported_run_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        let repeated = format!(r#"{{"schema": "{RUN_SCHEMA}", "extra": {{"x": 1, "x": 2}}}}"#);
        for (text, why) in [
            ("{}", "prony export"),
            (&repeated, "the key `x` appears twice"),
        ] {
            fs::write(&file, text).unwrap();
            let error = exported(&file).err().unwrap().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
