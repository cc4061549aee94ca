//! What a request costs servers: on the terminal, and as files in the run's folder.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use prony_insight::profile::{flame_graph, flame_graph_of_difference, folded};
use prony_model::{Explanation, Profile, Run};
use prony_present::number;
use prony_report::explain::{Difference, ExplanationSummary, FlameGraphs, Header, difference};
use prony_run::run::Finished;
use prony_server::Layout;
use serde_json::Value;

use super::Console;
use crate::result_file::ResultFile;

/// Where the explanation of a run was written.
pub struct ExplanationFiles {
    page: PathBuf,
    /// The folder of the stacks; `None` if nothing was profiled.
    profiles: Option<PathBuf>,
}

impl fmt::Display for ExplanationFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "explain  {}", self.page.display())?;
        match &self.profiles {
            Some(folder) => write!(f, "\nstacks   {}", folder.display()),
            None => Ok(()),
        }
    }
}

/// The differences to show: if there are exactly two servers, those of each workload, the first named being the one before.
pub fn differences(explanations: &[Explanation]) -> Vec<Difference<'_>> {
    let mut servers: Vec<&str> = Vec::new();
    for one in explanations {
        if !servers.contains(&one.server.as_str()) {
            servers.push(&one.server);
        }
    }
    let [first, second] = servers[..] else {
        return Vec::new();
    };
    differences_of(explanations, first, second)
}

/// The differences between two servers, for each workload that both have.
pub fn differences_of<'a>(
    explanations: &'a [Explanation],
    before: &str,
    after: &str,
) -> Vec<Difference<'a>> {
    let of = |server: &str| {
        let server = server.to_owned();
        explanations.iter().filter(move |one| one.server == server)
    };
    let pairs = of(before).flat_map(|one| of(after).map(move |other| (one, other)));
    pairs
        .filter_map(|(one, other)| difference(one, other).ok())
        .collect()
}

/// Writes the explanation of a run, if it has one, and shows it. `pair` are the servers before and after whose difference is
/// shown; without it, the run's servers if there are two.
pub fn conclude(
    layout: &Layout,
    finished: &Finished,
    pair: Option<[&str; 2]>,
    is_stdout_taken: bool,
) -> Result<(), Box<dyn Error>> {
    let explanations = &finished.explanations;
    if explanations.is_empty() {
        return Ok(());
    }
    let differences = match pair {
        Some([before, after]) => differences_of(explanations, before, after),
        None => differences(explanations),
    };
    let folder = layout.runs().join(&finished.run.id);
    let files = write(&folder, &finished.run, explanations, &differences)?;
    errln!("{files}\n");
    if !is_stdout_taken {
        outln!();
        show(explanations, &differences);
    }
    Ok(())
}

/// Writes the explanation of a recorded run again, if it has one, and shows it.
pub fn again(folder: &Path, run: &Run, explanations: &[Explanation]) -> Result<(), Box<dyn Error>> {
    if explanations.is_empty() {
        return Ok(());
    }
    let differences = differences(explanations);
    let files = write(folder, run, explanations, &differences)?;
    outln!("{files}\n");
    show(explanations, &differences);
    Ok(())
}

/// Writes the page, the Markdown, the JSON, and the stacks as text and as flame graphs into `folder`.
pub fn write(
    folder: &Path,
    run: &Run,
    explanations: &[Explanation],
    differences: &[Difference<'_>],
) -> Result<ExplanationFiles, Box<dyn Error>> {
    let page = folder.join("explain.html");
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let profiles = write_profiles(&folder.join("profiles"), explanations, differences)?;
    let put = |path: &Path, text: String| ResultFile::open(path)?.write(&text);
    put(&page, html(run, explanations, differences))?;
    let text = markdown(explanations, differences);
    put(&folder.join("explain.md"), text)?;
    let json = serde_json::to_string_pretty(&json(run, explanations, differences))?;
    put(&folder.join("explain.json"), json)?;
    Ok(ExplanationFiles { page, profiles })
}

/// Shows the results, and after those the differences.
pub fn show(explanations: &[Explanation], differences: &[Difference<'_>]) {
    let Console { width, colour } = Console::stdout();
    let summary = ExplanationSummary::of(explanations);
    out!("{}", summary.text(width, colour));
    for one in differences {
        out!("\n{}", one.text(width, colour));
    }
}

/// The results and the differences as Markdown.
pub fn markdown(explanations: &[Explanation], differences: &[Difference<'_>]) -> String {
    let mut text = ExplanationSummary::of(explanations).markdown();
    for one in differences {
        text.push('\n');
        text.push_str(&one.markdown());
    }
    text
}

/// The same as JSON.
pub fn json(run: &Run, explanations: &[Explanation], differences: &[Difference<'_>]) -> Value {
    prony_report::explain::json(&Header::from(run), explanations, differences)
}

fn html(run: &Run, explanations: &[Explanation], differences: &[Difference<'_>]) -> String {
    let differences = differences.iter();
    let differences = differences.map(|one| (one.clone(), graph_of(one)));
    let differences: Vec<(Difference<'_>, Option<String>)> = differences.collect();
    ExplanationSummary::of(explanations).html(&Header::from(run), graphs, &differences)
}

fn graphs(of: &Explanation) -> FlameGraphs {
    FlameGraphs {
        on_cpu: of.on_cpu.as_ref().and_then(|it| graph(of, it, ON_CPU)),
        off_cpu: of.off_cpu.as_ref().and_then(|it| graph(of, it, OFF_CPU)),
    }
}

const ON_CPU: &str = "on the CPU";
const OFF_CPU: &str = "waiting";

/// `None` if it has no samples.
fn graph(of: &Explanation, profile: &Profile, kind: &str) -> Option<String> {
    let title = format!("{} × {}: {kind}", of.server, of.workload);
    let per = profile.seconds / profile.units;
    let mut subtitle = format!("{} samples", number::whole(profile.samples as f64));
    if per.is_finite() {
        let time = number::duration(per * 1e9);
        subtitle = format!("{subtitle}, {time} a {}", of.unit.name());
    }
    flame_graph(profile, &title, &subtitle).ok()
}

fn graph_of(one: &Difference<'_>) -> Option<String> {
    let (before, after) = (one.before.on_cpu.as_ref()?, one.after.on_cpu.as_ref()?);
    let title = format!(
        "{} after {} × {}",
        one.after.server, one.before.server, one.before.workload
    );
    flame_graph_of_difference(before, after, &title, one.before.unit.name()).ok()
}

/// Writes stacks and graphs; `None` if there are none.
fn write_profiles(
    folder: &Path,
    explanations: &[Explanation],
    differences: &[Difference<'_>],
) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let is_profiled = |one: &Explanation| one.on_cpu.is_some() || one.off_cpu.is_some();
    if !explanations.iter().any(is_profiled) {
        return Ok(None);
    }
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    let put = |name: String, text: &str| ResultFile::open(&folder.join(name))?.write(text);
    for one in explanations {
        for (profile, kind, file) in [
            (&one.on_cpu, ON_CPU, "on-cpu"),
            (&one.off_cpu, OFF_CPU, "off-cpu"),
        ] {
            let Some(profile) = profile else { continue };
            let name = format!("{}-{}-{file}", one.server.replace('/', "-"), one.workload);
            put(format!("{name}.folded"), &folded(profile))?;
            if let Some(svg) = graph(one, profile, kind) {
                put(format!("{name}.svg"), &svg)?;
            }
        }
    }
    for one in differences {
        if let Some(svg) = graph_of(one) {
            put(format!("difference-{}.svg", one.before.workload), &svg)?;
        }
    }
    Ok(Some(folder.to_owned()))
}
