//! `prony doctor`: which toolchains are installed, which are missing, and how to install them.

use std::error::Error;
use std::io::{self, BufRead, IsTerminal};
use std::path::Path;
use std::process::Command;

use clap::Args;
use prony_present::terminal::listing;
use prony_server::{Doctor, Server, SupervisorProgram, ToolReport, ToolState, Toolbox};

use crate::exit::{Outcome, failure_if};
use crate::project::Project;
use crate::view::width;

const EXAMPLES: &str = "\
Examples:
  prony doctor              what is installed, and how to install the rest
  prony doctor --fix        show the package manager's command, ask, and run it
  prony doctor --fix --yes  the same without asking

Exit status:
  0  no toolchain is missing
  1  a toolchain is missing
  2  the command line is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Install what is missing with the system's package manager, after asking
    #[arg(long)]
    fix: bool,
    /// Do not ask before --fix installs
    #[arg(long, requires = "fix")]
    yes: bool,
}

/// Shows the toolchains, and installs missing ones if the user wants that.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let project = Project::open(project)?;
    let layout = &project.layout;
    let catalogue = project.catalogue()?;
    let supervisor = SupervisorProgram::current()?;
    let examine = || {
        let toolbox = Toolbox::new(layout, &supervisor);
        let servers = project.default_servers(&catalogue).into_iter();
        Doctor::examine(&toolbox, servers.flat_map(Server::needs))
    };
    let mut doctor = examine();
    if arguments.fix {
        match doctor.fix() {
            None => outln!("Nothing is missing that the package manager has."),
            Some(command) if install(&command, arguments.yes)? => doctor = examine(),
            Some(_) => {}
        }
    }
    out!("{}", text(&doctor, width()));
    Ok(failure_if(is_missing(&doctor)))
}

fn is_missing(doctor: &Doctor) -> bool {
    let mut tools = doctor.toolchains.iter();
    tools.any(|tool| matches!(tool.state, ToolState::Missing(_)))
}

fn text(doctor: &Doctor, width: usize) -> String {
    let mut text = String::new();
    for (title, tools) in [
        ("Toolchains of the servers", &doctor.toolchains),
        ("Other load generators and tools", &doctor.extras),
    ] {
        let rows: Vec<_> = tools.iter().map(entry).collect();
        text += &format!("{title}\n{}", listing(&rows, width));
    }
    if is_missing(doctor) {
        text += "\n`prony doctor --fix` installs what the system's package manager has.\n";
    }
    text
}

/// The state and the tool, and where it is or how to get it.
fn entry(tool: &ToolReport) -> (String, String) {
    let need = &tool.need;
    match &tool.state {
        ToolState::Found { path, version } => {
            let version = version.as_ref().map_or(String::new(), ToString::to_string);
            let path = path.display();
            (format!("installed  {need}"), format!("{version:9} {path}"))
        }
        ToolState::Obtainable(how) => (format!("on demand  {need}"), how.clone()),
        ToolState::Missing(what) => {
            let install = &tool.install;
            let instead = what.strip_prefix(need.as_str()).unwrap_or(what).trim();
            let text = match instead {
                "" => format!("to install it: {install}"),
                instead => format!("{instead}; to install it: {install}"),
            };
            (format!("MISSING    {need}"), text)
        }
    }
}

/// Runs the package manager; false if the user does not want that.
fn install(command: &[String], yes: bool) -> Result<bool, Box<dyn Error>> {
    let line = command.join(" ");
    outln!("{line}");
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
        Ok(true)
    } else {
        Err(format!("`{line}` failed: {status}; its output is above").into())
    }
}

fn confirmed() -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        outln!("Standard input is not a terminal: use --yes to install without asking.");
        return Ok(false);
    }
    out!("Run this? [y/N] ");
    let mut reply = String::new();
    io::stdin().lock().read_line(&mut reply)?;
    let reply = reply.trim().to_lowercase();
    Ok(matches!(reply.as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::golden;

    #[test]
    fn installed_and_missing_tools_are_the_golden_ones() {
        let tool = |need: &str, state| ToolReport {
            need: need.into(),
            state,
            install: "see https://go.dev/dl, or: apt-get install golang".into(),
            packages: Vec::new(),
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
        let missing = tool(
            "go >= 1.26",
            ToolState::Missing("go >= 1.26 (1.19 is here)".into()),
        );
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
            &[("whole", text(&whole, 80)), ("lacking", text(&lacking, 80))],
        );
    }
}
