//! The architecture: what may use what. These tests read the repository and know nothing else of Prony.

mod circles;
mod crates;
mod file;
mod modules;
mod tokens;

use std::path::Path;

use crate::architecture::circles::circles;
use crate::architecture::crates::Crate;

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
    let mut faults = Vec::new();
    for one in Crate::all(root()) {
        let arrows = modules::arrows(root(), &one.folder);
        faults.extend(circles(&arrows).iter().map(ToString::to_string));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
