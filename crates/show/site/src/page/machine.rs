//! A machine: its hardware, the systems that ran on it, and its runs.

use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Row, Table};
use prony_present::words::{non_empty, plural};

use super::{end_cell, footer, run_cell, time_cell, words};
use crate::catalog::grouped;
use crate::digest::RunDigest;
use crate::machine::system;
use crate::page_address::{PageAddress, trail};

/// The page of a machine with its runs, the oldest first.
pub(crate) fn machine(name: &str, runs: &[&RunDigest]) -> Page {
    let here = PageAddress::Machine(name.to_owned());
    let systems = grouped(runs.iter().copied(), |one, other| {
        system(&one.run.machine) == system(&other.run.machine)
    });
    let table = Block::Table(table(runs, &here));
    let mut sections = vec![Section::of("runs", "Runs", vec![table])];
    let count = systems.len();
    let shown = systems.iter().enumerate().rev();
    sections.extend(shown.map(|(i, runs)| of_system(i, count, runs)));
    let (first, last) = (runs.first(), runs.last());
    Page {
        trail: trail(&here),
        kicker: "Prony · machine".into(),
        title: name.to_owned(),
        facts: vec![
            ("Runs", runs.len().to_string()),
            ("First run", first.map_or_else(String::new, |it| it.time())),
            ("Last run", last.map_or_else(String::new, |it| it.time())),
            ("Systems", count.to_string()),
        ],
        intro: vec![Block::Text(
            "A record has the hardware but no hostname, so two machines of the same kind share this page. Calibrations \
             (“prony calibrate”) are not recorded with runs, so none is shown."
                .into(),
        )],
        sections,
        footer: footer(),
    }
}

fn table(runs: &[&RunDigest], here: &PageAddress) -> Table {
    let rows = runs.iter().enumerate().rev().map(|(i, digest)| {
        Row::of([
            run_cell(digest, here),
            time_cell(i, digest),
            Cell::text(&digest.run.suite),
            end_cell(digest),
            Cell::blank(&digest.run.machine.kernel),
            Cell::text(&digest.run.prony_version),
        ])
    });
    Table::with(
        words(&["run", "date", "suite", "end", "kernel", "Prony"]),
        rows,
    )
}

/// A system as it was over some runs.
fn of_system(i: usize, count: usize, runs: &[&RunDigest]) -> Section {
    let system = &runs[0].run.machine;
    let known = |text: &String| non_empty(text.clone()).unwrap_or("unknown".into());
    let cpus = |digest: &RunDigest| {
        let cpus = &digest.run.cpus;
        format!("{:?} and {:?}", cpus.server, cpus.load)
    };
    let mut assignments: Vec<String> = runs.iter().map(|digest| cpus(digest)).collect();
    assignments.sort();
    assignments.dedup();
    let governor = system.governor.clone();
    let mut blocks = vec![Block::Facts(vec![
        ("System", known(&system.os)),
        ("Kernel", known(&system.kernel)),
        ("Governor", governor.unwrap_or("not visible".into())),
        ("CPUs of server and generator", assignments.join("; ")),
    ])];
    for (title, lines) in [
        ("Mitigations", &system.mitigations),
        ("Network settings", &system.tcp_settings),
    ] {
        blocks.push(Block::Heading(title.into()));
        blocks.push(if lines.is_empty() {
            Block::Text("None was visible.".into())
        } else {
            Block::Code(lines.join("\n"))
        });
    }
    let span = match runs {
        [only] => only.time(),
        [first, .., last] => format!("{} to {}", first.time(), last.time()),
        [] => String::new(),
    };
    let title = match count {
        1 => "System".to_owned(),
        _ => format!("System {}", i + 1),
    };
    let lead = format!("{}, {span}", plural(runs.len(), "run"));
    Section::of(format!("system-{i}"), &title, blocks).lead(lead)
}
