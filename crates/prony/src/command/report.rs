//! `prony report [RUN]`: a recorded run again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::terminal::Paint;
use prony_present::words::plural;
use prony_report::RunSummary;
use prony_report::compare::Comparison;
use prony_store::{Store, StoreError};

use super::flags::RunFlags;
use crate::exit::Outcome;
use crate::project;
use crate::result_file;
use crate::view::explanation_files::RunExplanation;
use crate::view::{Console, report_files, width};

const EXAMPLES: &str = "\
Examples:
  prony report                  the newest run
  prony report latest~1         the run before it
  prony report --list           all recorded runs
  prony report 20261121-203000-tour-4711 --out site

Exit status:
  0  the report was written
  1  there is no such run, or the report could not be written
  2  the command line is wrong";

/// Which run, and where to.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    run: RunFlags,
    /// List the recorded runs
    #[arg(long, conflicts_with_all = ["run", "out"])]
    list: bool,
    /// Write the report to this folder instead of the run's own, and create it if it is missing
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Shows the comparison and writes the report again.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    if arguments.list {
        list(&arguments.run.store.open_read(project)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let recorded = arguments.run.read(project)?;
    let folder = match &arguments.out {
        Some(folder) => result_file::folder(folder)?,
        None => {
            let layout = project::layout(project)?;
            layout.make_state()?;
            layout.runs().join(&recorded.run.id)
        }
    };
    let comparison = RunSummary::of(&recorded.run, &recorded.trials);
    let files = report_files::write(
        &folder,
        &recorded.run,
        &recorded.trials,
        &recorded.explanations,
        &comparison,
    );
    if let Ok(files) = &files {
        outln!("{files}\n");
    }
    // A run of `prony explain` has no trials.
    let is_ranked = !recorded.trials.is_empty() || recorded.explanations.is_empty();
    if is_ranked {
        report_files::show(&recorded.run, &comparison, false);
    }
    if let Some(verdict) = Comparison::of_run(&recorded.run, &recorded.trials) {
        let colour = Console::stdout().colour;
        out!("\n{}", prony_report::compare::terminal(&verdict, colour));
    }
    files?;
    RunExplanation::of(&recorded.run, &recorded.explanations).again(&folder)?;
    Ok(ExitCode::SUCCESS)
}

fn list(store: &Store) -> Result<(), StoreError> {
    let rows = store.runs()?.into_iter().map(|run| {
        let servers = plural(run.servers as usize, "server");
        let trials = plural(run.trials as usize, "trial");
        let counts = format!("{servers}, {trials}, {} failed", run.failed_trials);
        Row::of([&run.id, run.end.name(), &run.started_at, &counts].map(Cell::text))
    });
    let table = Table::with([""; 4].map(Head::words), rows);
    for line in table.terminal(width(), Paint { colour: false }) {
        outln!("{line}");
    }
    Ok(())
}
