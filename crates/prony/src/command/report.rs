//! `prony report [RUN]`: a recorded run again.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use prony_model::Run;
use prony_report::RunSummary;
use prony_server::Layout;
use prony_store::Store;

use crate::exit::Outcome;
use crate::project;
use crate::result_file;
use crate::view::report_files;

const EXAMPLES: &str = "\
Examples:
  prony report                   the newest run
  prony report --list            every run there is
  prony report 20261121-203000-tour-4711 --out site";

/// Which run, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The run's id; the newest where none is given
    run: Option<String>,
    /// List the recorded runs
    #[arg(long, conflicts_with_all = ["run", "out"])]
    list: bool,
    /// Write the report to this folder, which is created if it is missing, instead of the run's own
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// Shows the comparison and writes the report anew.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let store = Store::open_read(match &arguments.store {
        Some(file) => file.clone(),
        None => project::record_file(&project::layout(project)?),
    })?;
    if arguments.list {
        list(&store)?;
        return Ok(ExitCode::SUCCESS);
    }
    let run = match &arguments.run {
        Some(id) => store.run(id)?,
        None => store.latest()?,
    };
    let trials = store.trials(&run.id)?;
    let folder = match &arguments.out {
        Some(folder) => result_file::folder(folder)?,
        None => own_folder(&project::layout(project)?, &run)?,
    };
    let comparison = RunSummary::of(&run, &trials);
    report_files::show(&run, &comparison);
    let files = report_files::write(&folder, &run, &trials, &comparison)?;
    outln!(
        "report   {}\n         {}",
        files.html.display(),
        files.markdown.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The folder of a run's own reports.
fn own_folder(layout: &Layout, run: &Run) -> Result<PathBuf, Box<dyn Error>> {
    layout.make_state()?;
    Ok(layout.runs().join(&run.id))
}

fn list(store: &Store) -> Result<(), prony_store::StoreError> {
    for run in store.runs()? {
        outln!(
            "{:34} {:12} {:20} {} servers, {} trials, {} failed",
            run.id,
            run.end.name(),
            run.started_at,
            run.servers,
            run.trials,
            run.failed_trials,
        );
    }
    Ok(())
}
