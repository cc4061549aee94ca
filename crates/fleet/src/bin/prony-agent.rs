//! The agent of a fleet as a program of its own, for images and hosts that need nothing else of Prony.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    prony_fleet::agent::main(std::env::args().skip(1))
}
