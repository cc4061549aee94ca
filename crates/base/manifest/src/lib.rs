//! Reads the TOML files that people write for Prony (`server.toml`, `driver.toml`, suites, workloads). Errors name the
//! file, the line, the field and the name that was probably meant. Also fills placeholders into the words of a command.
#![forbid(unsafe_code)]

pub mod fields;
mod file;
mod name;
mod template;
mod wording;

pub use file::{FileError, Source, folders_with, ids, read};
pub use name::{UnknownName, did_you_mean, nearest};
pub use template::{Placeholder, Template, UnknownPlaceholder};
