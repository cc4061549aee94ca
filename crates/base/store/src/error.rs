//! What can go wrong with the record file, and what to do about it.

use std::path::{Path, PathBuf};

use prony_manifest::did_you_mean;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Why the record file could not be read or written. Each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder of the record file is missing, or is not a folder.
    #[error(
        "{} for the record file {}; create it, or name another path",
        no_folder(folder, *is_there),
        path.display()
    )]
    Folder {
        /// The record file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
        /// Whether something else is there.
        is_there: bool,
    },
    /// The record file is no longer at its path.
    #[error(
        "the record file {} was deleted or replaced while Prony wrote to it: its records are lost",
        .0.display()
    )]
    Gone(PathBuf),
    /// There is no record file to read.
    #[error("there is no record file {}; `prony run` creates one", .0.display())]
    Missing(PathBuf),
    /// The record file or its folder can be read only.
    #[error(
        "the record file {} cannot be written (read-only file, folder or file system); make it writable or name another path",
        .0.display()
    )]
    ReadOnly(PathBuf),
    /// The disk is full.
    #[error(
        "no room left on the disk for the record file {}; what was recorded before is safe: free some space and run again, or name a path on another disk",
        .0.display()
    )]
    DiskFull(PathBuf),
    /// The file is something else.
    #[error(
        "{} is not a record file of Prony; name another path, or move that file away",
        .0.display()
    )]
    NotARecord(PathBuf),
    /// A newer Prony wrote it.
    #[error(
        "the record file {} has schema version {found}, and this Prony knows versions up to {known}; use the newer Prony that wrote it, or name another path",
        path.display()
    )]
    NewerSchema {
        /// The record file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest schema version of this program.
        known: i64,
    },
    /// An older Prony wrote it.
    #[error(
        "an older Prony wrote the record file {}, and this one cannot read it; move it away, or name another path with --store",
        .0.display()
    )]
    OlderSchema(PathBuf),
    /// Another process holds it.
    #[error(
        "the record file {} is being written by another process; wait until that is done, or name another path",
        .0.display()
    )]
    Busy(PathBuf),
    /// No run has that id.
    #[error("no run `{id}` in {}{}", path.display(), did_you_mean(nearest))]
    UnknownRun {
        /// The record file.
        path: PathBuf,
        /// The requested id.
        id: String,
        /// The most similar id.
        nearest: Option<String>,
    },
    /// There is no run yet.
    #[error("the record file {} holds no run yet; `prony run` creates one", .0.display())]
    NoRuns(PathBuf),
    /// There already is a run with this id.
    #[error("the record file {} already holds a run `{id}`; give the new run another id", path.display())]
    RunExists {
        /// The record file.
        path: PathBuf,
        /// The id.
        id: String,
    },
    /// A record does not round-trip through JSON.
    #[error("a record in {} cannot be read or written as JSON: {source}; the Prony that wrote it may be another version", path.display())]
    Record {
        /// The record file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Anything else that SQLite says.
    #[error("the record file {} could not be used: {source}; if it is damaged, move it away and run again", path.display())]
    Sqlite {
        /// The record file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
}

fn no_folder(folder: &Path, is_there: bool) -> String {
    let folder = folder.display();
    if is_there {
        format!("{folder} is not a folder")
    } else {
        format!("there is no folder {folder}")
    }
}

impl StoreError {
    /// What an error of SQLite means for the file at `path`.
    pub(crate) fn of_sqlite(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let (code, extended) = match source.sqlite_error() {
            Some(error) => (error.code, error.extended_code),
            None => return Self::Sqlite { path, source },
        };
        // A full disk shows first in the shared-memory file of the WAL.
        if code == ErrorCode::DiskFull || extended == ffi::SQLITE_IOERR_SHMSIZE {
            return Self::DiskFull(path);
        }
        match code {
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => {
                Self::ReadOnly(path)
            }
            ErrorCode::NotADatabase => Self::NotARecord(path),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy(path),
            _ => Self::Sqlite { path, source },
        }
    }
}
