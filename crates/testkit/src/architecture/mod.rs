//! The architecture: what may use what. These tests read the repository and know nothing else of Prony.

mod circles;
mod crates;
mod file;
mod modules;
mod tokens;

use std::collections::BTreeSet;
use std::path::Path;

use crate::architecture::circles::circles;
use crate::architecture::crates::Crate;

/// Files that may still be in circles.
struct Exception {
    /// A file, or a folder that ends with `/`.
    place: &'static str,
    /// What ends the circle.
    until: &'static str,
}

/// This list may only become shorter.
const EXCEPTIONS: [Exception; 2] = [
    Exception {
        place: "crates/lab/run/src/request/mod.rs",
        until: REQUESTS,
    },
    Exception {
        place: "crates/lab/run/src/run/",
        until: RUNNER,
    },
];
const REQUESTS: &str = "a declared request no longer knows how it is prepared";
const RUNNER: &str = "what the parts of a run have in common is a type of its own";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn a_crate_uses_only_crates_of_its_own_folder_and_of_those_to_its_left() {
    let crates = Crate::all(root());
    let faults: Vec<String> = crates.iter().flat_map(|one| one.faults(&crates)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    let mut excepted = BTreeSet::new();
    let mut faults = Vec::new();
    for one in Crate::all(root()) {
        let mut arrows = modules::arrows(root(), &one.folder);
        for circle in circles(&arrows) {
            excepted.extend(circle.files.iter().filter_map(|file| exception(file)));
        }
        arrows.retain(|arrow| exception(&arrow.from).is_none() && exception(&arrow.to).is_none());
        faults.extend(circles(&arrows).iter().map(ToString::to_string));
    }
    for Exception { place, until } in EXCEPTIONS {
        if !excepted.contains(place) {
            faults.push(format!(
                "{place} is in no circle any more, so {until}: take it off the list"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The place in the list that a file is, or is in.
fn exception(file: &str) -> Option<&'static str> {
    let is_in = |place: &&str| file == *place || (place.ends_with('/') && file.starts_with(place));
    EXCEPTIONS.iter().map(|one| one.place).find(is_in)
}
