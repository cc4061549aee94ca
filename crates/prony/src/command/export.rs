//! `prony export [RUN]`: a recorded run as JSON or CSV, or as a log of histograms.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use prony_store::{export_csv, export_hlog, export_json};

use super::flags::RunFlags;
use crate::exit::Outcome;
use crate::result_file::ResultFile;

const EXAMPLES: &str = "\
Examples:
  prony export                             the newest run, as JSON
  prony export --format csv -o trials.csv  one line per trial
  prony export --format hlog -o run.hlog   an interval per trial, for the tools
                                           of HdrHistogram

The JSON follows schema/run.schema.json.

Exit status:
  0  the run was written
  1  there is no such run, or it could not be written
  2  the command line is wrong";

/// Which run, in which format, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunFlags,
    /// Write the run in this format
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Csv,
    Hlog,
}

/// Writes the run.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let recorded = arguments.run.read(project)?;
    let to = arguments.output.as_deref().unwrap_or(Path::new("-"));
    let file = ResultFile::open(to)?;
    let (run, trials) = (&recorded.run, &recorded.trials);
    match arguments.format {
        Format::Csv => file.write_with(|out| export_csv(run, trials, out))?,
        Format::Hlog => file.write_with(|out| export_hlog(run, trials, out))?,
        Format::Json => file.write_json(&export_json(run, trials, &recorded.explanations))?,
    }
    Ok(ExitCode::SUCCESS)
}
