//! The one SQLite file that keeps every run.
//!
//! It is in WAL mode with full synchronisation, and every trial is a transaction of its own: once [`Store::add_trial`]
//! has returned, the trial survives a crash of the process or of the machine.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

/// How long to wait for another process that writes to the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open record file.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// `None` if it was not opened for writing.
    identity: Option<FileIdentity>,
}

/// Which file is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl Store {
    /// Opens a record file for writing, and creates it (but not its folder) if it does not exist. Writes to it once, so
    /// that a file that cannot be written is an error before anything is measured.
    ///
    /// # Errors
    /// If its folder is missing, it cannot be created or written, is not a record file, or is of another version of
    /// Prony.
    pub fn open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        check_folder_of(path)?;
        let mut store = Self::connect(
            path,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?;
        store.known_owner()?;
        store.prepare_for_writing()?;
        store.identity = identity(path);
        Ok(store)
    }

    /// Opens a record file for reading, even on a read-only file system or while a run writes to it. Writing to it
    /// fails with [`StoreError::ReadOnly`].
    ///
    /// # Errors
    /// If it does not exist, is empty, is not a record file, or is of another version of Prony.
    pub fn open_read(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let (store, owner) = match store.known_owner() {
            // A WAL needs files beside it; if there are none and none can be created, no process
            // writes, and SQLite may open the file as immutable.
            Err(StoreError::ReadOnly(_)) if !has_open_wal(path) => {
                let store = Self::connect_immutable(path)?;
                let owner = store.known_owner()?;
                (store, owner)
            }
            owner => (store, owner?),
        };
        match owner {
            Owner::Prony(_) => Ok(store),
            Owner::Nobody | Owner::Other => Err(StoreError::NoRuns(path.to_owned())),
        }
    }

    /// The path of the record file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        if path.is_dir() {
            return Err(StoreError::NotARecord(path.to_owned()));
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
        let name = path
            .to_string_lossy()
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

    /// Checks that this program may use the file.
    fn known_owner(&self) -> Result<Owner, StoreError> {
        match self.sqlite(owner(&self.connection))? {
            Owner::Other => Err(StoreError::NotARecord(self.path.clone())),
            Owner::Prony(found) if found > VERSION => Err(StoreError::NewerSchema {
                path: self.path.clone(),
                found,
                known: VERSION,
            }),
            Owner::Prony(found) if found < VERSION => {
                Err(StoreError::OlderSchema(self.path.clone()))
            }
            owner => Ok(owner),
        }
    }

    fn prepare_for_writing(&mut self) -> Result<(), StoreError> {
        let prepared = set_durability(&self.connection)
            .and_then(|()| create_tables(&mut self.connection))
            .and_then(|()| trial_write(&self.connection));
        self.sqlite(prepared)
    }

    /// The result of a write. SQLite continues to write to a deleted file, which nobody could ever read, or fails
    /// without saying why.
    pub(crate) fn kept<T>(&self, written: rusqlite::Result<T>) -> Result<T, StoreError> {
        match self.identity {
            Some(opened) if identity(&self.path) != Some(opened) => {
                Err(StoreError::Gone(self.path.clone()))
            }
            _ => self.sqlite(written),
        }
    }

    /// Gives an error of SQLite its meaning for this file.
    pub(crate) fn sqlite<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| StoreError::of_sqlite(&self.path, error))
    }

    pub(crate) fn json<T>(&self, result: serde_json::Result<T>) -> Result<T, StoreError> {
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

/// SQLite does not distinguish a missing folder from one that it may not use.
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

/// Whether there is a WAL that is not empty beside the file.
fn has_open_wal(path: &Path) -> bool {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    std::fs::metadata(wal).is_ok_and(|metadata| metadata.len() > 0)
}

/// `None` if there is no file.
fn identity(path: &Path) -> Option<FileIdentity> {
    let found = path.metadata().ok()?;
    Some(FileIdentity {
        device: found.dev(),
        inode: found.ino(),
    })
}

/// Marks an SQLite file as Prony's (`file(1)` and SQLite read it as `application_id`).
const APPLICATION_ID: i64 = 0x5072_6e79;

/// The schema version of this program, kept in `user_version`. Version 1 used another vocabulary, version 2
/// did not record the protocol; no migration exists.
const VERSION: i64 = 3;

const TABLES: &str = include_str!("schema.sql");

/// A table that files of this version may lack.
const EXPLANATIONS: &str = include_str!("explanation.sql");

/// Which program a file belongs to.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    /// It is empty.
    Nobody,
    /// Prony, with this schema version.
    Prony(i64),
    /// Another program.
    Other,
}

/// Finds out which program the file belongs to, without changing it.
fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
    let pragma = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match pragma("application_id")? {
        APPLICATION_ID => Owner::Prony(pragma("user_version")?),
        0 if tables == 0 => Owner::Nobody,
        _ => Owner::Other,
    })
}

/// Creates the tables in one transaction, unless they exist.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read inside the transaction: another process may have created them meanwhile.
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.execute_batch(EXPLANATIONS)?;
    transaction.commit()
}

/// Writes one row with the time.
fn trial_write(connection: &Connection) -> rusqlite::Result<()> {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    connection
        .execute(
            "INSERT INTO opened (only_row, at) VALUES (1, ?1)
             ON CONFLICT (only_row) DO UPDATE SET at = excluded.at",
            [now],
        )
        .map(|_| ())
}

#[cfg(test)]
mod tests;
