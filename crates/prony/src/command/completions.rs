//! `prony completions SHELL`: what makes a shell complete Prony's commands and flags.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Outcome;

const EXAMPLES: &str = "\
Examples:
  source <(prony completions bash)            complete in this shell
  prony completions bash > ~/.local/share/bash-completion/completions/prony
  prony completions fish > ~/.config/fish/completions/prony.fish
  prony completions zsh > ~/.zfunc/_prony     if ~/.zfunc is in $fpath

Exit status:
  0  the script was written
  1  standard output cannot be written
  2  the command line is wrong";

/// Which shell.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Write the script for this shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the script for a command to standard output.
pub(super) fn run(arguments: &Arguments, command: &Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut visible(command), "prony", &mut script);
    out!("{}", String::from_utf8(script)?);
    Ok(ExitCode::SUCCESS)
}

/// A command without its hidden ones, which some scripts would offer.
fn visible(whole: &Command) -> Command {
    let subcommands = whole.get_subcommands().filter(|one| !one.is_hide_set());
    Command::new("prony")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(whole.get_arguments())
        .subcommands(subcommands)
}
