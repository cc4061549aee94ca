//! Standard output and standard error, whose readers may go away: `prony list | head -1` is no
//! fault, and a run that nobody looks at any more must still write its reports. Any other failure to
//! write standard output loses a result: it is remembered, and [`check`] tells it in the end.

use std::error::Error;
use std::fmt::{self, Arguments};
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use nix::errno::Errno;

/// The error mark of the stream, which belongs to the process as the stream does (C's `ferror`).
static FAILURE: OnceLock<LostOutput> = OnceLock::new();

/// Standard output could not be written.
#[derive(Clone, Debug)]
pub struct LostOutput(String);

impl fmt::Display for LostOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl Error for LostOutput {}

/// Whether all that was written to standard output has arrived there, or nobody wanted it any more.
pub fn check() -> Result<(), LostOutput> {
    FAILURE.get().map_or(Ok(()), |lost| Err(lost.clone()))
}

/// Standard output as it is. The standard library takes a closed descriptor for an open one.
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match prony_kernel::stdout_was_closed() {
            true => Err(Errno::EBADF),
            false => nix::unistd::write(io::stdout(), bytes),
        };
        written.map_err(io::Error::from)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What came of writing to standard output, or to a pipe that a flag names: a reader that has gone away is no failure,
/// for any result of any command. The reader wanted no more, and says by its own exit status whether that was a fault;
/// the summary of a load whose JSON is piped is on standard error all the same.
pub fn unless_unwanted(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Remembers what came of writing to standard output.
pub fn note(written: io::Result<()>) {
    if let Err(error) = unless_unwanted(written) {
        // The first failure explains the later ones.
        let _ = FAILURE.set(LostOutput(error.to_string()));
    }
}

/// Writes to standard output.
pub fn to_stdout(text: Arguments<'_>) {
    note(Stdout.write_all(text.to_string().as_bytes()));
}

/// Writes to standard error.
pub fn to_stderr(text: Arguments<'_>) {
    // There is nowhere left to say that this failed.
    let _ = io::stderr().lock().write_fmt(text);
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
