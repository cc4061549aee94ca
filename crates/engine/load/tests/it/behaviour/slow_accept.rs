//! A server whose accept queue overflows: the kernel's counters explain its slow responses.

use prony_model::Seconds;
use std::net::SocketAddr;

use prony_load::{EventLoopChoice, LoadPlan};
use prony_testkit::contains;
use prony_testkit::slow_acceptor::slow_acceptor;

use crate::plans::{assert_outcomes, even, get_from, load};
use crate::scripted::ScriptedServer;

over_each_loop!(
    an_overflowing_accept_queue_explains_a_second_of_latency,
    a_fast_load_has_counts_and_no_explanation
);

/// 80 requests per second, each over a new connection.
fn plan(event_loop: EventLoopChoice, server: SocketAddr) -> LoadPlan {
    get_from(event_loop, server, 1).with(|plan| {
        plan.load.shape = even(80.0);
        plan.load.connections = 1;
        plan.load.max_connections = Some(200);
        plan.load.threads = 1;
        plan.load.requests = None;
        plan.load.requests_per_connection = Some(1);
        plan.load.duration = Some(Seconds::from_millis(400));
    })
}

fn an_overflowing_accept_queue_explains_a_second_of_latency(event_loop: EventLoopChoice) {
    let result = load(&plan(event_loop, slow_acceptor()));
    let latency = result.latency_ns.as_ref().unwrap();
    assert!(latency.max > 900_000_000, "{latency:?}");
    let tcp = result.tcp.unwrap();
    assert!(tcp.accept_queue_overflows > 0, "{tcp:?}");
    assert!(tcp.retransmitted_syns > 0 && tcp.timeouts > 0, "{tcp:?}");
    let because = result.slow_because.unwrap();
    contains(&because, "sent again after waiting 1 s or longer");
    contains(&because, "the server's accept queue overflowed");
}

fn a_fast_load_has_counts_and_no_explanation(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let result = load(&get_from(event_loop, server.address(), 30));
    assert_outcomes(&result, "30 ok");
    assert!(result.tcp.is_some());
    let latency = result.latency_ns.unwrap();
    // On a busy machine a load may be slow, and other programs may have timeouts.
    assert!(result.slow_because.is_none() || latency.max >= 200_000_000);
}
