//! A Hurl file instead of URLs: its variables, and where their values come from.

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Args;
use prony_traffic::{RandomRange, Scenario, Sources, SourcesError, read_hurl_file};

use super::requests::Requests;
use crate::arguments;
use crate::exit::usage;

/// The start of the names of environment variables that set variables, as in Hurl.
const FROM_ENVIRONMENT: &str = "HURL_VARIABLE_";

#[derive(Args)]
#[command(next_help_heading = "Hurl file")]
pub(super) struct ScenarioArguments {
    /// Set this variable of the file; repeatable. HURL_VARIABLE_NAME in the environment does so too
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// Set a variable that no output shows; repeatable
    #[arg(long = "secret", value_name = "NAME=VALUE", hide_short_help = true)]
    secrets: Vec<String>,
    /// Give each flow the next row of this file, whose columns are variables: CSV with a line of names
    /// (NAME:number if its cells are numbers, not text), or JSON lines (.jsonl, .ndjson)
    #[arg(long, value_name = "FILE")]
    rows: Vec<PathBuf>,
    /// Give each flow the next whole number in this variable, from 1 or FIRST on
    #[arg(long = "counter", value_name = "NAME[=FIRST]", hide_short_help = true)]
    counters: Vec<String>,
    /// Give each flow a random whole number in this variable
    #[arg(
        long = "random",
        value_name = "NAME=LEAST..MOST",
        hide_short_help = true
    )]
    randoms: Vec<String>,
}

/// The Hurl file that is given instead of a URL, if one is.
pub(super) fn file_of(targets: &[String]) -> Result<Option<&Path>, Box<dyn Error>> {
    let is_hurl = |target: &&String| {
        let path = Path::new(target.as_str());
        !target.contains("://")
            && path
                .extension()
                .is_some_and(|extension| extension == "hurl")
    };
    match (targets.iter().find(is_hurl), targets.len()) {
        (None, _) => Ok(None),
        (Some(file), 1) => Ok(Some(Path::new(file))),
        (Some(file), _) => Err(usage(format!(
            "{file} must be the only target: a load runs one Hurl file, whose requests name the server"
        ))),
    }
}

impl ScenarioArguments {
    /// A flag that needs a Hurl file, if one was given.
    pub(super) fn changed(&self) -> Option<&'static str> {
        arguments::first_given([
            ("--variable", !self.variables.is_empty()),
            ("--secret", !self.secrets.is_empty()),
            ("--rows", !self.rows.is_empty()),
            ("--counter", !self.counters.is_empty()),
            ("--random", !self.randoms.is_empty()),
        ])
    }

    /// What the users of a file send.
    pub(super) fn requests(&self, file: &Path) -> Result<Requests, Box<dyn Error>> {
        let name = file.display().to_string();
        let failed = |reason: String| -> Box<dyn Error> { format!("{name}: {reason}").into() };
        let text = read_hurl_file(file).map_err(|error| failed(error.to_string()))?;
        let mut sources = self.sources()?;
        let folder = file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        sources.set_folder(folder.unwrap_or(Path::new(".")).to_path_buf());
        let scenario = Scenario::new(&name, &text, sources).map_err(usage)?;
        Ok(Requests::of_scenario(scenario, &name))
    }

    fn sources(&self) -> Result<Sources, Box<dyn Error>> {
        let mut sources = Sources::default();
        for (variable, value) in std::env::vars_os() {
            let variable = variable.to_string_lossy();
            if let Some(name) = variable.strip_prefix(FROM_ENVIRONMENT) {
                let value = value.into_string();
                let value = value
                    .map_err(|_| usage(format!("{variable} is not UTF-8; set another value")))?;
                set(&variable, sources.set(name, &value))?;
            }
        }
        for text in &self.variables {
            let (name, value) = pair("--variable", text)?;
            set(&format!("--variable {name}"), sources.set(name, value))?;
        }
        for text in &self.secrets {
            let (name, value) = pair("--secret", text)?;
            set(&format!("--secret {name}"), sources.set_secret(name, value))?;
        }
        for file in &self.rows {
            sources.add_file(file).map_err(|error| -> Box<dyn Error> {
                let text = format!("{} {error}", file.display());
                match error {
                    SourcesError::Read(_) => text.into(),
                    _ => usage(text),
                }
            })?;
        }
        for text in &self.counters {
            let flag = format!("--counter {text}");
            let (name, first) = text.split_once('=').unwrap_or((text, "1"));
            let not_whole = |_| usage(format!("{flag}: `{first}` is not a whole number"));
            let first = first.parse().map_err(not_whole)?;
            set(&flag, sources.add_counter(name, first))?;
        }
        for text in &self.randoms {
            let flag = format!("--random {text}");
            let (name, range) = pair("--random", text)?;
            let range: Result<RandomRange, _> = range.parse();
            let range = range.map_err(|error| usage(format!("{flag}: {error}")))?;
            set(&flag, sources.add_random(name, range))?;
        }
        Ok(sources)
    }
}

/// Blames a flag, or a variable of the environment, for the variable that it sets.
fn set(by: &str, result: Result<(), SourcesError>) -> Result<(), Box<dyn Error>> {
    result.map_err(|error| usage(format!("{by} {error}")))
}

fn pair<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str), Box<dyn Error>> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.ok_or_else(|| usage(format!("{flag} {text}: write NAME=VALUE")))
}
