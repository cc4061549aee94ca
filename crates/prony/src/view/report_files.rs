//! The reports of a run: on the terminal, and as files.

use std::error::Error;
use std::fmt;
use std::fs::remove_dir;
use std::path::{Path, PathBuf};

use prony_model::{Explanation, Run, TrialRecord};
use prony_report::compare::Comparison;
use prony_report::{RunSummary, chart_files, document, end_of_run, page, terminal};
use prony_run::run::Finished;
use prony_server::Layout;
use prony_store::{Store, export_json};

use super::{Console, WIDTH_OF_A_FILE};
use crate::result_file::{self, create_folder};

pub(crate) struct ReportFiles {
    markdown: PathBuf,
    html: PathBuf,
}

impl fmt::Display for ReportFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (html, markdown) = (self.html.display(), self.markdown.display());
        write!(f, "report   {html}\n         {markdown}")
    }
}

/// Where the reports of a run and its record are.
pub(crate) fn places(files: &ReportFiles, store: &Store, run: &Run) -> String {
    let record = store.path().display();
    format!("{files}\nrecord   {record} (run {})", run.id)
}

/// Shows a comparison, and how its run ended if it is not complete; on standard error if a file takes standard output.
pub(crate) fn show(run: &Run, comparison: &RunSummary, is_stdout_taken: bool) {
    let end = end_of_run(run).map_or_else(String::new, |end| format!("{end}\n"));
    if is_stdout_taken {
        err!("{}{end}", terminal(comparison, WIDTH_OF_A_FILE, false));
    } else {
        let Console { width, colour } = Console::stdout();
        out!("{}{end}", terminal(comparison, width, colour));
    }
}

/// Writes the reports of a run that has just ended into the run's own folder. If the record could not be kept, they are
/// all that is left of it, so they go to a temporary folder if necessary.
pub(crate) fn write_finished(
    layout: &Layout,
    finished: &Finished,
    comparison: &RunSummary,
) -> Result<ReportFiles, Box<dyn Error>> {
    let (run, trials) = (&finished.run, &finished.trials);
    let write = |folder: &Path| write(folder, run, trials, &finished.explanations, comparison);
    // The user may have deleted the state folder during the run.
    let _ = layout.make_state();
    let folder = layout.runs().join(&run.id);
    let written = write(&folder);
    let Some(unsaved) = &finished.unsaved else {
        return written;
    };
    let temporary = std::env::temp_dir().join(&run.id);
    let (folder, written) = match written {
        Ok(_) => (folder, Ok(())),
        Err(_) => {
            let written = write(&temporary).map(drop);
            (temporary, written)
        }
    };
    match written {
        Ok(()) => errln!("note: the results are in {}", folder.display()),
        Err(error) => errln!("note: the reports could not be written either: {error}"),
    }
    Err(unsaved.to_string().into())
}

/// Writes the reports, the charts and the record as JSON into `folder`.
pub(crate) fn write(
    folder: &Path,
    run: &Run,
    trials: &[TrialRecord],
    explanations: &[Explanation],
    comparison: &RunSummary,
) -> Result<ReportFiles, Box<dyn Error>> {
    let files = ReportFiles {
        markdown: folder.join("report.md"),
        html: folder.join("report.html"),
    };
    let charts = folder.join("charts");
    create_folder(&charts)?;
    let verdict = Comparison::of_run(run, trials);
    let with_verdict = |page| match &verdict {
        Some(verdict) => prony_report::compare::with_verdict(page, verdict),
        None => page,
    };
    let markdown = with_verdict(document(run, comparison)).markdown();
    result_file::write(&files.markdown, &markdown)?;
    let html = with_verdict(page(run, comparison)).html();
    result_file::write(&files.html, &html)?;
    for chart in chart_files(comparison) {
        result_file::write(&charts.join(chart.name), &chart.svg)?;
    }
    let record = serde_json::to_string_pretty(&export_json(run, trials, explanations))?;
    result_file::write(&folder.join("record.json"), &record)?;
    // Prony removes the logs of good trials; an empty folder is of no use.
    let _ = remove_dir(folder.join("logs"));
    Ok(files)
}
