//! The reports of a run: on the terminal, and as files.

use std::error::Error;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use prony_model::{Run, TrialRecord};
use prony_report::{RunSummary, chart_files, end_of_run, html, markdown, terminal};
use prony_store::export_json;

use crate::result_file::ResultFile;

/// Wide enough where nobody says how wide the terminal is.
const DEFAULT_WIDTH: usize = 100;

/// Where the reports were written.
pub struct ReportFiles {
    /// The report as Markdown.
    pub markdown: PathBuf,
    /// The report as one HTML page with charts.
    pub html: PathBuf,
}

/// Prints the comparison, and where the run did not come to its end, that.
pub fn show(run: &Run, comparison: &RunSummary) {
    let stdout = console::Term::stdout();
    let on_terminal = std::io::stdout().is_terminal();
    let width = match stdout.size_checked() {
        Some((_, columns)) if on_terminal => usize::from(columns),
        _ => DEFAULT_WIDTH,
    };
    let colour = on_terminal && console::colors_enabled();
    out!("{}", terminal(comparison, width, colour));
    if let Some(end) = end_of_run(run) {
        outln!("{end}");
    }
}

/// Writes the reports, the charts and the raw record into `folder`.
pub fn write(
    folder: &Path,
    run: &Run,
    trials: &[TrialRecord],
    comparison: &RunSummary,
) -> Result<ReportFiles, Box<dyn Error>> {
    let files = ReportFiles {
        markdown: folder.join("report.md"),
        html: folder.join("report.html"),
    };
    let charts = folder.join("charts");
    fs::create_dir_all(&charts)
        .map_err(|error| format!("cannot create {}: {error}", charts.display()))?;
    let put = |path: &Path, text: String| ResultFile::open(path)?.write(&text);
    put(&files.markdown, markdown(run, comparison))?;
    put(&files.html, html(run, comparison))?;
    for chart in chart_files(comparison) {
        put(&charts.join(chart.name), chart.svg)?;
    }
    let record = serde_json::to_string_pretty(&export_json(run, trials))?;
    put(&folder.join("record.json"), record)?;
    // The logs of trials that went well are gone; an empty folder says nothing.
    let _ = fs::remove_dir(folder.join("logs"));
    Ok(files)
}
