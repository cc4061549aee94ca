//! Every shape of load and event streams over every wire and both event loops, from one process or several agents: each
//! request has one response, and the server has counted as many requests and events as the client.

mod calls;
mod events;
mod flows;
mod freezes;
pub(crate) mod server;
mod streams;

use std::thread;

use prony_load::tls::{Offer, TlsSettings, Trust};
use prony_load::{EventLoopChoice, LoadPlan};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Protocol, Schedule, Seconds, Stage};
use prony_traffic::{CallKind, Order, RequestParts, RequestSet, Traffic};

use crate::parts_of::load;
use server::CountingServer;

/// How many requests each load has.
const REQUESTS: u64 = 30;

/// The wires that carry plain requests, not gRPC calls.
const HTTP: [Protocol; 4] = [
    Protocol::Http11,
    Protocol::Https11,
    Protocol::H2c,
    Protocol::H2,
];

const GRPC: [Protocol; 2] = [Protocol::Grpc, Protocol::GrpcTls];

/// All wires.
const ALL: [Protocol; 6] = [
    Protocol::Http11,
    Protocol::Https11,
    Protocol::H2c,
    Protocol::H2,
    Protocol::Grpc,
    Protocol::GrpcTls,
];

/// Tests each wire in a thread of its own.
fn over_each(protocols: &[Protocol], test: impl Fn(Protocol) + Sync) {
    thread::scope(|scope| {
        for &protocol in protocols {
            let test = &test;
            scope.spawn(move || test(protocol));
        }
    });
}

/// Keeps several requests in flight over each connection.
fn in_flight(plan: &mut LoadPlan) {
    plan.load.pipeline = 4;
}

fn rate(plan: &mut LoadPlan, schedule: Schedule) {
    plan.load.shape = LoadShape::Rate(schedule);
    plan.load.max_connections = Some(8);
}

/// A shape of load, and what it changes in a plan.
type Shape = (&'static str, fn(&mut LoadPlan));

const SHAPES: [Shape; 10] = [
    ("closed", |_| {}),
    ("several requests in flight", in_flight),
    ("sequential", |plan| {
        (plan.load.connections, plan.load.threads) = (1, 1);
    }),
    ("a connection for every third request", |plan| {
        plan.load.requests_per_connection = Some(3);
    }),
    ("even arrivals", |plan| {
        rate(plan, Schedule::constant(Arrivals::Even, 2000.0));
    }),
    ("random arrivals, several in flight", |plan| {
        rate(plan, Schedule::constant(Arrivals::Poisson, 2000.0));
        in_flight(plan);
    }),
    ("stages", |plan| {
        let growing = Stage {
            from_per_s: 500.0,
            to_per_s: 3000.0,
            duration_s: Some(0.02),
        };
        let stages = vec![growing, Stage::endless(3000.0)];
        let even = Schedule::constant(Arrivals::Even, 1.0);
        rate(plan, Schedule { stages, ..even });
    }),
    ("bursts", |plan| {
        let even = Schedule::constant(Arrivals::Even, 2000.0);
        rate(plan, Schedule { burst: 20, ..even });
    }),
    ("users who wait", |plan| {
        let think_time = Seconds::from_millis(2);
        plan.load.shape = LoadShape::UsersClosed { think_time };
    }),
    ("users who do not wait", |plan| {
        let think_time = Seconds::from_millis(2);
        plan.load.shape = LoadShape::UsersOpen { think_time };
    }),
];

/// A request with that path, or a call of that kind.
fn request(server: &CountingServer, protocol: Protocol, kind: CallKind, path: &str) -> Traffic {
    if protocol.is_grpc() {
        let method = (kind, &*format!("/{path}"));
        return calls::call(server, protocol, method, &[b"\x0a\x01x".to_vec()]);
    }
    Traffic::requests(parts(server, protocol, path), protocol.into()).unwrap()
}

fn parts(server: &CountingServer, protocol: Protocol, path: &str) -> RequestParts {
    let (scheme, address) = (protocol.scheme(), server.address());
    let url = format!("{scheme}://{address}/{path}").parse().unwrap();
    RequestParts::new("GET", &url, &[], b"").unwrap()
}

fn plan(server: &CountingServer, protocol: Protocol, event_loop: EventLoopChoice) -> LoadPlan {
    let tls = protocol.is_tls().then(|| {
        let settings = TlsSettings {
            trust: Trust::File(server.certificate()),
            ..TlsSettings::default()
        };
        let offer = Offer::Only(protocol.into());
        settings.client("localhost", offer).unwrap()
    });
    let request = request(server, protocol, CallKind::Unary, "test.Echo/Unary");
    LoadPlan::new(server.address().into(), "test", request).with(|plan| {
        plan.tls = tls;
        plan.load.connections = 4;
        plan.load.max_connections = Some(4);
        plan.load.threads = 2;
        plan.load.requests = Some(REQUESTS);
        plan.load.timeout = Seconds::from_secs(20);
        plan.here.event_loop = event_loop;
    })
}

/// Divides the load among agents, who need a connection for each thread.
fn in_agents(plan: &mut LoadPlan, agents: usize) {
    plan.agents = agents;
    plan.load.connections = plan.load.connections.max(plan.all_threads());
    plan.load.max_connections = Some(plan.load.most_connections().max(plan.load.connections));
}

fn check(server: &CountingServer, plan: &LoadPlan, name: &str) {
    let before = server.requests();
    let plans = vec![plan.clone(); plan.agents];
    let result = load(&plans, name);
    let wrong = &result.first_wrong;
    assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{name}: {wrong:?}");
    assert_eq!(result.outcomes.total(), REQUESTS, "{name}");
    assert_eq!(server.requests() - before, REQUESTS, "{name}");
    assert_eq!(result.ended, Ended::Requests, "{name}");
    assert_eq!(result.target.protocol, plan.protocol(), "{name}");
    if let Some(tls) = &result.tls {
        let (handshakes, opened) = (
            tls.full.count + tls.resumed.count,
            result.connections_opened,
        );
        // The load may end before a connection that a rate opened has shaken hands.
        let fewest = if plan.load.most_connections() > plan.load.connections {
            1
        } else {
            opened
        };
        assert!(
            (fewest..=opened).contains(&handshakes),
            "{name}: {handshakes} of {opened}"
        );
    }
    assert_eq!(result.tls.is_some(), plan.tls.is_some(), "{name}");
    let succeeded = plan.protocol().is_grpc().then_some(REQUESTS);
    assert_eq!(result.rpc_statuses.get(&0).copied(), succeeded, "{name}");
}

/// Two different requests at random, which calls do not support.
fn mix(server: &CountingServer, protocol: Protocol) -> Traffic {
    let requests = ["hello", "flow/mix"].map(|path| parts(server, protocol, path));
    let set = RequestSet::new(requests.into(), Order::Random(vec![2, 1])).unwrap();
    Traffic::requests(set, protocol.into()).unwrap()
}

#[test]
fn a_mix_works_over_every_wire_of_http() {
    for protocol in HTTP {
        let server = CountingServer::start(protocol);
        for event_loop in [EventLoopChoice::IoUring, EventLoopChoice::Epoll] {
            let mut plan = plan(&server, protocol, event_loop);
            plan.request = mix(&server, protocol);
            let name = format!("a mix over {} and {event_loop}", protocol.name());
            check(&server, &plan, &name);
            let second = server.take_targets().len() as u64;
            assert!((1..REQUESTS).contains(&second), "{name}: {second}");
        }
    }
}

/// Both event loops, and one process or several agents. Which goes with which changes with `number`: over all wires and
/// shapes, each loop goes with each number of agents.
fn loops_and_agents(protocol: Protocol, number: usize) -> [(EventLoopChoice, usize); 2] {
    let loops = [EventLoopChoice::IoUring, EventLoopChoice::Epoll];
    let at = protocol as usize + number;
    [(loops[at % 2], 1), (loops[(at + 1) % 2], 3)]
}

#[test]
fn every_shape_works_over_every_wire() {
    over_each(&ALL, |protocol| {
        let server = CountingServer::start(protocol);
        for (number, (shape, change)) in SHAPES.iter().enumerate() {
            for (event_loop, agents) in loops_and_agents(protocol, number) {
                let mut plan = plan(&server, protocol, event_loop);
                change(&mut plan);
                in_agents(&mut plan, agents);
                let protocol = protocol.name();
                let name = format!("{shape} over {protocol} and {event_loop}, {agents} agents");
                check(&server, &plan, &name);
            }
        }
    });
}
