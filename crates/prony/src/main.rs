//! Prony measures web servers: it builds them, checks them, loads them, and says what the
//! numbers can tell apart. This is the command; each subcommand is one file.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // They panic where the reader has gone.

#[macro_use]
mod output;

mod arguments;
mod command;
mod exit;
mod interrupt;
mod project;
mod result_file;
mod server_path;
mod view;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    // As the supervisor of a server's processes, this program has another life.
    if let Some(code) = prony_server::run_if_asked(std::env::args_os()) {
        return code;
    }
    match command::parse(std::env::args_os()) {
        Ok(cli) => exit::status(command::dispatch(cli)),
        Err(error) => exit::status_without_a_command(&error),
    }
}
