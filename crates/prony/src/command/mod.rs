//! The subcommands, one a file.

mod ab;
mod calibrate;
mod compare;
mod doctor;
mod export;
mod generators;
mod list;
mod load;
mod reference;
mod report;
mod run;
mod verify;

use std::path::PathBuf;

use std::any::TypeId;
use std::ffi::OsString;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Outcome;

/// Measures web servers: builds them, checks them, loads them, and says what the numbers can
/// and cannot tell apart.
#[derive(Parser)]
#[command(name = "prony", version, arg_required_else_help = true)]
pub struct Cli {
    /// The project's folder; otherwise it is looked for from here upwards
    #[arg(long, global = true, value_name = "FOLDER")]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, verify, load and compare the servers of a suite
    Run(run::Arguments),
    /// Put load on a server that already runs, with wrk's flags
    Load(Box<load::Arguments>),
    /// Check every workload's response of every server, without load
    Verify(verify::Arguments),
    /// Show the suites, servers and workloads there are
    List(list::Arguments),
    /// Show which toolchains are here, which are missing, and how to get them
    Doctor(doctor::Arguments),
    /// Show a recorded run again, and write its report anew
    Report(report::Arguments),
    /// Write a recorded run as JSON or CSV
    Export(export::Arguments),
    /// Compare two runs, or two servers of one: improved, worse, no change, or too noisy to say
    Compare(compare::Arguments),
    /// Build two git revisions of a server, measure them interleaved, and compare them
    Ab(ab::Arguments),
    /// Compare load generators: wrk, oha, h2load and others, and Prony itself
    Generators(generators::Arguments),
    /// Measure the machine's own limits: clock, wake-ups, loopback, the engine, schedule lag
    Calibrate(calibrate::Arguments),
    /// Run the built-in reference server (the server `ceiling`), or a slow one with known latencies
    #[command(hide = true)]
    Reference(reference::Arguments),
}

/// Reads the command line.
///
/// # Errors
/// If it is wrong, or asks for the help or the version.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    // A value such as -1 is for the flag's own parser to judge, not a flag of that name.
    let mut command = Cli::command().mut_subcommands(|one| one.mut_args(with_signed_values));
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Lets a flag have a value with a hyphen in front. Of a flag that takes any text only a number is one:
/// in `-H -c5` the header is missing.
fn with_signed_values(flag: Arg) -> Arg {
    if flag.is_positional() || !flag.get_action().takes_values() {
        return flag;
    }
    let value = flag.get_value_parser().type_id();
    match value == TypeId::of::<String>() || value == TypeId::of::<PathBuf>() {
        true => flag.allow_negative_numbers(true),
        false => flag.allow_hyphen_values(true),
    }
}

/// Does what the command line asks for.
pub fn dispatch(cli: Cli) -> Outcome {
    let project = cli.project.as_deref();
    match cli.command {
        Command::Run(arguments) => run::run(project, &arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Verify(arguments) => verify::run(project, &arguments),
        Command::List(arguments) => list::run(project, &arguments),
        Command::Doctor(arguments) => doctor::run(project, &arguments),
        Command::Report(arguments) => report::run(project, &arguments),
        Command::Export(arguments) => export::run(project, &arguments),
        Command::Calibrate(arguments) => calibrate::run(project, &arguments),
        Command::Compare(arguments) => compare::run(project, &arguments),
        Command::Ab(arguments) => ab::run(project, &arguments),
        Command::Reference(arguments) => reference::run(&arguments),
        Command::Generators(arguments) => generators::run(project, &arguments),
    }
}
