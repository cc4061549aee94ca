//! Names of folders.

/// The folders that [`unpack`](super::unpack()) writes.
pub(super) const FOLDERS: [&str; 4] = ["servers", "suites", "workloads", "drivers"];

/// The name of the folder that [`unpack`](super::unpack()) creates: the version and a hash of the contents.
pub(crate) const NAME: &str = concat!(env!("CARGO_PKG_VERSION"), "-", env!("SHIPPED_HASH"));

/// How the names of temporary folders begin.
pub(super) const TEMPORARY: &str = ".unpacking-";
