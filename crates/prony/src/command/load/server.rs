//! A server of the project, which Prony builds and starts for the load, unless it already runs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;
use prony_kernel::{default_assignment, format_cpu_list};
use prony_load::tls::TlsSettings;
use prony_load::{SampleChoice, Sampling};
use prony_manifest::nearest;
use prony_model::{CpuAssignment, Protocol};
use prony_present::words;
use prony_run::Workload;
use prony_run::run::{
    Access, Process, Target, Task, TaskContent, Testbed, prepare, start_ready, tls_settings,
};
use prony_server::{MANIFEST_FILE, Origin, SelectError, Server};
use prony_traffic::{HttpUrl, HttpVersion, Traffic, UrlError};

use super::requests::{Preferred, RequestContent, Requests};
use crate::arguments;
use crate::command::flags::BuildFlags;
use crate::exit::usage;
use crate::fleet::FleetPlan;
use crate::project::{self, Project, ServerPath};
use crate::view::run_progress;
use crate::view::screen_thread::LiveMode;

/// How long the server's end may take.
const STOP_TIME: Duration = Duration::from_secs(2);

/// What only a server of the project needs.
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
        if is_folder {
            let path: ServerPath = target.parse().map_err(usage)?;
            let server = path.open()?;
            return Ok(Some(Self { project, server }));
        }
        let catalogue = project.catalogue()?;
        let ids = catalogue.servers.iter().map(|server| server.id.as_str());
        let server = match catalogue.get(target) {
            Ok(server) => server.clone(),
            // A host, which is more likely than a server with an entirely different name.
            Err(SelectError::Unknown(_)) if nearest(target, ids).is_none() => return Ok(None),
            Err(SelectError::Unknown(unknown)) => {
                return Err(usage(format!(
                    "{unknown} (a URL begins with http:// or https://)"
                )));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Some(Self { project, server }))
    }
}

/// A server that responds, as long as this value lives if Prony started it.
pub(super) struct ReadyServer {
    process: Process,
    target: Target,
    task: Task,
    /// How connections are encrypted, if it already ran and they are.
    tls: Option<TlsSettings>,
    cpus: CpuAssignment,
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
    ) -> Result<Option<ReadyServer>, Box<dyn Error>> {
        let ProjectServer { project, server } = named;
        let workload = self.workload(project, server)?;
        let task = Task::new(workload, &project.layout)?;
        let cpus = default_assignment()?;
        let id = project::run_id("load");
        let testbed = self
            .building
            .testbed(&project.layout, cpus.clone(), &id, interrupt)?;
        let testbed = match (&server.origin, fleet) {
            (Origin::Started(_), Some(fleet)) => Testbed {
                host: fleet.server_host()?,
                ..testbed
            },
            _ => testbed,
        };
        let say = |line: &str| {
            if !live.is_quiet() {
                errln!("{line}");
            }
        };
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
        let tls = match access {
            Access::Start(_) => {
                let (address, cpus) = (target.address, format_cpu_list(&cpus.server));
                say(&format!(
                    "started  {id} on {address}, CPU {cpus}; requests `{requested}`"
                ));
                None
            }
            Access::Outside(outside) => {
                let url = &outside.url;
                say(&format!(
                    "running  {id} at {url}, neither started nor pinned by Prony; requests `{requested}`"
                ));
                tls_settings(outside)
            }
        };
        Ok(Some(ReadyServer {
            process,
            target,
            task,
            tls,
            cpus,
            logs: testbed.logs,
        }))
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

impl ReadyServer {
    /// The request of its workload.
    pub(super) fn requests(&self) -> Result<Requests, Box<dyn Error>> {
        match &self.task.content {
            TaskContent::Request { request, .. } => {
                let (url, traffic) = request.encode(&self.target.authority)?;
                let (content, server) = match traffic {
                    Traffic::Scenario(scenario, _) => {
                        (RequestContent::Scenario(scenario), self.url()?)
                    }
                    Traffic::Requests(set, _) => {
                        let server = set.requests()[0].url().clone();
                        (RequestContent::Http(set), server)
                    }
                    Traffic::Call(_) => return Err("a gRPC call has no HTTP request".into()),
                };
                Ok(Requests {
                    content,
                    server,
                    url,
                    described: None,
                    are_random: request.is_random(),
                    preferred: Preferred::default(),
                })
            }
            TaskContent::Scenario(prepared) => {
                let scenario = prepared.at(&self.target.authority)?;
                Ok(Requests {
                    // Connections go there whatever host the file names.
                    server: self.url()?,
                    ..Requests::of_scenario(scenario, prepared.file())
                })
            }
        }
    }

    /// The URL of the server, without a path.
    fn url(&self) -> Result<HttpUrl, UrlError> {
        let scheme = self.task.workload.protocol().scheme();
        format!("{scheme}://{}/", self.target.authority).parse()
    }

    /// The CPUs for the load, which the server does not use; all if Prony did not pin the server.
    pub(super) fn load_cpus(&self) -> &[usize] {
        match self.process {
            Process::Started(_) => &self.cpus.load,
            Process::Outside(_) => &[],
        }
    }

    /// The CPUs of the server; none if Prony did not start it.
    pub(super) fn own_cpus(&self) -> &[usize] {
        match self.process {
            Process::Started(_) => &self.cpus.server,
            Process::Outside(_) => &[],
        }
    }

    /// How connections are encrypted; `None` if they are not, or if Prony started the server.
    pub(super) fn tls(&self) -> Option<&TlsSettings> {
        self.tls.as_ref()
    }

    /// The version of HTTP that its workload names.
    pub(super) fn http(&self) -> HttpVersion {
        self.task.workload.protocol().into()
    }

    /// The check of its responses; `None` if a Hurl file checks them.
    pub(super) fn sampling(&self) -> Option<Sampling> {
        match &self.task.content {
            TaskContent::Request { expected, .. } => Some(Sampling {
                check: expected.clone(),
                choice: SampleChoice::AtRandom,
            }),
            TaskContent::Scenario(_) => None,
        }
    }

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
