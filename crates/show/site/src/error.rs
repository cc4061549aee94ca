//! What can go wrong with the site, and what to do about it.

use std::io;
use std::path::PathBuf;

use prony_store::StoreError;

/// Why the site could not be written or served. Each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// The record file.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot write the site to `{}`: {why}", path.display())]
    Folder { path: PathBuf, why: String },
    #[error("cannot write `{}`: {source}{}", path.display(), help(source))]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "stopped: the pages until then are written, the front page is the old one; `prony site` again completes it"
    )]
    Interrupted,
    #[error("cannot listen on {address}: {source}{}", match source.kind() {
        io::ErrorKind::AddrInUse => "; another program uses the port: stop it, or name another with --listen",
        io::ErrorKind::PermissionDenied => "; a port below 1024 needs privileges: name another with --listen",
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address",
        _ => "",
    })]
    Listen {
        address: std::net::SocketAddr,
        source: io::Error,
    },
    #[error("cannot start the server: {0}")]
    Runtime(io::Error),
}

fn help(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run `prony site` again: the pages until then are complete"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; make the folder writable, or name another"
        }
        _ => "",
    }
}
