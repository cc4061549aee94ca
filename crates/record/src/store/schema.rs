//! The tables of the record file, and how an older file becomes one of today.

use rusqlite::{Connection, TransactionBehavior};

/// Marks an SQLite file as Prony's (`file(1)` and SQLite read it as `application_id`).
pub(super) const APPLICATION_ID: i64 = 0x5072_6e79;

/// What each schema version adds to the one before; `user_version` counts how many were applied.
const MIGRATIONS: [&str; 1] = [include_str!("schema-1.sql")];

/// The newest schema version of this program.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;

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

/// Brings the tables up to [`VERSION`], in one transaction.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read inside the transaction: another process may have done the work meanwhile.
    let done: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let missing = MIGRATIONS.iter().skip(usize::try_from(done).unwrap_or(0));
    for sql in missing {
        transaction.execute_batch(sql)?;
    }
    if done < VERSION {
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}
