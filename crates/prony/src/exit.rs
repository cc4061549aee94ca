//! How the command ends: its exit codes, and the last word on an error.

use std::error::Error;
use std::process::ExitCode;

/// What a subcommand returns.
pub type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Something went wrong, or was found wrong: a failed verification, a load without one ok answer.
pub const FAILURE: u8 = 1;
/// The user stopped it. What was measured is kept.
pub const INTERRUPTED: u8 = 130;

/// Tells an error with all its causes, and gives the code for it.
pub fn failure(error: &dyn Error) -> ExitCode {
    eprint!("error: {error}");
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many errors already tell their cause in their own words.
        if !said.contains(&text) {
            eprint!(": {text}");
            said.push_str(&text);
        }
        cause = error.source();
    }
    eprintln!();
    ExitCode::from(FAILURE)
}
