//! Standard output and standard error, whose readers may go away: `prony list | head -1` is not a failure, and a run
//! that nobody watches must still write its reports. Any other failure to write standard output loses a result: it is
//! remembered, and [`check`] returns it at the end.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use nix::errno::Errno;

/// The error indicator of the stream, which like the stream belongs to the process (C's `ferror`).
static FAILURE: OnceLock<LostOutput> = OnceLock::new();

/// Standard output could not be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot write to standard output: {0}")]
pub(crate) struct LostOutput(String);

/// Whether standard output received everything, or its reader went away.
pub(crate) fn check() -> Result<(), LostOutput> {
    FAILURE.get().map_or(Ok(()), |lost| Err(lost.clone()))
}

/// Standard output, unbuffered. The standard library ignores errors of a closed descriptor.
pub(crate) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if prony_kernel::stdout_was_closed() {
            Err(Errno::EBADF)
        } else {
            nix::unistd::write(io::stdout(), bytes)
        };
        written.map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The result of writing to standard output, or to a pipe that a flag names. A reader that goes away is not a failure,
/// for any result of any command: its own exit status says whether that was a fault.
pub(crate) fn unless_unwanted(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Remembers the result of writing to standard output.
pub(crate) fn note(written: io::Result<()>) {
    if let Err(error) = unless_unwanted(written) {
        // The first failure explains the later ones.
        let _ = FAILURE.set(LostOutput(error.to_string()));
    }
}

pub(crate) fn to_stdout(text: Arguments<'_>) {
    note(Stdout.write_all(text.to_string().as_bytes()));
}

pub(crate) fn to_stderr(text: Arguments<'_>) {
    // There is nowhere left to report a failure.
    let _ = io::stderr().lock().write_fmt(text);
}

/// Whether a stream shows colours: a terminal does, unless the environment says otherwise (`NO_COLOR`, `CLICOLOR`,
/// `CLICOLOR_FORCE`).
pub(crate) fn shows_colours(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// `print!` for a reader that may go away.
macro_rules! out {
    ($($text:tt)*) => { $crate::output::to_stdout(format_args!($($text)*)) };
}

/// `println!` for a reader that may go away.
macro_rules! outln {
    () => { out!("\n") };
    ($($text:tt)*) => { out!("{}\n", format_args!($($text)*)) };
}

/// `eprint!` for a reader that may go away.
macro_rules! err {
    ($($text:tt)*) => { $crate::output::to_stderr(format_args!($($text)*)) };
}

/// `eprintln!` for a reader that may go away.
macro_rules! errln {
    () => { err!("\n") };
    ($($text:tt)*) => { err!("{}\n", format_args!($($text)*)) };
}
