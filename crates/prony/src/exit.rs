//! How the command ends: its exit codes, and the last word on an error.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use crate::output;

/// What a subcommand returns.
pub type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Something went wrong, or was found wrong: a failed verification, a load without one ok response, output
/// that is lost.
pub const FAILURE: u8 = 1;
/// The command line is wrong, as clap has it.
pub const USAGE: u8 = 2;
/// What was asked cannot be told as exactly as asked, because the machine or the server is too noisy.
pub const TOO_NOISY: u8 = 4;
/// The user stopped it. What was measured is kept.
pub const INTERRUPTED: u8 = 130;

/// An error of the command line that clap cannot see: a name that nothing has, an URL that is none.
#[derive(Debug)]
pub struct Usage(Box<dyn Error>);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Usage {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Says that the command line is to blame: for `map_err`.
pub fn usage(error: impl Into<Box<dyn Error>>) -> Box<dyn Error> {
    Box::new(Usage(error.into()))
}

/// The exit status of a subcommand that is over. Output that is lost is an error of one that succeeded;
/// one that failed has its own status.
pub fn status(outcome: Outcome) -> ExitCode {
    let lost = output::check().err();
    match (outcome, lost) {
        (Err(error), _) => failure(error.as_ref()),
        (Ok(code), None) => code,
        (Ok(code), Some(lost)) => {
            let failed = failure(&lost);
            if code == ExitCode::SUCCESS {
                failed
            } else {
                code
            }
        }
    }
}

/// The exit status where the command line asks for no command: for the help, the version, or what
/// Prony does not understand.
pub fn status_without_a_command(told: &clap::Error) -> ExitCode {
    let text = told.render();
    if told.use_stderr() {
        match console::colors_enabled_stderr() {
            true => err!("{}", text.ansi()),
            false => err!("{text}"),
        }
        return ExitCode::from(USAGE);
    }
    match console::colors_enabled() {
        true => out!("{}", text.ansi()),
        false => out!("{text}"),
    }
    status(Ok(ExitCode::SUCCESS))
}

/// Tells an error with all its causes, and gives the code for it.
pub fn failure(error: &(dyn Error + 'static)) -> ExitCode {
    err!("error: {error}");
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // Many errors already tell their cause in their own words.
        if !said.contains(&text) {
            err!(": {text}");
            said.push_str(&text);
        }
        cause = error.source();
    }
    errln!();
    ExitCode::from(if error.is::<Usage>() { USAGE } else { FAILURE })
}
