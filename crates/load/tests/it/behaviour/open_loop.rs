//! Users with their own schedules (httpmon's open model) whose connections end, or never begin.
use prony_load::{EventLoopChoice, LoadPlan, PlanError};
use prony_model::{LatencyHistogram, LoadResult, LoadShape, Outcome};

use crate::plans::{self, assert_outcome, get_from};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_connection_that_the_server_closes_between_two_arrivals_is_no_error,
    with_no_listener_every_arrival_is_refused
);

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    users: usize,
    think_time_s: f64,
    requests: u64,
) -> LoadPlan {
    let mut plan = get_from(event_loop, server.address(), requests);
    (plan.connections, plan.threads) = (users, users.min(2));
    plan.shape = LoadShape::UsersOpen { think_time_s };
    plan
}

fn load(plan: &LoadPlan) -> LoadResult {
    let result = plans::load(plan);
    let latencies = LatencyHistogram::from_base64(&result.histogram).unwrap();
    assert_eq!(latencies.count(), result.outcomes[Outcome::Ok]);
    result
}

fn a_connection_that_the_server_closes_between_two_arrivals_is_no_error(
    event_loop: EventLoopChoice,
) {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let result = load(&plan(event_loop, &server, 4, 0.02, 60));
    assert_outcome(&result, Outcome::Ok, 60);
    assert_eq!(server.requests(), 60);
    assert!(result.reconnects >= 56, "{}", result.reconnects);
}

fn with_no_listener_every_arrival_is_refused(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let bound = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    bound.bind(&any.into()).unwrap();
    let mut plan = plan(event_loop, &server, 3, 0.01, 9);
    plan.endpoint = bound.local_addr().unwrap().as_socket().unwrap().into();
    let result = load(&plan);
    assert_outcome(&result, Outcome::Refused, 9);
}

#[test]
fn a_think_time_of_zero_is_refused() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for think_time_s in [0.0, -1.0, 1e-9, f64::NAN, f64::INFINITY] {
        let error = plan(event_loop, &server, 1, think_time_s, 1)
            .validate()
            .unwrap_err();
        assert!(matches!(error, PlanError::Zero { .. }), "{think_time_s}");
    }
}
