//! `prony export [RUN]`: a recorded run as JSON or CSV.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use prony_store::{Store, export_csv, export_json};

use crate::exit::Outcome;
use crate::project;
use crate::result_file::ResultFile;

const EXAMPLES: &str = "\
Examples:
  prony export                               the newest run as JSON, to standard output
  prony export --format csv -o trials.csv    one line a trial

The JSON follows schema/run.schema.json.";

/// Which run, as what, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The run's id; the newest where none is given
    run: Option<String>,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Csv,
}

/// Writes the run.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let file = match &arguments.store {
        Some(file) => file.clone(),
        None => project::record_file(&project::layout(project)?),
    };
    let store = Store::open_read(file)?;
    let run = match &arguments.run {
        Some(id) => store.run(id)?,
        None => store.latest()?,
    };
    let trials = store.trials(&run.id)?;
    let to = arguments.output.as_deref().unwrap_or(Path::new("-"));
    let file = ResultFile::open(to)?;
    match arguments.format {
        Format::Csv => file.write_with(|out| export_csv(&run, &trials, out))?,
        Format::Json => file.write_json(&export_json(&run, &trials))?,
    }
    Ok(ExitCode::SUCCESS)
}
