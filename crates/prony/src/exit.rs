//! How the command ends: its exit codes, its error messages, and Ctrl-C.

use std::error::Error;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prony_fleet::{FleetError, LaunchError};
use prony_load::LoadError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::output;

/// What a subcommand returns.
pub(crate) type Outcome = Result<ExitCode, Box<dyn Error>>;

/// Something failed: a verification, a load without one ok response, the write of a result.
pub(crate) const FAILURE: u8 = 1;
/// The command line is wrong; clap uses the same status.
pub(crate) const USAGE: u8 = 2;
/// The result is less precise than the user asked for.
pub(crate) const IMPRECISE: u8 = 4;
/// The load missed an objective.
pub(crate) const MISSED: u8 = 5;
/// The user stopped the command. What was measured is kept.
pub(crate) const INTERRUPTED: u8 = 130;

/// A flag that SIGINT, SIGTERM and SIGHUP set, for an orderly end. A second signal ends the process at once,
/// and its supervisors stop the servers.
pub(crate) fn interrupt_on_signals() -> io::Result<Arc<AtomicBool>> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order only the second signal finds the flag set.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), interrupt.clone())?;
        flag::register(signal, interrupt.clone())?;
    }
    Ok(interrupt)
}

/// [`FAILURE`] if something failed, or else success.
pub(crate) fn failure_if(failed: bool) -> ExitCode {
    if failed {
        ExitCode::from(FAILURE)
    } else {
        ExitCode::SUCCESS
    }
}

/// An error in the command line that clap cannot see, such as an unknown name or an invalid URL.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Usage(Box<dyn Error>);

/// Blames the command line for an error; for `map_err`.
pub(crate) fn usage(error: impl Into<Box<dyn Error>>) -> Box<dyn Error> {
    Box::new(Usage(error.into()))
}

/// The exit status of a finished subcommand. Lost output fails one that succeeded; one that failed keeps its
/// own status.
pub(crate) fn status(outcome: Outcome) -> ExitCode {
    let code = match outcome {
        Ok(code) => code,
        Err(error) => return failure(error.as_ref()),
    };
    let lost = output::check().map_err(|lost| failure(&lost));
    match lost {
        Err(failed) if code == ExitCode::SUCCESS => failed,
        _ => code,
    }
}

/// Shows the help, the version or an error of the command line, and gives the exit status.
pub(crate) fn status_without_a_command(message: &clap::Error) -> ExitCode {
    let text = message.render();
    let coloured = |colours: bool| {
        if colours {
            text.ansi().to_string()
        } else {
            text.to_string()
        }
    };
    if message.use_stderr() {
        err!("{}", coloured(output::shows_colours(&io::stderr())));
        return ExitCode::from(USAGE);
    }
    out!("{}", coloured(output::shows_colours(&io::stdout())));
    status(Ok(ExitCode::SUCCESS))
}

/// Shows an error with all its causes, and gives the code for it.
pub(crate) fn failure(error: &(dyn Error + 'static)) -> ExitCode {
    let is_invalid = is_invalid(error);
    let label = if is_invalid { "INVALID  " } else { "error: " };
    err!("{label}{error}");
    let mut shown = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        // The text of many errors already includes their cause.
        if !shown.contains(&text) {
            err!(": {text}");
            shown.push_str(&text);
        }
        cause = error.source();
    }
    errln!();
    ExitCode::from(match error.downcast_ref() {
        Some(FleetError::Interrupted) => INTERRUPTED,
        _ if error.is::<Usage>() => USAGE,
        _ => FAILURE,
    })
}

/// Whether an error makes a load of a fleet invalid.
fn is_invalid(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref::<LoadError>(), Some(LoadError::Fleet(_)))
        || error
            .downcast_ref()
            .is_some_and(|error| !matches!(error, FleetError::Interrupted))
        || error.is::<LaunchError>()
}
