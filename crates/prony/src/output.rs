//! Standard output and standard error, whose readers may go away: `prony list | head -1` is no
//! fault, and a run that nobody looks at any more must still write its reports.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// Writes to standard output.
pub fn to_stdout(text: Arguments<'_>) {
    let mut stdout = io::stdout().lock();
    match stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            to_stderr(format_args!(
                "error: cannot write to standard output: {error}\n"
            ));
        }
        _ => {}
    }
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
