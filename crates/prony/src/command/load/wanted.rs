//! What the user wants of a load: what the command line and the files that it names say, before anything is connected.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prony_load::Sampling;
use prony_model::objective::Objectives;
use prony_model::{CpuAssignment, LoadSpec};

use super::arguments::Arguments;
use super::connections::CONNECTIONS;
use super::requests::Requests;
use super::scenario;
use super::server::{ProjectServer, ReadyServer};
use crate::arguments;
use crate::exit::usage;
use crate::fleet::FleetPlan;

/// What the user wants, whatever is requested.
pub(super) struct Wanted<'a> {
    pub(crate) arguments: &'a Arguments,
    /// What is required of the load, or of the server at the rate that a search looks for.
    pub(crate) objectives: Option<Objectives>,
    pub(crate) fleet: Option<FleetPlan>,
    /// The load, but for what depends on the version of HTTP.
    pub(crate) load: LoadSpec,
    pub(crate) sampling: Option<Sampling>,
    /// The CPUs of the threads; empty for any.
    pub(crate) cpus: Vec<usize>,
}

/// What is requested.
pub(super) enum Target {
    Requests(Box<Requests>),
    /// The workload of a server that has to be started.
    Server(Box<ProjectServer>),
}

/// What is sent.
pub(super) struct Sent {
    pub(crate) requests: Requests,
    /// The server of the project that they go to.
    pub(crate) server: Option<ReadyServer>,
}

impl Target {
    /// The CPUs of server and load, if Prony pins the server.
    fn cpus(&self) -> CpuAssignment {
        match self {
            Self::Requests(_) => CpuAssignment::default(),
            Self::Server(named) => named.cpus(),
        }
    }

    /// The requests, once their server is ready; `None` if the user stopped that.
    pub(super) fn ready(
        self,
        wanted: &Wanted<'_>,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Option<Sent>, Box<dyn Error>> {
        let named = match self {
            Self::Requests(requests) => {
                return Ok(Some(Sent {
                    requests: *requests,
                    server: None,
                }));
            }
            Self::Server(named) => named,
        };
        let (fleet, live) = (wanted.fleet.as_ref(), wanted.arguments.output.live.mode());
        let started = wanted
            .arguments
            .server
            .start(&named, fleet, live, interrupt)?;
        Ok(started.map(|(requests, server)| Sent {
            requests,
            server: Some(server),
        }))
    }
}

impl<'a> Wanted<'a> {
    /// What the flags say, if they fit each other.
    pub(super) fn read(
        arguments: &'a Arguments,
        project: Option<&Path>,
        target: &Target,
    ) -> Result<Self, Box<dyn Error>> {
        let fleet = arguments.fleet.plan(project)?;
        if let Some(fleet) = &fleet {
            arguments.check_flags_of(fleet)?;
        }
        let is_search = arguments.capacity.find_capacity;
        let cpus = match &arguments.generator.cpus {
            Some(list) => arguments::cpus("--cpus", list).map_err(usage)?,
            None if fleet.as_ref().is_none_or(FleetPlan::is_here) => target.cpus().load,
            None => Vec::new(),
        };
        let agents = fleet.as_ref().map_or(1, |fleet| fleet.agents);
        Ok(Self {
            arguments,
            objectives: arguments.objectives.read(is_search)?,
            load: arguments.load(agents, &cpus).map_err(usage)?,
            sampling: arguments.responses.sampling()?,
            fleet,
            cpus,
        })
    }

    /// Refuses flags that do not fit the requests.
    pub(super) fn check(&self, requests: &Requests) -> Result<(), Box<dyn Error>> {
        let Arguments {
            connections,
            responses,
            ..
        } = self.arguments;
        connections
            .check_addresses(&requests.server)
            .map_err(usage)?;
        if let Some(fleet) = &self.fleet {
            fleet.check_host(requests.server.host())?;
        }
        match responses
            .changed()
            .filter(|_| requests.traffic.flows().is_some())
        {
            None => Ok(()),
            Some(flag) => Err(usage(format!(
                "{flag} does not go with a Hurl file, which says what it expects of each response"
            ))),
        }
    }
}

impl Arguments {
    /// What is requested: that of a Hurl file or a server of the project, if the command line names one instead of URLs.
    pub(super) fn target(&self, project: Option<&Path>) -> Result<Target, Box<dyn Error>> {
        let of_url = self.requests.changed();
        let of_url = of_url.or_else(|| self.call.grpc.as_ref().map(|_| "--grpc"));
        let of_server = self.server.needs_a_server();
        if let Some(file) = scenario::file_of(&self.urls)? {
            if let Some(flag) = of_url.or_else(|| self.responses.changed()) {
                return Err(usage(format!(
                    "{flag} does not go with a Hurl file; write it into {}",
                    file.display()
                )));
            }
            return match of_server {
                None => Ok(Target::Requests(self.scenario.requests(file)?.into())),
                Some(flag) => Err(usage(format!(
                    "{flag} needs a server of the project, not a Hurl file"
                ))),
            };
        }
        if let Some(flag) = self.scenario.changed() {
            return Err(usage(format!(
                "{flag} needs a Hurl file, for instance: prony load checkout.hurl {flag} …"
            )));
        }
        let named = match self.urls.as_slice() {
            [target] => ProjectServer::of(project, target)?,
            _ => None,
        };
        match (named, of_url, of_server) {
            (Some(_), Some(flag), _) => Err(usage(format!(
                "{flag} needs a URL: what Prony requests of a server of the project is its workload, which --workload chooses"
            ))),
            (Some(named), None, _) => Ok(Target::Server(named.into())),
            (None, _, Some(flag)) => Err(usage(format!(
                "{flag} needs a server of the project instead of a URL"
            ))),
            (None, _, None) => {
                let no_keepalive = self.connections.no_keepalive;
                let requests = self
                    .requests
                    .requests(&self.urls, &self.call, no_keepalive)?;
                Ok(Target::Requests(requests.into()))
            }
        }
    }

    /// The load, for this number of agents on these CPUs.
    fn load(&self, agents: usize, cpus: &[usize]) -> Result<LoadSpec, String> {
        let Self {
            time,
            connections,
            shape: due,
            responses,
            ..
        } = self;
        let stages = due.stages_last(time.duration, time.requests.is_some())?;
        let shape = due.shape(self.capacity.find_capacity)?;
        let default = match responses.streams {
            // They are the load. Many more requests beside them would be as endless.
            Some(_) => agents,
            None => CONNECTIONS.max(agents),
        };
        let count = due.connections().or(connections.connections);
        let count = count.unwrap_or(default);
        let load = LoadSpec {
            connections: count,
            max_connections: connections.most(count, &shape)?,
            threads: connections.threads(count, cpus, agents),
            shape,
            ..LoadSpec::default()
        };
        Ok(responses.put_into(due.put_into(time.put_into(load, stages))))
    }

    /// Refuses flags that agents do not know, and those that mean nothing on other hosts.
    fn check_flags_of(&self, fleet: &FleetPlan) -> Result<(), Box<dyn Error>> {
        let output = &self.output;
        let records = [
            ("--hdr-log", output.hdr_log.is_some()),
            ("--trace", output.trace.is_some()),
        ];
        if let Some(flag) = arguments::first_given(records) {
            return Err(fleet.refuse_record(flag));
        }
        let connections = &self.connections;
        for (is_given, flag, what) in [
            (self.generator.cpus.is_some(), "--cpus", "CPUs"),
            (!connections.source.is_empty(), "--source", "addresses"),
            (
                connections.unix_socket.is_some(),
                "--unix-socket",
                "a socket",
            ),
        ] {
            if is_given && !fleet.is_here() {
                return Err(fleet.refuse(flag, what));
            }
        }
        Ok(())
    }
}
