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
    out!("{}", text(doctor));
    match is_missing(doctor) {
        true => ExitCode::from(FAILURE),
        false => ExitCode::SUCCESS,
    }
}

fn is_missing(doctor: &Doctor) -> bool {
    let mut tools = doctor.toolchains.iter();
    tools.any(|tool| matches!(tool.state, ToolState::Missing(_)))
}

fn text(doctor: &Doctor) -> String {
    let mut lines = vec!["Toolchains of the servers".to_owned()];
    lines.extend(doctor.toolchains.iter().map(line));
    lines.push("Tools that Prony can be compared with, or measure with".to_owned());
    lines.extend(doctor.extras.iter().map(line));
    if is_missing(doctor) {
        lines.push(
            "\n`prony doctor --fix` installs what the system's package manager has.".to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

fn line(tool: &ToolReport) -> String {
    match &tool.state {
        ToolState::Found { path, version } => {
            let version = version.as_ref().map_or(String::new(), ToString::to_string);
            format!(
                "  here      {:16} {version:10} {}",
                tool.need,
                path.display()
            )
        }
        ToolState::Obtainable(how) => format!(
            "  on demand {:16} Prony makes it when it is needed: {how}",
            tool.need
        ),
        ToolState::Missing(what) => format!("  MISSING   {what:16} {}", tool.install),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::golden;

    #[test]
    fn what_is_here_and_what_is_missing_is_the_golden_one() {
        let tool = |need: &str, state| ToolReport {
            name: "go".into(),
            need: need.into(),
            state,
            install: "see https://go.dev/dl, or: apt-get install golang".into(),
            packages: &[],
        };
        let path = "/usr/lib/jvm/temurin-21-jdk/bin/javac";
        let found = |version: Option<&str>| ToolState::Found {
            path: path.into(),
            version: version.and_then(prony_server::Version::find),
        };
        let toolchains = vec![
            tool("java >= 21", found(Some("javac 21.0.5"))),
            tool("ruby", found(None)),
            tool(
                "zig = 0.15",
                ToolState::Obtainable("from ziglang.org".into()),
            ),
        ];
        let missing = tool("", ToolState::Missing("go >= 1.26 (1.19 is here)".into()));
        let whole = Doctor {
            extras: vec![missing.clone()],
            toolchains: toolchains.clone(),
            package_manager: None,
        };
        let lacking = Doctor {
            toolchains: [toolchains, vec![missing]].concat(),
            ..whole.clone()
        };
        golden(
            "doctor",
            &[("whole", text(&whole)), ("lacking", text(&lacking))],
        );
    }
}
