//! What keeps measurements: one SQLite file for runs and trials, and their export as JSON and CSV.
#![forbid(unsafe_code)]

mod export;
#[cfg(test)]
mod published_schema;
mod store;

pub use export::{CSV_COLUMNS, RUN_SCHEMA, export_csv, export_json};
pub use store::{RunSummary, Store, StoreError};
