//! The integration tests of this crate, in one program.

mod capacity;
mod committed_files;
mod own_requests;
mod project_guide;
mod scripted;
mod sending;
mod values;
mod workload_guide;

use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A page of the documentation.
fn guide(name: &str) -> String {
    std::fs::read_to_string(repository().join("docs").join(name)).unwrap()
}

/// Its blocks of TOML.
fn blocks(guide: &str) -> Vec<&str> {
    let blocks = guide.split("```toml\n").skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0)
        .collect()
}
