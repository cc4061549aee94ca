//! All of it as text, as Markdown and as a page.

use prony_model::Explanation;
use prony_present::load;
use prony_present::page::{Block, LEAST_WIDTH, Page, Section};
use prony_present::table::Weight;
use prony_present::terminal::Paint;
use prony_present::words::{Joined, command_line, list, non_empty, plural};

use crate::explain::absent::Absent;
use crate::explain::cost_table::{Medium, table};
use crate::explain::costs::ServerCosts;
use crate::explain::difference::Difference;
use crate::explain::findings::findings;
use crate::explain::flames::{FlameGraphs, HOW_TO};
use crate::explain::functions;
use crate::explain::header::Header;
use crate::explain::method;
use crate::explain::summary::{ExplanationSummary, WorkloadCosts};

type Draw<'d> = &'d dyn Fn(&Explanation) -> FlameGraphs;

impl ExplanationSummary<'_> {
    /// The results as text with lines of at most `width` characters (at least 40). What stands out comes last, so that a
    /// terminal shows it. `colour` allows ANSI colours.
    pub fn text(&self, width: usize, colour: bool) -> String {
        let width = width.max(LEAST_WIDTH);
        let mut sections = self.sections(Medium::Terminal(width), &|_| FlameGraphs::default());
        sections.extend(self.not_measured());
        Page::of(sections).terminal(width, Paint { colour })
    }

    pub fn markdown(&self) -> String {
        self.document(Medium::Markdown, &|_| FlameGraphs::default(), Vec::new())
            .markdown()
    }

    /// The results as a page that loads nothing.
    ///
    /// `flames` draws the flame graphs of an explanation. `differences` are those to show, each with its differential flame
    /// graph, if there is one.
    pub fn page(
        &self,
        header: &Header,
        flames: impl Fn(&Explanation) -> FlameGraphs,
        differences: &[(Difference<'_>, Option<String>)],
    ) -> Page {
        let differences = differences
            .iter()
            .map(|(one, flame)| one.section(flame.as_deref()));
        let page = self.document(Medium::Page, &flames, differences.collect());
        Page {
            facts: facts(header),
            footer: format!("Made by Prony {}.", header.prony_version),
            ..page
        }
    }

    pub fn html(
        &self,
        header: &Header,
        flames: impl Fn(&Explanation) -> FlameGraphs,
        differences: &[(Difference<'_>, Option<String>)],
    ) -> String {
        self.page(header, flames, differences).html()
    }

    fn document(&self, medium: Medium, flames: Draw<'_>, differences: Vec<Section>) -> Page {
        let mut sections = differences;
        sections.extend(self.sections(medium, flames));
        sections.extend(self.not_measured());
        let reading = method::paragraphs(self);
        sections.extend(Section::list("reading", "How to read this", reading));
        Page {
            kicker: "Prony · explanation".to_owned(),
            title: self.title(),
            sections,
            ..Page::default()
        }
    }

    fn title(&self) -> String {
        let mut servers: Vec<&str> = Vec::new();
        for server in self.workloads.iter().flat_map(|workload| &workload.servers) {
            if !servers.contains(&server.server()) {
                servers.push(server.server());
            }
        }
        match servers.len() {
            0 => "What a request costs".to_owned(),
            1..=3 => format!("What a request costs: {}", list(&servers)),
            many => format!("What a request costs: {many} servers"),
        }
    }

    fn sections(&self, medium: Medium, flames: Draw<'_>) -> Vec<Section> {
        let places = self.workloads.iter().enumerate();
        let sections = places.flat_map(|(place, workload)| {
            let id = self.id(place);
            [
                Some(costs(workload, &id, medium)),
                profiles(workload, &id, medium, flames),
                (matches!(medium, Medium::Terminal(_)))
                    .then(|| last(workload))
                    .flatten(),
            ]
        });
        sections.flatten().collect()
    }

    /// An anchor that no other workload has.
    fn id(&self, place: usize) -> String {
        let name = self.workloads[place].workload;
        let is_first = self.workloads[..place]
            .iter()
            .all(|one| one.workload != name);
        let kept = |letter: char| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        };
        let name: String = name.chars().map(kept).collect();
        if is_first {
            name
        } else {
            format!("{name}-{}", place + 1)
        }
    }

    fn not_measured(&self) -> Option<Section> {
        let items = self.absent.iter().map(Absent::sentence);
        Section::list("not-measured", "Not measured", items.collect())
    }
}

/// The costs of a workload, and what stands out.
fn costs(workload: &WorkloadCosts<'_>, id: &str, medium: Medium) -> Section {
    let mut blocks = Vec::new();
    if !matches!(medium, Medium::Terminal(_)) {
        blocks.extend(standing_out(workload));
    }
    blocks.push(Block::Table(table(workload, medium)));
    blocks.extend(non_empty(caption(workload, medium)).map(Block::Caption));
    let lead = load::in_rounds(workload.load, workload.rounds());
    Section::of(id, workload.workload, blocks).lead(lead)
}

fn standing_out(workload: &WorkloadCosts<'_>) -> Option<Block> {
    let findings = findings(workload);
    if workload.rounds() <= 1 {
        return Some(Block::Callout(Weight::Note, method::ONE_ROUND.to_owned()));
    }
    (!findings.is_empty()).then_some(Block::List(findings))
}

/// In a terminal, what stands out comes last.
fn last(workload: &WorkloadCosts<'_>) -> Option<Section> {
    let title = format!("{}: what stands out", workload.workload);
    standing_out(workload).map(|block| Section::of("", &title, vec![block]))
}

/// How to read the table, and what counting system calls cost; empty if there is nothing to say.
fn caption(workload: &WorkloadCosts<'_>, medium: Medium) -> String {
    let about = match medium {
        Medium::Terminal(_) => method::REACH,
        Medium::Markdown | Medium::Page => method::ENDS,
    };
    let parts = [
        (workload.rounds() > 1).then(|| about.to_owned()),
        method::rounds(workload),
        method::tracing(workload),
    ];
    parts.into_iter().flatten().joined(" ")
}

/// Where the time of each server goes, if one was profiled.
fn profiles(
    workload: &WorkloadCosts<'_>,
    id: &str,
    medium: Medium,
    flames: Draw<'_>,
) -> Option<Section> {
    let profiled = workload.servers.iter().filter(|server| is_profiled(server));
    let mut is_drawn = false;
    let mut blocks: Vec<Block> = profiled
        .flat_map(|server| {
            let graphs = flames(server.of).blocks(server.server());
            is_drawn |= !graphs.is_empty();
            profiled_server(server, graphs)
        })
        .collect();
    if blocks.is_empty() {
        return None;
    }
    if is_drawn {
        blocks.insert(0, Block::Caption(HOW_TO.to_owned()));
    }
    let title = match medium {
        Medium::Terminal(_) => format!("{}: the heaviest functions", workload.workload),
        Medium::Markdown | Medium::Page => format!("{}: where the time goes", workload.workload),
    };
    Some(Section::of(format!("{id}-functions"), &title, blocks))
}

fn is_profiled(server: &ServerCosts<'_>) -> bool {
    server.of.on_cpu.is_some() || server.of.off_cpu.is_some()
}

fn profiled_server(server: &ServerCosts<'_>, graphs: Vec<Block>) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(server.server().to_owned())];
    blocks.extend(graphs);
    if !server.functions.is_empty() {
        blocks.push(Block::Table(functions::table(server.of, &server.functions)));
    }
    let unit = server.of.unit;
    for (place, profile) in [("On", &server.of.on_cpu), ("Off", &server.of.off_cpu)] {
        let words = profile.as_ref().map(|it| method::profile(it, unit));
        blocks.extend(words.map(|words| Block::Caption(format!("{place} the CPU: {words}"))));
    }
    blocks
}

pub(super) fn facts(header: &Header) -> Vec<(&'static str, String)> {
    let machine = &header.machine;
    let processor = [machine.cpu_model.clone(), plural(machine.cpus, "CPU")].into_iter();
    let facts = [
        ("Run", header.run.clone().unwrap_or_default()),
        ("Started", header.started_at.clone()),
        ("Machine", processor.filter_map(non_empty).joined(", ")),
        ("Kernel", machine.kernel.clone()),
        ("Command", command_line(&header.command)),
    ];
    facts
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
