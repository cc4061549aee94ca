//! `prony ceiling`: the reference server, as the subject `ceiling` runs it.

use std::process::ExitCode;

use prony_ceiling::Config;

use crate::exit::Outcome;

/// Serves until it is killed.
pub fn run() -> Outcome {
    prony_ceiling::serve(Config::from_environment()?)?;
    Ok(ExitCode::SUCCESS)
}
