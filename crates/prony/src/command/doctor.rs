//! `prony doctor`: what is there, what is missing, and how to get it.

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use prony_server::{Catalogue, Doctor, SupervisorProgram, ToolReport, ToolState, Toolbox};

use crate::exit::{FAILURE, Outcome};
use crate::project;

const EXAMPLES: &str = "\
Examples:
  prony doctor                what is here, what is missing, and the line that installs it
  prony doctor --fix          shows the package manager's command, asks, and runs it
  prony doctor --fix --yes    does not ask

Exit status: 0 where no toolchain is missing, 1 where one is.";

/// Whether to look only, or to install.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Install what is missing and what the system's package manager has, after asking
    #[arg(long)]
    fix: bool,
    /// With --fix: do not ask
    #[arg(long, requires = "fix")]
    yes: bool,
}

/// Shows the toolchains; the exit status is 1 where one is missing.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let catalogue = Catalogue::read(&layout)?;
    let supervisor = SupervisorProgram::current()?;
    let examine = || {
        let toolbox = Toolbox::new(&layout, &supervisor);
        Doctor::examine(
            &toolbox,
            catalogue
                .servers
                .iter()
                .flat_map(|server| &server.manifest.needs),
        )
    };
    let mut doctor = examine();
    if arguments.fix {
        match doctor.fix() {
            None => outln!("The package manager has nothing that is missing."),
            Some(command) if install(&command, arguments.yes)? => doctor = examine(),
            Some(_) => {}
        }
    }
    Ok(show(&doctor))
}

fn show(doctor: &Doctor) -> ExitCode {
    outln!("Toolchains of the servers");
    doctor.toolchains.iter().for_each(show_tool);
    outln!("Tools that Prony can be compared with, or measure with");
    doctor.extras.iter().for_each(show_tool);
    let missing = doctor
        .toolchains
        .iter()
        .any(|tool| matches!(tool.state, ToolState::Missing(_)));
    if missing {
        outln!("\n`prony doctor --fix` installs what the system's package manager has.");
        return ExitCode::from(FAILURE);
    }
    ExitCode::SUCCESS
}

fn show_tool(tool: &ToolReport) {
    match &tool.state {
        ToolState::Found { path, version } => {
            let version = version.as_ref().map_or(String::new(), ToString::to_string);
            outln!(
                "  here      {:16} {version:10} {}",
                tool.need,
                path.display()
            );
        }
        ToolState::Obtainable(how) => {
            outln!(
                "  on demand {:16} Prony makes it when it is needed: {how}",
                tool.need
            );
        }
        ToolState::Missing(what) => outln!("  MISSING   {what:16} {}", tool.install),
    }
}

/// Runs the package manager; false where the user does not want it.
fn install(command: &[String], yes: bool) -> Result<bool, Box<dyn std::error::Error>> {
    outln!("{}", command.join(" "));
    if !yes && !confirmed()? {
        outln!("Nothing was installed.");
        return Ok(false);
    }
    let Some((program, arguments)) = command.split_first() else {
        return Ok(false);
    };
    let status = Command::new(program)
        .args(arguments)
        .status()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if status.success() {
        return Ok(true);
    }
    Err(format!(
        "`{}` failed: {status}; its own words are above",
        command.join(" ")
    )
    .into())
}

fn confirmed() -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        outln!("Nobody is there to ask: use --yes to install.");
        return Ok(false);
    }
    out!("Run this? [y/N] ");
    let mut response = String::new();
    io::stdin().lock().read_line(&mut response)?;
    Ok(matches!(
        response.trim().to_lowercase().as_str(),
        "y" | "yes"
    ))
}
