//! The front page: the latest run of each suite, all runs, the servers and the machines.

use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Facet, Head, Row, Table, Weight};
use prony_present::words::plural;

use super::{comparison, end, end_cell, footer, linked, machine_cell, run_cell, time_cell, words};
use crate::catalog::Catalog;
use crate::digest::RunDigest;
use crate::machine::hardware;
use crate::page_address::PageAddress;

const HERE: PageAddress = PageAddress::Front;

pub(crate) fn front(catalog: &Catalog) -> Page {
    let latest = catalog.latest();
    let mut intro = Vec::new();
    if catalog.runs.is_empty() {
        intro.push(Block::Text(
            "No run is recorded yet; “prony run” records one.".into(),
        ));
    }
    if !catalog.left_out.is_empty() {
        let runs = plural(catalog.left_out.len(), "run");
        intro.push(Block::Callout(
            Weight::Bad,
            format!(
                "{runs} could not be read and {} missing from every page; “Not read” names them.",
                match catalog.left_out.len() {
                    1 => "is",
                    _ => "are",
                }
            ),
        ));
    }
    let mut sections: Vec<Section> = latest
        .iter()
        .enumerate()
        .map(|(i, digest)| suite(i, digest, catalog))
        .collect();
    if !catalog.runs.is_empty() {
        let link = PageAddress::Comparisons.link("Runs and servers side by side", &HERE);
        let lists = [
            ("runs", "All runs", Block::Table(runs(catalog))),
            ("servers", "Servers", Block::Table(servers(catalog))),
            ("machines", "Machines", Block::Table(machines(catalog))),
            ("comparisons", "Comparisons", Block::Links(vec![link])),
        ];
        sections.extend(lists.map(|(id, title, block)| Section::of(id, title, vec![block])));
    }
    let lines = catalog.left_out.iter();
    let lines = lines.map(|left_out| format!("{}: {}", left_out.id, left_out.why));
    sections.extend(Section::list("not-read", "Not read", lines.collect()));
    let span = match (catalog.runs.first(), catalog.runs.last()) {
        (Some(first), Some(last)) if first.date() != last.date() => {
            format!("{} to {}", first.date(), last.date())
        }
        (Some(only), _) => only.date().to_owned(),
        _ => "–".to_owned(),
    };
    Page {
        kicker: "Prony".into(),
        title: "Measured web servers".into(),
        facts: vec![
            ("Suites", latest.len().to_string()),
            ("Runs", catalog.runs.len().to_string()),
            ("Servers", catalog.servers().len().to_string()),
            ("Machines", catalog.machines().len().to_string()),
            ("Dates", span),
        ],
        intro,
        sections,
        footer: footer(),
        ..Page::default()
    }
}

/// The latest run of a suite, and the latest that was run to its end if that is another.
fn suite(i: usize, digest: &RunDigest, catalog: &Catalog) -> Section {
    let run = &digest.run;
    let machine = hardware(&run.machine);
    let mut blocks = Vec::new();
    blocks.extend(verdicts(digest));
    let complete = catalog.latest_complete(&run.suite);
    let complete = complete.filter(|complete| complete.run.id != run.id);
    if let Some(complete) = complete {
        blocks.push(Block::Heading(format!(
            "The latest complete run, of {}",
            complete.time()
        )));
        blocks.extend(verdicts(complete));
    }
    let report = |of: &RunDigest| {
        PageAddress::Run(of.run.id.clone()).link(format!("The report of {}", of.time()), &HERE)
    };
    let mut links = vec![report(digest)];
    links.extend(complete.map(report));
    if let Some(change) = &digest.change {
        let address = PageAddress::runs(&change.base, &run.id);
        links.push(address.link("Compared with the run before", &HERE));
    }
    links
        .push(PageAddress::Machine(machine.clone()).link(format!("The machine: {machine}"), &HERE));
    blocks.push(Block::Links(links));
    let ended = match digest.run.end {
        prony_model::RunEnd::Complete => String::new(),
        other => format!(" · {}", end(other)),
    };
    Section {
        kicker: run.suite.clone(),
        lead: format!("Latest run: {} · {machine}{ended}", digest.time()),
        ..Section::of(format!("suite-{i}"), &run.title, blocks)
    }
}

fn verdicts(digest: &RunDigest) -> Vec<Block> {
    if !digest.verdicts.is_empty() {
        vec![Block::List(digest.verdicts.clone())]
    } else if digest.is_open() {
        vec![Block::Text("This run has no figures yet.".into())]
    } else {
        vec![Block::Text("This run has no figures.".into())]
    }
}

fn runs(catalog: &Catalog) -> Table {
    let mut heads = words(&["run", "date", "suite", "machine", "end"]);
    heads.extend(["servers", "trials"].map(Head::figure));
    heads.push(Head::words("against the run before").hint(
        "Against the run before of the same suite: the findings of the regression check, as “prony compare” gives them",
    ));
    let rows = catalog.runs.iter().enumerate().rev().map(|(i, digest)| {
        let run = &digest.run;
        let against = digest.change.as_ref().map(|change| Cell {
            href: PageAddress::runs(&change.base, &run.id).from(&HERE),
            tip: change.differences.join("\n"),
            ..comparison::result(&change.tally)
        });
        let cells = [
            run_cell(digest, &HERE),
            time_cell(i, digest),
            Cell::text(&run.suite),
            machine_cell(digest, &HERE),
            end_cell(digest),
            Cell::text(run.servers.len().to_string()),
            Cell::text(digest.trials.to_string()),
            against.unwrap_or_else(|| Cell::blank("")),
        ];
        Row::of(cells).facets(vec![
            Facet::of("suite", &run.suite),
            Facet::of("machine", hardware(&run.machine)),
        ])
    });
    Table::with(heads, rows)
}

fn servers(catalog: &Catalog) -> Table {
    let mut heads = words(&["server", "language", "framework", "version", "class"]);
    heads.push(Head::figure("runs"));
    heads.push(Head::words("last measured"));
    let rows = catalog.servers().into_iter().filter_map(|(id, runs)| {
        let last = *runs.last()?;
        let record = last.server(id)?;
        let cells = [
            linked(id, &PageAddress::Server(id.to_owned()), &HERE),
            Cell::blank(&record.language),
            Cell::blank(&record.framework),
            Cell::blank(record.version.clone().unwrap_or_default()),
            Cell::blank(&record.class),
            Cell::text(runs.len().to_string()),
            Cell::text(last.time()),
        ];
        Some(Row::of(cells).facets(vec![
            Facet::of("language", &record.language),
            Facet::of("class", &record.class),
        ]))
    });
    Table::with(heads, rows)
}

fn machines(catalog: &Catalog) -> Table {
    let mut heads = words(&["machine", "kernel"]);
    heads.push(Head::figure("runs"));
    heads.extend(words(&["first run", "last run"]));
    let rows = catalog.machines().into_iter().filter_map(|(name, runs)| {
        let (first, last) = (*runs.first()?, *runs.last()?);
        Some(Row::of([
            linked(name.clone(), &PageAddress::Machine(name), &HERE),
            Cell::blank(&last.run.machine.kernel),
            Cell::text(runs.len().to_string()),
            Cell::text(first.time()),
            Cell::text(last.time()),
        ]))
    });
    Table::with(heads, rows)
}
