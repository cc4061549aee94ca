//! `prony list`: the suites, servers and workloads of the project, and those that Prony ships.

use std::error::Error;
use std::path::Path;

use clap::Args;
use prony_present::table::{Cell, Column, Row, Table, Weight};
use prony_present::terminal::listing;
use prony_present::words::plural;
use prony_run::{DeclaredRequest, WorkloadKind};
use prony_server::{Availability, Server, SupervisorProgram, Toolbox};

use crate::exit::{Outcome, failure_if};
use crate::project::Project;
use crate::view::{indented, width};

const EXAMPLES: &str = "\
Examples:
  prony list            everything
  prony list suites     what each suite measures, and how long it takes
  prony list servers    the servers, and whether their toolchains are installed

Exit status:
  0  everything was listed
  1  a manifest or a suite cannot be read; the others are listed
  2  the command line is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// List only these [default: everything]
    #[arg(value_enum)]
    what: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    Suites,
    Servers,
    Workloads,
}

/// Lists them. What cannot be read comes last, as errors.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let project = Project::open(project)?;
    let wanted = |what| arguments.what.is_none_or(|chosen| chosen == what);
    let mut broken = Vec::new();
    let mut parts = Vec::new();
    if wanted(What::Suites) {
        parts.extend(suites(&project, &mut broken)?);
    }
    if wanted(What::Servers) {
        parts.extend(servers(&project, &mut broken)?);
    }
    if wanted(What::Workloads) {
        parts.extend(workloads(&project));
    }
    out!("{}", parts.join("\n"));
    for text in &broken {
        errln!("error: {text}");
    }
    Ok(failure_if(!broken.is_empty()))
}

/// One part for what the project has and one for what Prony ships, each with a heading; an empty part is left out.
fn parts<T>(
    what: &str,
    own_and_shipped: [Vec<T>; 2],
    mut lines: impl FnMut(Vec<T>) -> String,
) -> Vec<String> {
    let [own, shipped] = own_and_shipped;
    let own_title = format!("{what} of this project");
    let shipped_title = format!("{what} that Prony ships");
    [(own_title, own), (shipped_title, shipped)]
        .into_iter()
        .filter(|(_, things)| !things.is_empty())
        .map(|(title, things)| format!("{title}\n{}", lines(things)))
        .collect()
}

fn suites(project: &Project, broken: &mut Vec<String>) -> Result<Vec<String>, Box<dyn Error>> {
    let ids = project.own_and_shipped_suites()?;
    Ok(parts("Suites", ids, |ids| {
        let mut rows = Vec::new();
        for id in ids {
            match project.suite(&id) {
                Ok(suite) => {
                    let servers = plural(suite.servers.len(), "server");
                    let workloads = suite.workloads().join(", ");
                    let title = format!("{} ({servers}: {workloads})", suite.title);
                    rows.push((suite.id, title));
                    if suite.about != suite.title {
                        rows.push((String::new(), suite.about));
                    }
                }
                Err(error) => broken.push(error.to_string()),
            }
        }
        listing(&rows, width())
    }))
}

/// Those of a server, and whether its toolchains are installed.
fn columns<'a>() -> [Column<(&'a Server, &'static str)>; 5] {
    [
        Column::words("id", |(server, _)| Cell::text(&server.id)),
        Column::words("language", |(server, _)| {
            Cell::text(&server.manifest.language)
        }),
        Column::words("framework", |(server, _)| {
            Cell::text(&server.manifest.framework)
        }),
        Column::words("class", |(server, _)| {
            Cell::text(server.manifest.class.name())
        }),
        Column::words("toolchain", |(_, toolchain)| Cell::text(*toolchain)),
    ]
}

fn servers(project: &Project, broken: &mut Vec<String>) -> Result<Vec<String>, Box<dyn Error>> {
    let catalogue = project.catalogue()?;
    let toolbox = Toolbox::new(&project.layout, &SupervisorProgram::current()?);
    let errors = catalogue.broken.iter();
    broken.extend(errors.map(|broken| broken.error.to_string()));
    let servers = catalogue.servers.iter();
    let (shipped, own): (Vec<&Server>, Vec<&Server>) = servers.partition(|one| project.ships(one));
    Ok(parts("Servers", [own, shipped], |servers| {
        server_table(&toolbox, &servers)
    }))
}

fn server_table(toolbox: &Toolbox, servers: &[&Server]) -> String {
    let rows = servers.iter().map(|server| {
        let (toolchain, how) = toolchain(toolbox, server);
        ((*server, toolchain), Row::flagged(Weight::Note, how))
    });
    let rows: Vec<_> = rows.collect();
    let table = Table::of(&columns(), rows.iter().map(|(one, row)| (one, row.clone())));
    indented(&table, width()).join("\n") + "\n"
}

/// Whether all toolchains of a server are installed; if not, how to get the first missing one. A server that already
/// runs needs none.
fn toolchain(toolbox: &Toolbox, server: &Server) -> (&'static str, Option<String>) {
    if server.started().is_none() {
        return ("already runs", None);
    }
    let mut needs = server.needs().iter();
    let unmet = needs.find_map(|need| match toolbox.find(need) {
        Availability::Found(_) => None,
        Availability::Obtainable(_) => Some(("on demand", None)),
        Availability::Missing(missing) => {
            let how = format!("needs {}; to install it: {}", missing.what, missing.install);
            Some(("missing", Some(how)))
        }
    });
    unmet.unwrap_or(("installed", None))
}

fn workloads(project: &Project) -> Vec<String> {
    parts(
        "Workloads",
        project.own_and_shipped_workloads(),
        |workloads| {
            let mut rows = Vec::new();
            for workload in workloads {
                let requested = match &workload.kind {
                    WorkloadKind::Request { request, .. } => match request {
                        DeclaredRequest::Http(request) => {
                            format!("{} {}", request.method, request.path)
                        }
                        DeclaredRequest::Grpc { path, .. } => format!("call {path}"),
                    },
                    WorkloadKind::Scenario(scenario) => format!("flows of {}", scenario.file),
                };
                let protocol = workload.protocol().name();
                rows.push((workload.id.clone(), format!("{requested} over {protocol}")));
                if !workload.about.is_empty() {
                    rows.push((String::new(), workload.about.clone()));
                }
            }
            listing(&rows, width())
        },
    )
}
