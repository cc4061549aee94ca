//! Every shape of load over real connections. What is due when is tested in `engine/tests`, in simulated time.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Schedule, Seconds};

use crate::plans::{assert_outcomes, even, get_from, load, over_one_connection};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    a_load_works_over_a_unix_socket,
    a_rate_sends_requests_when_they_are_due,
    busy_waiting_does_not_count_as_work,
    the_pipeline_is_filled_to_its_depth,
    a_close_in_a_pipeline_loses_no_request,
    a_connection_is_replaced_after_n_requests,
    a_connection_that_the_server_closes_between_two_arrivals_is_no_error,
    the_event_loop_and_its_cost_are_reported
);

/// At most fifty connections.
fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    shape: LoadShape,
    requests: u64,
) -> LoadPlan {
    get_from(event_loop, server.address(), requests).with(|plan| {
        plan.load.shape = shape;
        plan.load.threads = 1;
        plan.load.max_connections = Some(50);
    })
}

fn a_rate_sends_requests_when_they_are_due(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    for (arrivals, threads) in [
        (Arrivals::Even, 1),
        (Arrivals::Even, 2),
        (Arrivals::Poisson, 2),
    ] {
        let before = server.requests();
        let shape = LoadShape::Rate(Schedule::constant(arrivals, 1000.0));
        let result =
            load(&plan(event_loop, &server, shape, 300).with(|plan| plan.load.threads = threads));
        assert_outcomes(&result, "300 ok");
        assert_eq!(server.requests() - before, 300);
        assert_eq!(result.ended, Ended::Requests);
        let open = result.open.unwrap();
        assert_eq!((open.due, open.sent, open.rate_ratio), (300, 300, 1.0));
        assert!(open.schedule_lag_ns.is_some());
        let is_even = arrivals == Arrivals::Even;
        assert!(
            !is_even || result.duration_s > 0.298,
            "{}",
            result.duration_s
        );
    }
}

fn busy_waiting_does_not_count_as_work(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let result =
        load(&plan(event_loop, &server, even(200.0), 60).with(|plan| plan.load.spin = true));
    assert_outcomes(&result, "60 ok");
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
    let result = load(
        &plan(event_loop, &server, LoadShape::Closed, 120).with(|plan| plan.load.pipeline = 4),
    );
    assert_outcomes(&result, "120 ok");
    assert_eq!((server.requests(), result.connections_opened), (120, 3));
}

fn a_close_in_a_pipeline_loses_no_request(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        let _ = stream.write_all(HELLO);
        match number {
            4 => After::Close,
            _ => After::Keep,
        }
    });
    let result = load(
        &plan(event_loop, &server, LoadShape::Closed, 100).with(|plan| plan.load.pipeline = 3),
    );
    let [ok, reset] = [Outcome::Ok, Outcome::Reset].map(|it| result.outcomes[it]);
    // A request lost to two closes in turn is given up.
    assert_eq!(ok + reset, 100, "{:?}", result.outcomes);
    assert!(ok >= 60 && result.resent > 0, "{ok} and {}", result.resent);
    server.catch_up(0, result.connections_opened);
    assert_eq!(result.connections_opened, server.connections());
}

fn a_connection_is_replaced_after_n_requests(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let result = load(
        &over_one_connection(plan(event_loop, &server, LoadShape::Closed, 50))
            .with(|plan| plan.load.requests_per_connection = Some(5)),
    );
    assert_outcomes(&result, "50 ok");
    assert_eq!((result.connections_opened, server.connections()), (10, 10));
    assert_eq!((result.reconnects, result.resent), (9, 0));
}

fn a_connection_that_the_server_closes_between_two_arrivals_is_no_error(
    event_loop: EventLoopChoice,
) {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let shape = LoadShape::UsersOpen {
        think_time: Seconds::from_millis(20),
    };
    let result = load(&plan(event_loop, &server, shape, 60).with(|plan| plan.load.connections = 4));
    assert_outcomes(&result, "60 ok");
    assert_eq!(server.requests(), 60);
    assert!(result.reconnects >= 56, "{}", result.reconnects);
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
    let any = ([127, 0, 0, 1], 1).into();
    let result = load(
        &over_one_connection(get_from(event_loop, any, 100))
            .with(|plan| plan.endpoint = Endpoint::Unix(path)),
    );
    assert_outcomes(&result, "100 ok");
    assert_eq!(server.join().unwrap(), 100);
    assert!(result.target.address.starts_with("unix:"));
}

fn the_event_loop_and_its_cost_are_reported(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let generator = load(&plan(event_loop, &server, LoadShape::Closed, 200)).generator;
    // The first of these short responses chooses io_uring.
    let ran = match event_loop {
        EventLoopChoice::Auto => EventLoopChoice::IoUring,
        chosen => chosen,
    };
    assert_eq!(generator.event_loop, ran.to_string());
    assert!((1..200 * 6).contains(&generator.system_calls));
}
