//! The agent of a fleet as a program of its own, for images and hosts that need nothing else of Prony.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    prony_fleet::agent::main(
        std::env::args().skip(1),
        Arc::new(prony_fleet::agent::AllKinds),
    )
}
