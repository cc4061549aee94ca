//! The subcommands, one per file or folder.

mod ab;
mod agent;
mod calibrate;
mod compare;
mod completions;
mod doctor;
mod explain;
mod export;
mod flags;
mod generators;
mod grpc;
mod import;
mod init;
mod list;
mod load;
mod man;
mod reference;
mod report;
mod run;
mod serve;
mod site;
#[cfg(test)]
mod tests;
mod verify;

use std::any::TypeId;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, CommandFactory, FromArgMatches, Id, Parser, Subcommand};

use crate::exit::{self, Outcome};

/// Measures web servers: builds them, checks them, loads them, and says what the numbers can
/// and cannot tell apart
#[derive(Parser)]
#[command(
    name = "prony",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    /// Use the project in this folder [default: the one around the current folder]
    #[arg(long, global = true, value_name = "FOLDER")]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, verify, load and compare the servers of a suite
    Run(run::Arguments),
    /// Describe the servers of a folder in prony.toml
    Init(init::Arguments),
    /// Load a server that is already running, or one of the project; takes wrk's flags
    Load(Box<load::Arguments>),
    /// Find the highest rate at which a server meets an objective
    Capacity(CapacityWords),
    /// Check the servers' responses, without load
    Verify(verify::Arguments),
    /// List the suites, servers and workloads
    List(list::Arguments),
    /// Show which toolchains are installed, and how to install the others
    Doctor(doctor::Arguments),
    /// Show a recorded run, and write its report again
    Report(report::Arguments),
    /// Write all recorded runs as a static site, with the history of each server
    Site(site::Arguments),
    /// Show that site live on a loopback address, and follow a run in progress
    Serve(serve::Arguments),
    /// Write a recorded run as JSON or CSV
    Export(export::Arguments),
    /// Compare two runs, or two servers of one run, to find regressions
    Compare(compare::Arguments),
    /// Compare two git revisions of a server, measured side by side
    Ab(ab::Arguments),
    /// Show what a request costs servers: CPU time, system calls, functions
    Explain(explain::Arguments),
    /// Compare load generators: Prony's own, wrk, oha, h2load and others
    Generators(generators::Arguments),
    /// List the services of a gRPC server, and show their definitions
    Grpc(grpc::Arguments),
    /// Write a Hurl file from a curl command, a HAR file or an OpenAPI document
    Import(import::Arguments),
    /// Measure the limits of this machine and of the load engine
    Calibrate(calibrate::Arguments),
    /// Write a completion script for bash, zsh, fish, elvish or PowerShell
    Completions(completions::Arguments),
    /// Write the manual pages
    Man(man::Arguments),
    /// Run the built-in reference server (the server `ceiling`), or a slow one with known latencies
    #[command(hide = true)]
    Reference(reference::Arguments),
    /// Generate one part of a fleet's load; Prony starts agents itself
    #[command(hide = true)]
    Agent(agent::Arguments),
}

/// The commands and flags, for people and programs that read about them.
fn definition() -> clap::Command {
    Cli::command().mut_subcommand(CAPACITY, |command| of_capacity(&command))
}

const CAPACITY: &str = "capacity";
/// What turns `prony load` into `prony capacity`.
const FIND_CAPACITY: &str = "find_capacity";

/// `prony capacity` with the flags of `prony load` that it has.
fn of_capacity(words: &clap::Command) -> clap::Command {
    let (cli, mut built) = (Cli::command(), Cli::command());
    let load = cli.find_subcommand("load").cloned().unwrap_or_default();
    // Its groups are known once it is built, but then its name is fixed.
    built.build();
    let built = built.find_subcommand("load").cloned().unwrap_or_default();
    let mut flags = built.get_arguments();
    let find = flags.find(|flag| flag.get_id() == FIND_CAPACITY);
    let others = find.into_iter();
    let others = others.flat_map(|find| built.get_arg_conflicts_with(find));
    // The flags of this group exclude each other.
    let mut groups = built.get_groups();
    let group = groups.find(|group| group.get_id() == "schedule");
    let group = group.into_iter().flat_map(|group| group.get_args());
    let hidden: Vec<&Id> = others.map(|flag| flag.get_id()).chain(group).collect();
    load.name(CAPACITY)
        .about(words.get_about().cloned().unwrap_or_default())
        .after_help(CAPACITY_EXAMPLES)
        .after_long_help(CAPACITY_EXAMPLES)
        .mut_args(|flag| {
            if hidden.contains(&flag.get_id()) {
                flag.hide(true)
            } else {
                flag
            }
        })
        .mut_arg("objective", |flag| flag.help(CAPACITY_OBJECTIVE))
}

const CAPACITY_OBJECTIVE: &str = "Require this of the server: a percentile such as p99, mean or max below a time, \
    or errors below a share [default share: 0.1%], separated by commas; repeatable [default: p99<100ms,errors<0.1%]";

const CAPACITY_EXAMPLES: &str = include_str!("load/capacity_examples.txt").trim_ascii_end();

/// The words after `prony capacity`, which are those of `prony load`.
#[derive(Args)]
#[command(disable_help_flag = true, after_help = CAPACITY_EXAMPLES)]
struct CapacityWords {
    /// A URL, a Hurl file, or a server of the project, and flags of `prony load`
    #[arg(
        value_name = "URL|FILE.hurl|SERVER",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

impl CapacityWords {
    /// The help, if this word asks for it.
    fn help(word: &OsString) -> Option<StyledStr> {
        let render = match word.to_str()? {
            "-h" => clap::Command::render_help,
            "--help" => clap::Command::render_long_help,
            _ => return None,
        };
        let mut prony = definition();
        prony.build();
        prony.find_subcommand_mut(CAPACITY).map(render)
    }

    fn run(self, project: Option<&Path>) -> Outcome {
        if let Some(help) = self.words.iter().find_map(Self::help) {
            out!("{help}");
            return Ok(ExitCode::SUCCESS);
        }
        let words = ["prony", "load", "--find-capacity"].map(OsString::from);
        let words = words.into_iter();
        match parse(words.chain(self.words)) {
            Ok(Cli {
                command: Command::Load(arguments),
                project: own,
            }) => load::run(own.as_deref().or(project), &arguments),
            Ok(other) => dispatch(other),
            Err(error) => Ok(exit::status_without_a_command(&error)),
        }
    }
}

pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    // A value such as -1 goes to the flag's own parser; it is not a flag of that name.
    let mut command = Cli::command().mut_subcommands(|one| one.mut_args(with_signed_values));
    let words: Vec<OsString> = words.into_iter().collect();
    let is_load = words.iter().any(|word| word == "load");
    let matches = command.try_get_matches_from_mut(words);
    let mut matches =
        matches.map_err(|error| if is_load { with_own_name(error) } else { error })?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// An unknown flag that other load generators have, with the name of Prony's.
fn with_own_name(mut error: clap::Error) -> clap::Error {
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag.clone(),
        _ => return error,
    };
    if let Some(advice) = load::foreign_flags::advice(&flag) {
        error.remove(ContextKind::SuggestedArg);
        let advice = ContextValue::StyledStrs(vec![advice.into()]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

/// Allows values with a leading hyphen. A flag that takes any text allows only negative numbers, because in `-H -c5`
/// the header is missing.
fn with_signed_values(flag: Arg) -> Arg {
    if flag.is_positional() || !flag.get_action().takes_values() {
        return flag;
    }
    let value = flag.get_value_parser().type_id();
    if value == TypeId::of::<String>() || value == TypeId::of::<PathBuf>() {
        flag.allow_negative_numbers(true)
    } else {
        flag.allow_hyphen_values(true)
    }
}

pub(crate) fn dispatch(cli: Cli) -> Outcome {
    let project = cli.project.as_deref();
    match cli.command {
        Command::Run(arguments) => run::run(project, &arguments),
        Command::Load(arguments) => load::run(project, &arguments),
        Command::Capacity(capacity) => capacity.run(project),
        Command::Init(arguments) => init::run(project, &arguments),
        Command::Verify(arguments) => verify::run(project, &arguments),
        Command::List(arguments) => list::run(project, &arguments),
        Command::Doctor(arguments) => doctor::run(project, &arguments),
        Command::Report(arguments) => report::run(project, &arguments),
        Command::Site(arguments) => site::run(project, &arguments),
        Command::Serve(arguments) => serve::run(project, &arguments),
        Command::Export(arguments) => export::run(project, &arguments),
        Command::Calibrate(arguments) => calibrate::run(project, &arguments),
        Command::Compare(arguments) => compare::run(project, &arguments),
        Command::Ab(arguments) => ab::run(project, &arguments),
        Command::Explain(arguments) => explain::run(project, &arguments),
        Command::Grpc(arguments) => grpc::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments, &definition()),
        Command::Man(arguments) => man::run(&arguments, definition()),
        Command::Reference(arguments) => reference::run(&arguments),
        Command::Agent(arguments) => Ok(agent::run(arguments)),
        Command::Generators(arguments) => generators::run(project, &arguments),
    }
}
