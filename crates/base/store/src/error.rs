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
        path: PathBuf,
        folder: PathBuf,
        is_there: bool,
    },
    #[error(
        "the record file {} was deleted or replaced while Prony wrote to it: its records are lost",
        .0.display()
    )]
    Gone(PathBuf),
    #[error("there is no record file {}; `prony run` creates one", .0.display())]
    Missing(PathBuf),
    #[error(
        "the record file {} cannot be written (read-only file, folder or file system); make it writable or name another path",
        .0.display()
    )]
    ReadOnly(PathBuf),
    #[error(
        "no room left on the disk for the record file {}; what was recorded before is safe: free some space and run again, or name a path on another disk",
        .0.display()
    )]
    DiskFull(PathBuf),
    #[error(
        "{} is not a record file of Prony; name another path, or move that file away",
        .0.display()
    )]
    NotARecord(PathBuf),
    #[error(
        "the record file {} has schema version {found}, and this Prony knows versions up to {known}; use the newer Prony that wrote it, or name another path",
        path.display()
    )]
    NewerSchema {
        path: PathBuf,
        found: i64,
        /// The newest schema version of this program.
        known: i64,
    },
    #[error(
        "an older Prony wrote the record file {}, and this one cannot read it; move it away, or name another path with --store",
        .0.display()
    )]
    OlderSchema(PathBuf),
    #[error(
        "the record file {} is being written by another process; wait until that is done, or name another path",
        .0.display()
    )]
    Busy(PathBuf),
    #[error("no run `{id}` in {}{}", path.display(), did_you_mean(nearest))]
    UnknownRun {
        path: PathBuf,
        id: String,
        nearest: Option<String>,
    },
    #[error("the record file {} holds no run yet; `prony run` creates one", .0.display())]
    NoRuns(PathBuf),
    #[error("the record file {} already holds a run `{id}`; give the new run another id", path.display())]
    RunExists { path: PathBuf, id: String },
    #[error("a record in {} cannot be read or written as JSON: {source}; the Prony that wrote it may be another version", path.display())]
    Record {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error("the record file {} could not be used: {source}; if it is damaged, move it away and run again", path.display())]
    Sqlite {
        path: PathBuf,
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
