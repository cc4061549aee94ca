//! Writes pages of made-up servers, to look at: `cargo run -p prony-report --example sample_explanation -- FOLDER [SVG]`.
//! With a flame graph as SVG, every server has that.

#[path = "../tests/it/explain/sample/mod.rs"]
mod sample;

use std::path::Path;
use std::{env, fs, io};

use prony_report::explain::{ExplanationSummary, FlameGraphs, difference};

/// A drawing with a script, in place of a flame graph.
const FLAME: &str = r##"<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="1200" height="90" viewBox="0 0 1200 90"><rect id="box" width="1200" height="40" fill="#f2994a"/><text id="words" x="8" y="26">no script ran</text><script><![CDATA[document.getElementById("words").textContent = "a script ran & may draw";]]></script></svg>"##;

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let flame = match env::args().nth(2) {
        Some(file) => fs::read_to_string(file)?,
        None => FLAME.to_owned(),
    };
    let flames = |_: &_| FlameGraphs {
        on_cpu: Some(flame.clone()),
        off_cpu: None,
    };
    let three = sample::explanations();
    let summary = ExplanationSummary::of(&three);
    fs::write(
        folder.join("explain.html"),
        summary.html(&sample::header(), flames, &[]),
    )?;
    fs::write(folder.join("explain.md"), summary.markdown())?;
    let revisions = sample::revisions();
    let found = difference(&revisions[0], &revisions[1]).map_err(io::Error::other)?;
    let summary = ExplanationSummary::of(&revisions);
    let page = summary.html(&sample::header(), flames, &[(found, Some(flame.clone()))]);
    fs::write(folder.join("revisions.html"), page)?;
    let many = sample::many();
    let summary = ExplanationSummary::of(&many);
    fs::write(
        folder.join("many.html"),
        summary.html(&sample::header(), flames, &[]),
    )
}
