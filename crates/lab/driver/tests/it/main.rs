//! The integration tests of this crate, in one program.

mod commands;
mod outputs;
mod processes;
mod requests;
