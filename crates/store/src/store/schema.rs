//! The tables of the record file.

use rusqlite::{Connection, TransactionBehavior};

/// Marks an SQLite file as Prony's (`file(1)` and SQLite read it as `application_id`).
pub(super) const APPLICATION_ID: i64 = 0x5072_6e79;

/// The schema version of this program, kept in `user_version`. Version 1 used another vocabulary; no migration exists.
pub(super) const VERSION: i64 = 2;

const TABLES: &str = include_str!("schema.sql");

/// Whose file it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is empty.
    Nobody,
    /// Prony's, of that schema version.
    Prony(i64),
    /// Another program's.
    Other,
}

/// Finds out whose file it is. Changes nothing in it.
pub(super) fn owner(connection: &Connection) -> rusqlite::Result<Owner> {
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
pub(super) fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read inside the transaction: another process may have created them meanwhile.
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
