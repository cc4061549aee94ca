//! Other load generators: what each can do, how it is run, and how its output is read.
//!
//! A driver is a folder with a `driver.toml`: the program, its arguments for each property of a load,
//! and where its output tells what. A tool that has no arguments for a property cannot make that
//! load; what it does not tell is absent, never guessed.
//!
//! This room knows nothing of suites or records.
#![forbid(unsafe_code)]

mod catalogue;
mod command;
mod counters;
mod group;
mod load;
mod manifest;
mod process;
mod reading;
mod result;
mod tool;

pub use catalogue::{Catalogue, CatalogueError};
pub use command::{CannotMake, Invocation};
pub use counters::{Counters, Counts};
pub use load::{Arrivals, End, Load};
pub use manifest::{MANIFEST_FILE, Manifest, ManifestError};
pub use process::{RunError, Usage};
pub use reading::{Latency, RateLatency, ReadError, Told};
pub use result::DriverResult;
pub use tool::{DriveError, FindError, Limits, Tool};
