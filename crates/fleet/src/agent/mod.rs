//! An agent: generates one part of a fleet's load.
//!
//! It reads the fleet's messages from standard input and writes its own to standard output. It listens on no port, and it
//! ends when its input closes or falls silent, when nobody reads its output, and when a load takes longer than it may.

mod error;
mod load;
mod options;
mod pipes;
mod threads;

use std::io::Write;
use std::process::ExitCode;

use crate::VERSION;

pub use error::AgentError;
pub use options::Options;
pub use threads::{Limits, run};

use options::Task;

/// The exit status for a wrong command line.
const USAGE: u8 = 2;

/// Runs the agent that the words after the program's name describe, and gives the exit status for the process.
pub fn main(words: impl IntoIterator<Item = String>) -> ExitCode {
    let task = Task::of(words, |name| std::env::var(name).ok());
    let result = match task {
        Ok(Task::Run(options)) => {
            let (input, output) = (std::io::stdin(), std::io::stdout());
            run(&options, Limits::default(), input, output)
                .map_err(|error| (format!("agent {}: {error}", options.index), 1))
        }
        Ok(Task::ShowVersion) => writeln!(std::io::stdout(), "prony {VERSION}")
            .map_err(|error| (format!("cannot write to standard output: {error}"), 1)),
        Err(wrong) => Err((wrong, USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err((text, status)) => {
            // There is nowhere left to report a failure.
            let _ = writeln!(std::io::stderr(), "error: {text}");
            ExitCode::from(status)
        }
    }
}
