//! Comparisons: of two runs, of two servers, and the list of those that have a page.

use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Facet, Head, Row, Table};
use prony_present::words::capital;
use prony_report::compare::{Comparison, Tally};

use super::{footer, linked};
use crate::catalog::{Catalog, Compared};
use crate::page_address::{PageAddress, trail};

/// Two runs compared.
pub(crate) fn of_runs(comparison: &Comparison, here: &PageAddress) -> Page {
    let runs = [("Base", &comparison.base.run), ("New", &comparison.new.run)];
    let links = runs
        .map(|(side, id)| PageAddress::Run(id.clone()).link(format!("{side}: the run {id}"), here));
    with_links(comparison, here, links.into())
}

/// Two servers compared.
pub(crate) fn of_servers(comparison: &Comparison, here: &PageAddress) -> Page {
    let sides = [&comparison.base, &comparison.new];
    let servers = sides.iter().filter_map(|side| side.server.as_ref());
    let mut links: Vec<_> = servers
        .map(|id| PageAddress::Server(id.clone()).link(format!("The server {id}"), here))
        .collect();
    let mut runs: Vec<&String> = sides.iter().map(|side| &side.run).collect();
    runs.dedup();
    links.extend(
        runs.into_iter()
            .map(|id| PageAddress::Run(id.clone()).link(format!("The run {id}"), here)),
    );
    with_links(comparison, here, links)
}

fn with_links(
    comparison: &Comparison,
    here: &PageAddress,
    links: Vec<prony_present::page::Link>,
) -> Page {
    let mut page = prony_report::compare::page(comparison);
    page.trail = trail(here);
    page.intro.push(Block::Links(links));
    page.footer = footer();
    page
}

/// The list of comparisons that have a page.
pub(crate) fn list(catalog: &Catalog) -> Page {
    let here = PageAddress::Comparisons;
    let rows = catalog
        .comparisons
        .iter()
        .map(|compared| row(compared, &here));
    let mut titles = ["comparison", "suite", "base", "new", "result"].map(Head::words);
    titles[4].hint = "The findings of the regression check, as “prony compare” gives them";
    let table = Table::with(titles, rows);
    let mut blocks = vec![if catalog.comparisons.is_empty() {
        Block::Text(
            "There is nothing to compare yet: it takes two runs of a suite, or two servers in one."
                .into(),
        )
    } else {
        Block::Table(table)
    }];
    blocks.extend(catalog.limits.iter().cloned().map(Block::Caption));
    let mut sections = vec![Section::of("pages", "Comparisons with a page", blocks)];
    let lines = catalog.incomparable.clone();
    sections.extend(Section::list("incomparable", "Nothing to compare", lines));
    Page {
        trail: trail(&here),
        kicker: "Prony".into(),
        title: "Comparisons".into(),
        intro: vec![Block::Text(
            "Two runs or two servers side by side, with the verdicts of the regression check (“prony compare”).".into(),
        )],
        sections,
        footer: footer(),
        ..Page::default()
    }
}

fn row(compared: &Compared, here: &PageAddress) -> Row {
    Row::of([
        linked(compared.kind, &compared.address, here),
        Cell::text(&compared.suite),
        Cell::text(&compared.base),
        Cell::text(&compared.new),
        result(&compared.tally),
    ])
    .facets(vec![
        Facet::of("comparison", compared.kind),
        Facet::of("suite", &compared.suite),
        Facet::of("result", compared.tally.overall().name()),
    ])
}

/// The findings of a comparison in a cell.
pub(super) fn result(tally: &Tally) -> Cell {
    Cell::text(capital(&tally.words())).colour(tally.overall().colour())
}
