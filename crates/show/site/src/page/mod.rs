//! The pages of the site.

mod comparison;
mod front;
mod machine;
mod run;
mod server;

pub(crate) use comparison::{list as comparisons, of_runs, of_servers};
pub(crate) use front::front;
pub(crate) use machine::machine;
pub(crate) use run::{RunLinks, run};
pub(crate) use server::server;

use prony_model::RunEnd;
use prony_present::table::{Cell, Colour, Head};

use crate::digest::RunDigest;
use crate::machine::hardware;
use crate::page_address::PageAddress;

fn words(titles: &[&'static str]) -> Vec<Head> {
    titles.iter().map(|title| Head::words(title)).collect()
}

/// A cell that leads to another page.
fn linked(text: impl Into<String>, to: &PageAddress, here: &PageAddress) -> Cell {
    Cell {
        href: to.from(here),
        ..Cell::text(text)
    }
}

/// A cell with the run's time, sorted by its place among the runs.
fn time_cell(place: usize, digest: &RunDigest) -> Cell {
    Cell::text(digest.time()).order(place as f64)
}

fn machine_cell(digest: &RunDigest, here: &PageAddress) -> Cell {
    let name = hardware(&digest.run.machine);
    linked(name.clone(), &PageAddress::Machine(name), here)
}

fn run_cell(digest: &RunDigest, here: &PageAddress) -> Cell {
    let id = &digest.run.id;
    linked(id, &PageAddress::Run(id.clone()), here)
}

/// How a run ended, unless it is complete.
fn end_cell(digest: &RunDigest) -> Cell {
    let colour = match digest.run.end {
        RunEnd::Complete => Colour::Soft,
        _ => Colour::Warning,
    };
    Cell::text(end(digest.run.end)).colour(colour)
}

fn end(end: RunEnd) -> &'static str {
    match end {
        RunEnd::Open => "still going on, or killed",
        other => other.name(),
    }
}

/// The last line of a page of the site.
fn footer() -> String {
    format!("Written by Prony {}", env!("CARGO_PKG_VERSION"))
}
