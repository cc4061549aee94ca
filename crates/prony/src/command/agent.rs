//! `prony agent`: the same program as `prony-agent`, so that hosts with Prony need nothing else.

use std::process::ExitCode;

use clap::Args;

/// The words of the command line, which the agent reads itself.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(super) struct Arguments {
    /// Which agent of which fleet this is
    #[arg(
        value_name = "WORDS",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

pub(super) fn run(arguments: Arguments) -> ExitCode {
    prony_fleet::agent::main(arguments.words)
}
