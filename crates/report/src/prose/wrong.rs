//! What is said of wrong responses under load.

use crate::comparison::WrongResponses;
use crate::{Comparison, Table, format};

/// Which servers sent wrong responses under load, and how many; `None` if none did.
pub fn wrong(comparison: &Comparison) -> Option<String> {
    let servers = comparison.wrong_servers();
    let rows = comparison.tables.iter().flat_map(|table| &table.rows);
    let mut all: Vec<&str> = rows.map(|row| row.server.id.as_str()).collect();
    all.sort_unstable();
    all.dedup();
    let told: Vec<String> = servers.iter().map(|id| of_server(comparison, id)).collect();
    let are = if servers.len() == 1 { "is" } else { "are" };
    (!servers.is_empty()).then(|| {
        format!(
            "{} of {} servers sent wrong responses under load and {are} not ranked there: {}. Bodies are compared in \
             samples, so more may be wrong.",
            servers.len(),
            all.len(),
            told.join("; ")
        )
    })
}

/// `bun (hello: 122 of 18,204 responses; page: …)`.
fn of_server(comparison: &Comparison, id: &str) -> String {
    let in_table = |table: &Table| {
        let row = table.rows.iter().find(|row| row.server.id == id)?;
        Some(format!(
            "{}: {}",
            table.name(),
            wrong_of(row.figures.wrong?)
        ))
    };
    let tables: Vec<String> = comparison.tables.iter().filter_map(in_table).collect();
    format!("{id} ({})", tables.join(", "))
}

/// `122 of 18,204 responses`.
pub fn wrong_of(wrong: WrongResponses) -> String {
    let s = if wrong.of == 1 { "" } else { "s" };
    format!(
        "{} of {} response{s}",
        format::exact(wrong.wrong),
        format::exact(wrong.of)
    )
}
