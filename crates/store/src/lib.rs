//! Stores runs and trials in one SQLite file, and exports them as JSON and CSV and for the tools of HdrHistogram.
#![forbid(unsafe_code)]

mod error;
mod export;
mod hdr;
#[cfg(test)]
mod published_schema;
mod read;
mod store;
mod write;

pub use error::StoreError;
pub use export::{RUN_SCHEMA, export_csv, export_json};
pub use hdr::{export_hlog, write_hgrm};
pub use read::RunSummary;
pub use store::Store;
