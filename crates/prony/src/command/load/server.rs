//! A server of the project, which Prony builds and starts for the load, unless it already runs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;
use prony_kernel::{default_assignment, format_cpu_list};
use prony_load::{SampleChoice, Sampling};
use prony_manifest::nearest;
use prony_model::{CpuAssignment, Protocol};
use prony_present::words;
use prony_run::Workload;
use prony_run::run::{Access, Process, Task, prepare, start_ready, tls_settings};
use prony_server::{MANIFEST_FILE, Origin, SelectError, Server};
use prony_traffic::HttpUrl;

use super::requests::Requests;
use crate::arguments;
use crate::command::flags::BuildFlags;
use crate::exit::usage;
use crate::fleet::FleetPlan;
use crate::project::{self, Project, ServerPath};
use crate::view::run_progress;
use crate::view::screen_thread::LiveMode;

/// How long the server's end may take.
const STOP_TIME: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(next_help_heading = "Server of the project")]
pub(super) struct ServerArguments {
    /// Request this workload of the server [default: its first one over plain HTTP/1.1]
    #[arg(long, value_name = "ID", value_parser = arguments::name)]
    workload: Option<String>,
    #[command(flatten)]
    building: BuildFlags,
}

/// What the command line names instead of a URL.
pub(super) struct ProjectServer {
    project: Project,
    server: Server,
    cpus: CpuAssignment,
}

impl ProjectServer {
    /// The server that `target` names; `None` if it is a URL.
    pub(super) fn of(project: Option<&Path>, target: &str) -> Result<Option<Self>, Box<dyn Error>> {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-@".contains(c);
        let is_id = !target.is_empty() && target.chars().all(is_letter);
        let is_folder = Path::new(target).join(MANIFEST_FILE).is_file();
        if !is_id && !is_folder {
            return Ok(None);
        }
        let project = Project::open(project)?;
        let server = if is_folder {
            let path: ServerPath = target.parse().map_err(usage)?;
            path.open()?
        } else {
            let catalogue = project.catalogue()?;
            let ids = catalogue.servers.iter().map(|server| server.id.as_str());
            match catalogue.get(target) {
                Ok(server) => server.clone(),
                // A host, which is more likely than a server with an entirely different name.
                Err(SelectError::Unknown(_)) if nearest(target, ids).is_none() => return Ok(None),
                Err(SelectError::Unknown(unknown)) => {
                    return Err(usage(format!(
                        "{unknown} (a URL begins with http:// or https://)"
                    )));
                }
                Err(error) => return Err(error.into()),
            }
        };
        let cpus = default_assignment()?;
        Ok(Some(Self {
            project,
            server,
            cpus,
        }))
    }

    /// The CPUs of the server, and those of the load, which the server does not use; none if Prony does not pin it.
    pub(super) fn cpus(&self) -> CpuAssignment {
        match self.server.origin {
            Origin::Started(_) => self.cpus.clone(),
            Origin::Outside(_) => CpuAssignment::default(),
        }
    }
}

/// A server that responds, as long as this value lives if Prony started it.
pub(super) struct ReadyServer {
    process: Process,
    task: Task,
    /// The CPUs that Prony pinned it to.
    pub(crate) cpus: Vec<usize>,
    logs: PathBuf,
}

impl ServerArguments {
    /// The flag that was given although it means nothing for a URL.
    pub(super) fn needs_a_server(&self) -> Option<&'static str> {
        let workload = self.workload.is_some().then_some("--workload");
        workload.or_else(|| self.building.rebuild.then_some("--rebuild"))
    }

    /// Builds the server and starts it, unless it already runs; `None` if the user stopped that.
    pub(super) fn start(
        &self,
        named: &ProjectServer,
        fleet: Option<&FleetPlan>,
        live: LiveMode,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Option<(Requests, ReadyServer)>, Box<dyn Error>> {
        let ProjectServer {
            project,
            server,
            cpus,
        } = named;
        let workload = self.workload(project, server)?;
        let task = Task::new(workload, &project.layout)?;
        let id = project::run_id("load");
        let layout = &project.layout;
        let mut testbed = self
            .building
            .testbed(layout, cpus.clone(), &id, interrupt)?;
        if let (Origin::Started(_), Some(fleet)) = (&server.origin, fleet) {
            testbed.host = fleet.server_host()?;
        }
        let mut say_what_is_built = run_progress::say_what_is_built(None);
        let prepared = prepare(&testbed, &[server], &mut |event| {
            if !live.is_quiet() {
                say_what_is_built(event);
            }
        });
        let Some(prepared) = prepared.into_iter().next() else {
            return Ok(None);
        };
        let Some(access) = &prepared.access else {
            let reason = words::not_ready(&prepared.record.status);
            return Err(format!("{}: {}", server.id, reason.unwrap_or_default()).into());
        };
        let name = format!("{}-load", server.id);
        let process = match start_ready(&testbed, &name, access, &task) {
            Ok(process) => process,
            Err(_) if interrupt.load(Relaxed) => return Ok(None),
            Err(error) => {
                let reason = task.hide_in_error(&error.to_string());
                return Err(format!("{}: {reason}", server.id).into());
            }
        };
        let (id, requested) = (&server.id, &workload.id);
        let target = process.target(&task)?;
        let (line, tls) = match access {
            Access::Start(_) => {
                let (address, cpus) = (target.address, format_cpu_list(&cpus.server));
                let line = format!("started  {id} on {address}, CPU {cpus}");
                (line, None)
            }
            Access::Outside(outside) => {
                let url = &outside.url;
                let line = format!("running  {id} at {url}, neither started nor pinned by Prony");
                (line, tls_settings(outside))
            }
        };
        if !live.is_quiet() {
            errln!("{line}; requests `{requested}`");
        }
        let requests = Requests {
            tls,
            ..requests(&task, &target.authority)?
        };
        let server = ReadyServer {
            process,
            task,
            cpus: named.cpus().server,
            logs: testbed.logs,
        };
        Ok(Some((requests, server)))
    }

    fn workload<'a>(
        &self,
        project: &'a Project,
        server: &Server,
    ) -> Result<&'a Workload, Box<dyn Error>> {
        let workloads = project.workloads(&[server])?;
        let served = &server.manifest.workloads;
        let Some(id) = &self.workload else {
            let mut plain = served.iter().filter_map(|id| workloads.get(id).ok());
            let first = plain.find(|one| is_loadable(server, one.protocol()));
            return first.ok_or_else(|| {
                let id = &server.id;
                format!("{id} serves no workload over plain HTTP/1.1; start it yourself, and give its URL").into()
            });
        };
        let workload = workloads.get(id).map_err(usage)?;
        if !served.contains(id) {
            return Err(usage(format!("{} does not serve `{id}`", server.id)));
        }
        match workload.protocol() {
            protocol if is_loadable(server, protocol) => Ok(workload),
            other if other.is_grpc() => Err(usage(format!(
                "`{id}` is a gRPC call, and `prony load SERVER` sends only HTTP requests; use --grpc with the URL of the server"
            ))),
            other => Err(usage(format!(
                "`{id}` is requested over {}, and `prony load SERVER` only over plain HTTP/1.1; start the server yourself, and give its URL",
                other.name()
            ))),
        }
    }
}

/// Whether `prony load SERVER` can request workloads over this protocol: any HTTP of a server that already runs, as the
/// scheme of its URL says.
fn is_loadable(server: &Server, protocol: Protocol) -> bool {
    match &server.origin {
        Origin::Started(_) => protocol == Protocol::Http11,
        Origin::Outside(_) => !protocol.is_grpc(),
    }
}

/// The requests of a workload to the server at this address.
fn requests(task: &Task, authority: &str) -> Result<Requests, Box<dyn Error>> {
    let protocol = task.workload.protocol();
    // Connections go there whatever host the requests name.
    let server: HttpUrl = format!("{}://{authority}/", protocol.scheme()).parse()?;
    let (url, traffic) = task.traffic.encode(authority)?;
    let requests = Requests::new(traffic, server, url).described_by(task.traffic.file());
    Ok(Requests {
        sampling: task.traffic.expected().cloned().map(|check| Sampling {
            check,
            choice: SampleChoice::AtRandom,
        }),
        version: requests.version.or(Some(protocol.into())),
        ..requests
    })
}

impl ReadyServer {
    /// How the server ended, if it did so during the load.
    pub(super) fn ended(&mut self) -> Option<String> {
        let exit = self.process.exited()?;
        Some(format!(
            "the server {exit} during the load; {}",
            self.task.hide_in_error(&self.process.output())
        ))
    }
}

impl Drop for ReadyServer {
    fn drop(&mut self) {
        let has_ended = self.process.exited().is_some();
        self.process.stop(STOP_TIME);
        if !has_ended {
            self.process.discard_logs();
            // Removes the folders only if they are empty.
            let run = self.logs.parent().unwrap_or(&self.logs);
            let _ = [&self.logs, run].map(std::fs::remove_dir);
        }
    }
}
