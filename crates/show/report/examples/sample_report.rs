//! Writes the reports of made-up runs into a folder, to look at while working on them:
//! `cargo run -p prony-report --example sample_report -- FOLDER`.

#[path = "../tests/it/sample/mod.rs"]
mod sample;

use std::{env, fs, io, path::Path, path::PathBuf};

use prony_report::{RunSummary, chart_files, html, markdown, terminal};
use sample::documents::{self, Records};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    let runs = [
        (sample::run(), sample::trials()),
        documents::zap(),
        documents::datastar(),
        documents::hydragen(),
        sample::rates::rates(),
        sample::rates::curve(),
        sample::noisy::noisy(),
    ];
    runs.iter().try_for_each(|records| write(&folder, records))
}

fn write(folder: &Path, (run, trials): &Records) -> io::Result<()> {
    let folder = folder.join(&run.suite);
    let charts = folder.join("charts");
    fs::create_dir_all(&charts)?;
    let comparison = RunSummary::of(run, trials);
    fs::write(folder.join("report.html"), html(run, &comparison))?;
    fs::write(folder.join("report.md"), markdown(run, &comparison))?;
    fs::write(
        folder.join("terminal.txt"),
        terminal(&comparison, 100, false),
    )?;
    for chart in chart_files(&comparison) {
        fs::write(charts.join(chart.name), chart.svg)?;
    }
    println!("{}", folder.display());
    Ok(())
}
