//! Which file a path leads to.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file among all files of the machine: two paths with the same identity are one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The identity of the file at `path`; `None` if there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }
}
