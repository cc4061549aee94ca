//! What the server says, and the plan of the load that follows from it and from what the user wants.

use std::error::Error;

use prony_load::tls::{Offer, TlsClient};
use prony_load::{Endpoint, Here, LoadPlan};
use prony_model::LoadShape;
use prony_model::objective::Objectives;
use prony_traffic::{HttpVersion, Traffic};

use super::requests::Requests;
use super::wanted::Wanted;
use crate::exit::usage;
use crate::grpc::GrpcServer;
use crate::tls::{Offered, Tls};

/// What only the server can tell.
pub(super) struct Reached {
    endpoint: Endpoint,
    tls: Option<TlsClient>,
    /// What is sent, over the version of HTTP that the server chose, and as it defines a call.
    traffic: Traffic,
    /// What connections offer if they are encrypted.
    pub(crate) offered: Option<Offered>,
}

impl Wanted<'_> {
    /// Connects to the server, if nothing is wrong so far.
    pub(super) fn reach(&self, requests: &Requests) -> Result<Reached, Box<dyn Error>> {
        self.check(requests)?;
        let (arguments, server) = (self.arguments, &requests.server);
        let offer = arguments.protocol.offer(requests);
        let of_project = requests.tls.as_ref();
        let settings = arguments.tls.of(server, of_project, requests.is_insecure);
        let is_grpc = requests.traffic.is_grpc();
        let tls = settings.map_err(usage)?;
        let tls = tls.map(|settings| Tls::new(settings, server.host(), offer, is_grpc));
        let tls = tls.transpose()?;
        let mut reached = Reached {
            endpoint: Endpoint::Tcp(([127, 0, 0, 1], 0).into()),
            tls: tls.as_ref().map(|tls| tls.client.clone()),
            traffic: requests.over(match offer {
                Offer::Only(version) => version,
                Offer::Both if arguments.connections.pipeline > 1 => HttpVersion::Http1,
                Offer::Both => HttpVersion::Http2,
            })?,
            offered: tls.as_ref().map(|tls| tls.offered),
        };
        // Whatever is wrong with the load is found before anything is connected.
        self.plan(requests, &reached)?;
        let timeout = arguments.time.timeout;
        reached.endpoint = arguments.connections.endpoint(server, timeout)?;
        if let Some(tls) = &tls {
            let (client, http) = tls.negotiate(&reached.endpoint, timeout)?;
            reached.tls = Some(client);
            reached.traffic = requests.over(http)?;
        }
        if let (Some(fleet), Endpoint::Tcp(address)) = (&self.fleet, &reached.endpoint) {
            // A name may stand for an address of this host alone.
            fleet.check_host(&address.ip().to_string())?;
        }
        if let (Some(undefined), Traffic::Call(call)) = (&requests.undefined, &reached.traffic) {
            let server = GrpcServer {
                endpoint: reached.endpoint.clone(),
                url: server.clone(),
                tls,
                metadata: call.metadata.clone(),
                timeout,
            };
            reached.traffic = undefined.define(call.clone(), &server)?.into();
        }
        Ok(reached)
    }

    /// The plan of the load. It lacks only how many threads agents have.
    pub(super) fn plan(
        &self,
        requests: &Requests,
        reached: &Reached,
    ) -> Result<LoadPlan, Box<dyn Error>> {
        let (arguments, traffic) = (self.arguments, &reached.traffic);
        let connections = &arguments.connections;
        let is_search = arguments.capacity.find_capacity;
        let required = self.objectives.as_ref().filter(|_| !is_search);
        let think_time = arguments.shape.flow_think_time(traffic.flows().is_some());
        let mut plan = LoadPlan {
            load: self.load.clone(),
            tls: reached.tls.clone(),
            flow_think_time: think_time.map_err(usage)?,
            agents: self.fleet.as_ref().map_or(1, |fleet| fleet.agents),
            sampling: self.sampling.clone().or_else(|| requests.sampling.clone()),
            slow_from_ns: required.map_or(Vec::new(), Objectives::slow_from_ns),
            here: Here {
                event_loop: arguments.generator.event_loop,
                sources: connections.source.clone(),
                cpus: self.cpus.clone(),
                ..Here::default()
            },
            ..LoadPlan::new(reached.endpoint.clone(), &requests.url, traffic.clone())
        };
        let (http, is_scenario) = (traffic.http(), traffic.scenario().is_some());
        let offer = arguments.protocol.offer(requests);
        let in_flight = arguments
            .protocol
            .in_flight(connections.pipeline, http, offer);
        plan.load.pipeline = match in_flight.map_err(usage)? {
            Some(given) => given,
            // Before it opens another connection.
            None if matches!(plan.load.shape, LoadShape::Rate(_)) && !is_scenario => {
                plan.usual_streams()
            }
            None => 1,
        };
        // HTTP/2 has no header that closes a connection, and the requests of a scenario are not its own.
        let closes_itself = http == HttpVersion::Http2 || is_scenario;
        plan.load.requests_per_connection = if connections.no_keepalive && closes_itself {
            Some(1)
        } else {
            connections.requests_per_connection.map(u64::from)
        };
        if let Traffic::Call(call) = traffic {
            plan.load.events = call.kind.streams_responses();
        }
        plan.validate().map_err(usage)?;
        Ok(plan)
    }
}
