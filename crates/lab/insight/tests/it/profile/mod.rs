//! Profiles of real processes.

mod common;
mod processes;
mod runtimes;
