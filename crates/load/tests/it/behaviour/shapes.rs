//! Every shape of load over real connections. What is due when is tested in `engine/tests`, in simulated time.

use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::UnixListener;
use std::thread;

use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Schedule};

use crate::plans::{assert_outcome, even, get_from, load};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_load_works_over_a_unix_socket,
    a_rate_sends_requests_when_they_are_due,
    busy_waiting_does_not_count_as_work,
    the_pipeline_is_filled_to_its_depth,
    a_close_in_a_pipeline_loses_no_request,
    a_connection_is_replaced_after_n_requests,
    the_event_loop_and_its_cost_are_reported
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    shape: LoadShape,
    requests: u64,
) -> LoadPlan {
    LoadPlan {
        shape,
        threads: 1,
        ..get_from(event_loop, server.address(), requests)
    }
}

fn a_rate_sends_requests_when_they_are_due(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for (arrivals, threads) in [
        (Arrivals::Even, 1),
        (Arrivals::Even, 2),
        (Arrivals::Poisson, 2),
    ] {
        let before = server.requests();
        let shape = LoadShape::Rate(Schedule::constant(arrivals, 1000.0));
        let mut plan = plan(event_loop, &server, shape, 300);
        (plan.threads, plan.max_connections) = (threads, 40);
        let result = load(&plan);
        assert_outcome(&result, Outcome::Ok, 300);
        assert_eq!(server.requests() - before, 300);
        assert_eq!(result.ended, Ended::Requests);
        let open = result.open.unwrap();
        assert_eq!((open.due, open.sent, open.rate_ratio), (300, 300, 1.0));
        assert!(open.schedule_lag_ns.is_some());
        if arrivals == Arrivals::Even {
            assert!(result.duration_s > 0.298, "{}", result.duration_s);
        }
    }
}

fn busy_waiting_does_not_count_as_work(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, even(200.0), 60);
    plan.spin = true;
    plan.max_connections = 20;
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 60);
    let generator = &result.generator;
    assert!(generator.spin_s > 0.0);
    assert!(generator.busy_max < 1.0, "{}", generator.busy_max);
}

fn the_pipeline_is_filled_to_its_depth(event_loop: EventLoopChoice) {
    // The server responds to four requests at once: with fewer in flight it would never respond.
    let server = ScriptedServer::start(|stream, number| {
        if number % 4 == 3 {
            let _ = stream.write_all(&HELLO.repeat(4));
        }
        After::Keep
    });
    let mut plan = plan(event_loop, &server, LoadShape::Closed, 120);
    plan.pipeline = 4;
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 120);
    assert_eq!(server.requests(), 120);
    assert_eq!(result.connections_opened, 3);
}

fn a_close_in_a_pipeline_loses_no_request(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        let _ = stream.write_all(HELLO);
        if number == 4 {
            After::Close
        } else {
            After::Keep
        }
    });
    let mut plan = plan(event_loop, &server, LoadShape::Closed, 100);
    plan.pipeline = 3;
    let result = load(&plan);
    let (ok, reset) = (
        result.outcomes[Outcome::Ok],
        result.outcomes[Outcome::Reset],
    );
    // A request lost to two closes in turn is given up.
    assert_eq!(ok + reset, 100, "{:?}", result.outcomes);
    assert!(ok >= 60 && result.resent > 0, "{ok} and {}", result.resent);
    server.catch_up(0, result.connections_opened);
    assert_eq!(result.connections_opened, server.connections());
}

fn a_connection_is_replaced_after_n_requests(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, LoadShape::Closed, 50);
    (plan.connections, plan.max_connections) = (1, 1);
    plan.requests_per_connection = NonZeroU64::new(5);
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 50);
    assert_eq!((result.connections_opened, server.connections()), (10, 10));
    assert_eq!((result.reconnects, result.resent), (9, 0));
}

fn a_load_works_over_a_unix_socket(event_loop: EventLoopChoice) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        let mut responded = 0;
        while stream.read(&mut buffer).unwrap_or(0) > 0 {
            responded += 1;
            let _ = stream.write_all(HELLO);
        }
        responded
    });
    let request = prony_load::Request::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
    let plan = LoadPlan {
        requests: Some(100),
        event_loop,
        ..LoadPlan::new(Endpoint::Unix(path), "http://a/", request)
    };
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 100);
    assert_eq!(server.join().unwrap(), 100);
    assert!(result.target.address.starts_with("unix:"));
}

fn the_event_loop_and_its_cost_are_reported(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let result = load(&plan(event_loop, &server, LoadShape::Closed, 200));
    let generator = &result.generator;
    // The first of these short responses chooses io_uring.
    let ran = match event_loop {
        EventLoopChoice::Auto => EventLoopChoice::IoUring,
        chosen => chosen,
    };
    assert_eq!(generator.event_loop, ran.to_string());
    assert!(generator.system_calls > 0 && generator.system_calls < 200 * 6);
}
