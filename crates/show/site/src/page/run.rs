//! A run: its report, with links to the rest of the site.

use prony_model::Run;
use prony_present::page::{Block, Page, Section};
use prony_report::RunSummary;
use prony_report::compare::Comparison;

use crate::digest::RunChange;
use crate::machine::hardware;
use crate::page_address::{PageAddress, trail};

/// What a run's page leads to besides its servers and its machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunLinks<'a> {
    /// The comparison with the run before of its suite.
    pub(crate) change: Option<&'a RunChange>,
    /// The newest run of its suite, if that is another, and there is a comparison with it.
    pub(crate) latest: Option<&'a str>,
}

/// The page of a run: its report, with its `verdict` if it was made for a comparison.
pub(crate) fn run(
    run: &Run,
    summary: &RunSummary,
    verdict: Option<&Comparison>,
    links: RunLinks<'_>,
) -> Page {
    let here = PageAddress::Run(run.id.clone());
    let mut page = prony_report::page(run, summary);
    if let Some(verdict) = verdict {
        page = prony_report::compare::with_verdict(page, verdict);
    }
    page.trail = trail(&here);
    let servers = run.servers.iter();
    let servers = servers.map(|server| {
        PageAddress::Server(server.id.clone()).link(format!("History of {}", server.id), &here)
    });
    let mut others = Vec::new();
    if let Some(change) = links.change {
        let address = PageAddress::runs(&change.base, &run.id);
        others.push(address.link(
            format!("Compared with the run before ({})", change.base),
            &here,
        ));
    }
    if let Some(latest) = links.latest {
        let address = PageAddress::runs(&run.id, latest);
        others.push(address.link(format!("Compared with the latest run ({latest})"), &here));
    }
    if let Some([base, new]) = run.compared().filter(|_| verdict.is_some()) {
        let address = PageAddress::servers(&run.id, base, new);
        others.push(address.link(format!("The comparison of {base} and {new}"), &here));
    }
    let machine = hardware(&run.machine);
    others
        .push(PageAddress::Machine(machine.clone()).link(format!("The machine: {machine}"), &here));
    others.push(PageAddress::Comparisons.link("All comparisons", &here));
    let blocks = vec![
        Block::Links(others),
        Block::Heading("Servers over time".into()),
        Block::Links(servers.collect()),
    ];
    page.sections.push(Section::of("site", "Over time", blocks));
    page
}
