//! `prony list`: the suites, servers and workloads there are.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use prony_server::{Availability, Catalogue, Layout, Server, SupervisorProgram, Toolbox};
use prony_suite::{Request, Suite, Workloads};

use crate::exit::{FAILURE, Outcome};
use crate::project;

const EXAMPLES: &str = "\
Examples:
  prony list             everything
  prony list suites      what each suite measures, of how many servers, and how long it takes
  prony list servers    the servers, and whether their toolchains are here

Exit status: 0, or 1 where a manifest or suite cannot be read (the others are listed).";

/// What to list: everything where nothing is chosen.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to list
    #[arg(value_enum)]
    what: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Suites,
    Servers,
    Workloads,
}

/// Lists them; what cannot be read is told last, and makes the exit status 1.
pub fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let layout = project::layout(project)?;
    let wanted = |what| arguments.what.is_none_or(|chosen| chosen == what);
    let mut broken = Vec::new();
    if wanted(What::Suites) {
        suites(&layout, &mut broken)?;
    }
    if wanted(What::Servers) {
        servers(&layout, &mut broken)?;
    }
    if wanted(What::Workloads) {
        outln!("Workloads");
        for workload in Workloads::read(&layout.workloads())?.iter() {
            let request = match &workload.request {
                Request::Http { method, path } => format!("{method} {path}"),
                Request::Grpc { path, .. } => format!("call {path}"),
            };
            outln!("  {:18} {:30} {}", workload.id, request, workload.about);
        }
    }
    for text in &broken {
        errln!("error: {text}");
    }
    Ok(if broken.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILURE)
    })
}

fn suites(layout: &Layout, broken: &mut Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    outln!("Suites");
    for id in Suite::ids(&layout.suites())? {
        match Suite::read(&layout.suites(), &id) {
            Ok(suite) => {
                let servers = suite.servers.len();
                let s = if servers == 1 { "" } else { "s" };
                let workloads = suite.workloads().join(", ");
                let (id, title) = (&suite.id, &suite.title);
                outln!("  {id:18} {title} ({servers} server{s}: {workloads})");
                outln!("  {:18} {}", "", suite.about);
            }
            Err(error) => broken.push(error.to_string()),
        }
    }
    outln!();
    Ok(())
}

fn servers(layout: &Layout, broken: &mut Vec<String>) -> Result<(), Box<dyn std::error::Error>> {
    let catalogue = Catalogue::read(layout)?;
    let toolbox = Toolbox::new(layout, &SupervisorProgram::current()?);
    outln!("Servers");
    for server in &catalogue.servers {
        let manifest = &server.manifest;
        outln!(
            "  {:18} {:10} {:18} {:10} {}",
            server.id,
            manifest.language,
            manifest.framework,
            manifest.class.name(),
            availability(&toolbox, server),
        );
    }
    outln!();
    broken.extend(
        catalogue
            .broken
            .iter()
            .map(|broken| broken.error.to_string()),
    );
    Ok(())
}

fn availability(toolbox: &Toolbox, server: &Server) -> String {
    let unmet = server
        .manifest
        .needs
        .iter()
        .find_map(|need| match toolbox.find(need) {
            Availability::Found(_) => None,
            Availability::Obtainable(how) => {
                Some(format!("Prony makes {need} when it is needed ({how})"))
            }
            Availability::Missing(missing) => {
                Some(format!("{} is missing: {}", missing.what, missing.install))
            }
        });
    unmet.unwrap_or_else(|| "its toolchain is here".into())
}
