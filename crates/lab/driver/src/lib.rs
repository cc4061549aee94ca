//! Other load generators: what each can do, how it is run, and how its output is read.
//!
//! A driver is a folder with a `driver.toml`: the program, its arguments for each property of a load, and where each
//! figure is in its output. A tool without arguments for a property does not support that load; what it does not report
//! is absent, never guessed.
//!
//! This crate does not depend on suites or records.
#![forbid(unsafe_code)]

mod command;
mod field;
mod manifest;
mod output;
mod process;
mod tool;

pub use command::{Arrivals, Call, End, Invocation, Load, Unsupported};
pub use manifest::{Catalogue, CatalogueError, MANIFEST_FILE, Manifest};
pub use output::{ReadError, Reported};
pub use process::{RunError, Usage};
pub use tool::{DriveError, DriverResult, FindError, Tool};
