//! The one SQLite file that keeps every run.
//!
//! It is in WAL mode with full synchronisation, and every trial is a transaction of its own:
//! what [`Store::add_trial`] has returned from survives the death of the process and of the machine.

mod error;
mod identity;
mod read;
mod schema;
mod write;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

pub use error::StoreError;
use identity::Identity;
pub use read::RunSummary;
use schema::Owner;

/// How long to wait for another process that writes to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// A record file that is open.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Which file it is; `None` if it was not opened for writing.
    identity: Option<Identity>,
}

impl Store {
    /// Opens a record file for writing. Creates it, but not its folder, if it is not there, brings
    /// an older one up to date, and writes to it once, so that a place that cannot be written is
    /// found before anything is measured.
    ///
    /// # Errors
    /// If its folder is missing, it cannot be created or written, is not a record file, or is a newer
    /// Prony's.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        check_folder_of(path)?;
        let mut store = Self::connect(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?;
        store.known_owner()?;
        store.prepare_for_writing()?;
        store.identity = Identity::of(path);
        Ok(store)
    }

    /// Opens a record file for reading; it may be on a read-only file system, and may be being
    /// written by a run. Writing to what this returns gives [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// Where it is not there, holds nothing yet, is not a record file, or is a newer Prony's.
    pub fn open_read(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(StoreError::Missing {
                path: path.to_owned(),
            });
        }
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let (store, owner) = match store.known_owner() {
            // A WAL needs files beside it; where none can be made and none is there, nobody
            // writes, and SQLite may be told so.
            Err(StoreError::ReadOnly { .. }) if !has_open_wal(path) => {
                let store = Self::connect_immutable(path)?;
                let owner = store.known_owner()?;
                (store, owner)
            }
            owner => (store, owner?),
        };
        match owner {
            Owner::Prony(_) => Ok(store),
            Owner::Nobody | Owner::Other => Err(StoreError::NoRuns {
                path: path.to_owned(),
            }),
        }
    }

    /// Where the record file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        if path.is_dir() {
            return Err(StoreError::NotARecord {
                path: path.to_owned(),
            });
        }
        Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .and_then(|connection| {
                connection.busy_timeout(BUSY_TIMEOUT)?;
                Ok(Store {
                    connection,
                    path: path.to_owned(),
                    identity: None,
                })
            })
            .map_err(|error| StoreError::of_sqlite(path, error))
    }

    fn connect_immutable(path: &Path) -> Result<Store, StoreError> {
        let name = path.to_string_lossy();
        let name = name
            .replace('%', "%25")
            .replace('?', "%3f")
            .replace('#', "%23");
        let store = Self::connect(
            Path::new(&format!("file:{name}?immutable=1")),
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        )?;
        Ok(Store {
            path: path.to_owned(),
            ..store
        })
    }

    /// Whose file it is, where this program may use it.
    fn known_owner(&self) -> Result<Owner, StoreError> {
        match self.sqlite(schema::owner(&self.connection))? {
            Owner::Other => Err(StoreError::NotARecord {
                path: self.path.clone(),
            }),
            Owner::Prony(found) if found > schema::VERSION => Err(StoreError::NewerSchema {
                path: self.path.clone(),
                found,
                known: schema::VERSION,
            }),
            Owner::Prony(found) if found < schema::VERSION => Err(StoreError::OlderSchema {
                path: self.path.clone(),
            }),
            owner => Ok(owner),
        }
    }

    fn prepare_for_writing(&mut self) -> Result<(), StoreError> {
        let prepared = set_durability(&self.connection)
            .and_then(|()| schema::create_tables(&mut self.connection))
            .and_then(|()| write::trial_write(&self.connection));
        self.sqlite(prepared)
    }

    /// What came of a write. SQLite goes on writing to a file that was deleted, where nobody could
    /// read it again, or fails in ways that do not tell why.
    fn kept<T>(&self, written: rusqlite::Result<T>) -> Result<T, StoreError> {
        match self.identity {
            Some(opened) if Identity::of(&self.path) != Some(opened) => Err(StoreError::Gone {
                path: self.path.clone(),
            }),
            _ => self.sqlite(written),
        }
    }

    /// Gives an error of SQLite its meaning for this file.
    fn sqlite<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::of_sqlite(&self.path, error))
    }

    fn json<T>(&self, result: serde_json::Result<T>) -> Result<T, StoreError> {
        result.map_err(|source| StoreError::Record {
            path: self.path.clone(),
            source,
        })
    }
}

fn set_durability(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// SQLite does not tell a missing folder from one that it may not use.
fn check_folder_of(path: &Path) -> Result<(), StoreError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => return Ok(()),
    };
    match folder.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        found => Err(StoreError::Folder {
            path: path.to_owned(),
            folder: folder.to_owned(),
            is_there: found.is_ok(),
        }),
    }
}

/// Whether a WAL with something in it lies beside the file.
fn has_open_wal(path: &Path) -> bool {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    std::fs::metadata(wal).is_ok_and(|metadata| metadata.len() > 0)
}
