//! The servers, suites, workloads and drivers that Prony ships, in the program.

mod unpack;

#[cfg(test)]
#[path = "../../build/archive.rs"]
mod archive;
#[cfg(test)]
mod tests;

use std::path::Path;

pub(crate) use unpack::{UnpackError, Unpacked};

/// The name of the folder that [`unpack()`] creates: the version and a hash of the contents.
pub(crate) const NAME: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("SHIPPED_HASH"));

/// The shipped files as a tar archive.
pub(crate) const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shipped.tar"));

/// Unpacks the shipped files to a folder in `parent`, unless an earlier call or another process already has, and
/// returns the folder, `parent/`[`NAME`]. The folder appears with all its files at once. Removes folders of other versions
/// that nobody has used for 30 days, one with each call.
pub(crate) fn unpack(parent: &Path) -> Result<Unpacked, UnpackError> {
    unpack::unpack(ARCHIVE, NAME, parent)
}
