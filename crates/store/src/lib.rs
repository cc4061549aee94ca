//! Stores runs and trials in one SQLite file, and exports them as JSON and CSV.
#![forbid(unsafe_code)]

mod error;
mod export;
#[cfg(test)]
mod published_schema;
mod read;
mod store;
mod write;

pub use error::StoreError;
pub use export::{RUN_SCHEMA, export_csv, export_json};
pub use read::RunSummary;
pub use store::Store;
