//! Writes the reports of a made-up run into a folder, to look at while working on them:
//! `cargo run -p prony-report --example sample_report -- FOLDER`.

#[path = "../tests/sample/mod.rs"]
mod sample;

use std::{env, fs, io, path::PathBuf};

use prony_report::{ChartKind, Comparison, chart_svg, html, markdown, terminal};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    let run = sample::run();
    let comparison = Comparison::of(&run, &sample::trials());
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("report.html"), html(&run, &comparison))?;
    fs::write(folder.join("report.md"), markdown(&run, &comparison))?;
    for kind in ChartKind::ALL {
        let name = format!("{}.svg", kind.name());
        fs::write(folder.join(name), chart_svg(kind, &comparison.tables[0]))?;
    }
    print!("{}", terminal(&comparison, 100, false));
    Ok(())
}
