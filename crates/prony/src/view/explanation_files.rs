//! What a request costs servers: on the terminal, and as files in the run's folder.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use prony_insight::profile::{flame_graph, flame_graph_of_difference, folded};
use prony_model::{Explanation, Profile, Run};
use prony_present::number;
use prony_report::explain::{Difference, ExplanationSummary, FlameGraphs, Header, difference};
use prony_server::Layout;
use serde_json::Value;

use super::Console;
use crate::result_file::{create_folder, write};

/// The explanations of a run, and the differences that are shown with them.
pub(crate) struct RunExplanation<'a> {
    run: &'a Run,
    explanations: &'a [Explanation],
    differences: Vec<Difference<'a>>,
}

impl<'a> RunExplanation<'a> {
    /// If there are exactly two servers, their differences are shown, the first named being the one before.
    pub(crate) fn of(run: &'a Run, explanations: &'a [Explanation]) -> Self {
        let mut servers: Vec<&str> = Vec::new();
        for one in explanations {
            if !servers.contains(&one.server.as_str()) {
                servers.push(&one.server);
            }
        }
        match <[&str; 2]>::try_from(servers) {
            Ok(pair) => Self::of_pair(run, explanations, pair),
            Err(_) => Self {
                run,
                explanations,
                differences: Vec::new(),
            },
        }
    }

    /// The differences between these two servers are shown.
    pub(crate) fn of_pair(run: &'a Run, explanations: &'a [Explanation], pair: [&str; 2]) -> Self {
        Self {
            run,
            explanations,
            differences: differences(explanations, pair),
        }
    }

    /// Writes the explanation of a run that has ended, if it has one, and shows it.
    pub(crate) fn conclude(
        &self,
        layout: &Layout,
        is_stdout_taken: bool,
    ) -> Result<(), Box<dyn Error>> {
        if self.explanations.is_empty() {
            return Ok(());
        }
        let files = self.write(&layout.runs().join(&self.run.id))?;
        errln!("{files}\n");
        if !is_stdout_taken {
            outln!();
            self.show();
        }
        Ok(())
    }

    /// Writes the explanation of a recorded run again, if it has one, and shows it.
    pub(crate) fn again(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        if self.explanations.is_empty() {
            return Ok(());
        }
        let files = self.write(folder)?;
        outln!("{files}\n");
        self.show();
        Ok(())
    }

    /// Writes the page, the Markdown, the JSON, and the stacks as text and as flame graphs into `folder`. Gives the places.
    pub(crate) fn write(&self, folder: &Path) -> Result<String, Box<dyn Error>> {
        create_folder(folder)?;
        let page = folder.join("explain.html");
        let mut places = format!("explain  {}", page.display());
        let is_profiled = |one: &Explanation| one.on_cpu.is_some() || one.off_cpu.is_some();
        if self.explanations.iter().any(is_profiled) {
            let profiles = folder.join("profiles");
            self.write_profiles(&profiles)?;
            let _ = write!(places, "\nstacks   {}", profiles.display());
        }
        write(&page, &self.html())?;
        write(&folder.join("explain.md"), &self.markdown())?;
        let json = serde_json::to_string_pretty(&self.json())?;
        write(&folder.join("explain.json"), &json)?;
        Ok(places)
    }

    pub(crate) fn show(&self) {
        let Console { width, colour } = Console::stdout();
        let summary = ExplanationSummary::of(self.explanations);
        out!("{}", summary.text(width, colour));
        for one in &self.differences {
            out!("\n{}", one.text(width, colour));
        }
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = ExplanationSummary::of(self.explanations).markdown();
        for one in &self.differences {
            text.push('\n');
            text.push_str(&one.markdown());
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        prony_report::explain::json(
            &Header::from(self.run),
            self.explanations,
            &self.differences,
        )
    }

    fn html(&self) -> String {
        let differences = self.differences.iter();
        let differences: Vec<_> = differences
            .map(|one| (one.clone(), graph_of(one)))
            .collect();
        let summary = ExplanationSummary::of(self.explanations);
        summary.html(&Header::from(self.run), graphs, &differences)
    }

    fn write_profiles(&self, folder: &Path) -> Result<(), Box<dyn Error>> {
        create_folder(folder)?;
        let put = |name: String, text: &str| write(&folder.join(name), text);
        for one in self.explanations {
            let profiles = [
                (&one.on_cpu, ON_CPU, "on-cpu"),
                (&one.off_cpu, OFF_CPU, "off-cpu"),
            ];
            for (profile, kind, file) in profiles {
                let Some(profile) = profile else { continue };
                let name = format!("{}-{}-{file}", one.server.replace('/', "-"), one.workload);
                put(format!("{name}.folded"), &folded(profile))?;
                if let Some(svg) = graph(one, profile, kind) {
                    put(format!("{name}.svg"), &svg)?;
                }
            }
        }
        for one in &self.differences {
            if let Some(svg) = graph_of(one) {
                put(format!("difference-{}.svg", one.before.workload), &svg)?;
            }
        }
        Ok(())
    }
}

/// The differences between two servers, for each workload that both have.
fn differences<'a>(
    explanations: &'a [Explanation],
    [before, after]: [&str; 2],
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
