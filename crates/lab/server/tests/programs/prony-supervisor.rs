//! The supervisor as a program of its own, for tests.
//!
//! `prony-supervisor hold LOG PROGRAM ARGUMENT…` stands in for Prony: it runs the command under a supervisor until it
//! is killed.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use prony_server::{SupervisorProgram, Task, run_if_asked};

fn main() -> ExitCode {
    if let Some(code) = run_if_asked(std::env::args_os()) {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [hold, log, command @ ..] if hold == "hold" => match run(log, command) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("usage: prony-supervisor hold LOG PROGRAM ARGUMENT…");
            ExitCode::FAILURE
        }
    }
}

fn run(log: &str, command: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let task = Task {
        command: command.to_vec(),
        folder: std::env::current_dir()?,
        log: log.into(),
        ..Task::default()
    };
    let mut supervised = SupervisorProgram::current()?.spawn(&task)?;
    println!("{}", supervised.supervisor_pid());
    while supervised.wait(Duration::from_secs(1)).is_none() {}
    Ok(())
}
