//! `prony export [RUN]`: a recorded run as JSON or CSV.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use prony_record::{Store, export_csv, export_json};

use crate::exit::Outcome;
use crate::project;

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
    /// The file to write; standard output where none is given
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
    let mut out = output(arguments.output.as_deref())?;
    let written = match arguments.format {
        Format::Csv => export_csv(&run, &trials, &mut out),
        Format::Json => serde_json::to_writer_pretty(&mut out, &export_json(&run, &trials))
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
    };
    match written.and_then(|()| out.flush()) {
        // `prony export | head` is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(format!("cannot write the export: {error}").into()),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

fn output(path: Option<&Path>) -> Result<Box<dyn Write>, Box<dyn Error>> {
    match path {
        None => Ok(Box::new(io::stdout().lock())),
        Some(path) => {
            let file = File::create(path)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            Ok(Box::new(BufWriter::new(file)))
        }
    }
}
