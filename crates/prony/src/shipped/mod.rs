//! The servers, suites, workloads and drivers that Prony ships, in the program.

mod names;
mod unpack;
mod unused;

#[cfg(test)]
#[path = "../../build/archive.rs"]
mod archive;
#[cfg(test)]
mod tests;

use std::path::Path;

pub(crate) use names::NAME;
pub(crate) use unpack::{UnpackError, Unpacked};

/// The shipped files as a tar archive.
pub(crate) const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shipped.tar"));

/// Unpacks the shipped files to a folder in `parent`, unless an earlier call or another process already has, and
/// returns the folder, `parent/`[`NAME`]. The folder appears with all its files at once. Removes folders of other versions
/// that nobody has used for 30 days, one with each call.
pub(crate) fn unpack(parent: &Path) -> Result<Unpacked, UnpackError> {
    unpack::unpack(ARCHIVE, NAME, parent)
}
