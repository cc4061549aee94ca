//! Stores runs and trials in one SQLite file, and exports them as JSON and CSV and for the tools of HdrHistogram;
//! writes what a load recorded for those tools and for Perfetto.
#![forbid(unsafe_code)]

mod chrome_trace;
mod error;
mod export;
mod hdr;
mod read;
mod store;
mod write;

pub use chrome_trace::write_chrome_trace;
pub use error::StoreError;
pub use export::{RUN_SCHEMA, RunDocument, export_csv, export_json};
pub use hdr::{export_hlog, write_hgrm, write_hlog};
pub use read::RunSummary;
pub use store::Store;
