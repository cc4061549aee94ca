//! Prony measures web servers: it builds them, checks them, loads them, and says what the
//! numbers can tell apart. This is the command line program.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // They panic if the reader is gone.

#[macro_use]
mod output;

mod arguments;
mod command;
mod curl;
mod exit;
mod fleet;
mod grpc;
mod project;
mod recorded;
mod reference_server;
mod result_file;
mod shipped;
mod telemetry;
mod tls;
mod view;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Prony starts itself as the supervisor of each server's processes.
    if let Some(code) = prony_server::run_if_asked(std::env::args_os()) {
        return code;
    }
    match command::parse(std::env::args_os()) {
        Ok(cli) => exit::status(command::dispatch(cli)),
        Err(error) => exit::status_without_a_command(&error),
    }
}
