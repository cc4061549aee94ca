//! Where the project's files are, and what every subcommand that starts servers needs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prony_model::CpuAssignment;
use prony_server::{
    Catalogue, Freshness, Layout, MANIFEST_FILE, SelectError, Server, SupervisorProgram,
};
use prony_store::Store;
use prony_suite::run::Bench;
use prony_suite::{Suite, SuiteError, Workloads};
use prony_system::default_assignment;

use crate::arguments;
use crate::exit::usage;
use crate::server_path::ServerPath;

/// The layout of the project given, or of the one that the current folder is in.
pub fn layout(project: Option<&Path>) -> Result<Layout, Box<dyn Error>> {
    let start = match project {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir()?,
    };
    Ok(Layout::find(&start)?)
}

/// The record file of a project.
pub fn record_file(layout: &Layout) -> PathBuf {
    layout.state().join("prony.sqlite")
}

/// Creates the project's `.prony/` again if it was deleted in a run, for the run's reports.
pub fn restore_state(layout: &Layout) {
    // If it cannot be, the reports go elsewhere and say so.
    let _ = layout.make_state();
}

/// Opens the record file that was named, or else the project's own, to record a run.
pub fn open_record(layout: &Layout, named: Option<&Path>) -> Result<Store, Box<dyn Error>> {
    layout.make_state()?;
    let file = named.map_or_else(|| record_file(layout), Path::to_owned);
    Ok(Store::open(file)?)
}

/// The CPUs that were asked for; those not asked for as the machine suggests.
pub fn cpus(server: Option<&str>, load: Option<&str>) -> Result<CpuAssignment, Box<dyn Error>> {
    let mut cpus = default_assignment()?;
    if let Some(list) = server {
        cpus.server = arguments::cpus("--server-cpus", list).map_err(usage)?;
    }
    if let Some(list) = load {
        cpus.load = arguments::cpus("--load-cpus", list).map_err(usage)?;
    }
    Ok(cpus)
}

/// The suite of this id, or in this file: a path has a slash or ends in `.toml`.
pub fn suite(layout: &Layout, suite: &str) -> Result<Suite, Box<dyn Error>> {
    let read = match suite.contains('/') || suite.ends_with(".toml") {
        true => Suite::open(Path::new(suite)),
        false => Suite::read(&layout.suites(), suite),
    };
    read.map_err(|error| match error {
        SuiteError::Unknown(_) | SuiteError::Name(_) => usage(error),
        SuiteError::File(_) => error.into(),
    })
}

/// Why servers cannot be selected: a name that nothing has is the command line's fault, a faulty
/// manifest is not.
pub fn not_selected(error: SelectError) -> Box<dyn Error> {
    match error {
        SelectError::Unknown(_) => usage(error),
        SelectError::Broken { .. } => error.into(),
    }
}

/// The servers in folders that may be anywhere. None may have the id of another: in a table nobody
/// could tell which of the two it was.
pub fn outside(catalogue: &Catalogue, paths: &[ServerPath]) -> Result<Vec<Server>, Box<dyn Error>> {
    let mut servers: Vec<Server> = Vec::with_capacity(paths.len());
    for path in paths {
        let server = path.open()?;
        let mut others = catalogue.servers.iter().chain(&servers);
        match others.find(|other| other.id == server.id) {
            Some(other) if *other != server => {
                return Err(usage(format!(
                    "two servers would have the id `{0}`: {1} and {2}; give one of them another name, for instance --server new={2}",
                    server.id,
                    other.folder.display(),
                    server.folder.display(),
                )));
            }
            _ => servers.push(server),
        }
    }
    Ok(servers)
}

/// The project's workloads, among them all those that the servers say they serve.
pub fn workloads(layout: &Layout, servers: &[&Server]) -> Result<Workloads, Box<dyn Error>> {
    let workloads = Workloads::read(&layout.workloads())?;
    for server in servers {
        let manifest = server.folder.join(MANIFEST_FILE);
        for id in &server.manifest.workloads {
            workloads
                .get(id)
                .map_err(|error| format!("{}: field `workloads`: {error}", manifest.display()))?;
        }
    }
    Ok(workloads)
}

/// What `--rebuild` asks for.
pub fn freshness(rebuild: bool) -> Freshness {
    match rebuild {
        true => Freshness::Rebuild,
        false => Freshness::IfUnchanged,
    }
}

/// A bench whose servers write their output to `logs`.
pub fn bench(
    layout: &Layout,
    cpus: CpuAssignment,
    logs: PathBuf,
    ready_timeout: Duration,
) -> Result<Bench, Box<dyn Error>> {
    Ok(Bench {
        layout: layout.clone(),
        supervisor: SupervisorProgram::current()?,
        cpus,
        logs,
        ready_timeout,
        freshness: Freshness::default(),
    })
}
