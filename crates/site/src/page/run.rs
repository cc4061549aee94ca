//! A run: its report, with links to the rest of the site.

use prony_compare::Comparison;
use prony_model::Run;
use prony_present::page::{Block, Page};
use prony_report::RunSummary;

use super::section;
use crate::digest::RunChange;
use crate::machine::MachineKey;
use crate::place::{Place, trail};

/// What a run's page leads to besides its servers and its machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunLinks<'a> {
    /// The comparison with the run before of its suite.
    pub change: Option<&'a RunChange>,
    /// The newest run of its suite, if that is another, and there is a comparison with it.
    pub latest: Option<&'a str>,
}

/// The page of a run: its report, with its `verdict` if it was made for a comparison.
pub fn run(
    run: &Run,
    summary: &RunSummary,
    verdict: Option<&Comparison>,
    links: RunLinks<'_>,
) -> Page {
    let here = Place::Run(run.id.clone());
    let mut page = prony_report::page(run, summary);
    if let Some(verdict) = verdict {
        page = prony_compare::with_verdict(page, verdict);
    }
    page.trail = trail(&here);
    let servers = run.servers.iter();
    let servers = servers.map(|server| {
        Place::Server(server.id.clone()).link(format!("History of {}", server.id), &here)
    });
    let mut others = Vec::new();
    if let Some(change) = links.change {
        let place = Place::Runs(change.base.clone(), run.id.clone());
        others.push(place.link(
            format!("Compared with the run before ({})", change.base),
            &here,
        ));
    }
    if let Some(latest) = links.latest {
        let place = Place::Runs(run.id.clone(), latest.to_owned());
        others.push(place.link(format!("Compared with the latest run ({latest})"), &here));
    }
    if let Some([base, new]) = run.compared().filter(|_| verdict.is_some()) {
        let place = Place::Servers(run.id.clone(), base.to_owned(), new.to_owned());
        others.push(place.link(format!("The comparison of {base} and {new}"), &here));
    }
    let machine = MachineKey::of(run).name;
    others.push(Place::Machine(machine.clone()).link(format!("The machine: {machine}"), &here));
    others.push(Place::Comparisons.link("All comparisons", &here));
    let blocks = vec![
        Block::Links(others),
        Block::Heading("Servers over time".into()),
        Block::Links(servers.collect()),
    ];
    page.sections.push(section("site", "Over time", blocks));
    page
}
