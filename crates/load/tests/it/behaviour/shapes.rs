//! Every shape of load, against fast and slow servers, sends what the plan says.

use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Duration;

use prony_load::{Endpoint, EventLoopChoice, LoadPlan};
use prony_model::{Arrivals, Ended, LoadShape, Outcome, Schedule, Stage};

use crate::plans::{assert_outcome, even, get_from, load};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_load_works_over_a_unix_socket,
    a_rate_sends_requests_when_they_are_due,
    a_rate_goes_through_its_stages,
    connections_are_opened_as_a_rate_needs_them,
    arrivals_that_wait_for_a_connection_are_counted,
    requests_that_cannot_be_sent_in_time_are_shed,
    a_rate_that_ends_by_time_waits_for_its_late_responses,
    the_warm_up_of_a_rate_is_separate,
    the_deadline_of_a_rate_does_not_bind_its_responses,
    requests_behind_an_overdue_one_are_overdue_too,
    a_request_that_waits_for_its_connection_times_out,
    busy_waiting_does_not_count_as_work,
    a_burst_is_sent_at_once,
    the_pipeline_is_filled_to_its_depth,
    a_close_in_a_pipeline_loses_no_request,
    a_connection_is_replaced_after_n_requests,
    think_times_lower_the_rate,
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

fn slow_server(delay: Duration) -> ScriptedServer {
    ScriptedServer::start(move |stream, _| {
        thread::sleep(delay);
        let _ = stream.write_all(HELLO);
        After::Keep
    })
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

fn a_rate_goes_through_its_stages(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let stage = |from_per_s, to_per_s, duration_s| Stage {
        from_per_s,
        to_per_s,
        duration_s: Some(duration_s),
    };
    let schedule = Schedule {
        arrivals: Arrivals::Even,
        burst: 1,
        // 20 requests, a pause, and 50.
        stages: vec![
            stage(100.0, 100.0, 0.2),
            stage(0.0, 0.0, 0.2),
            stage(0.0, 500.0, 0.2),
        ],
    };
    let mut plan = plan(event_loop, &server, LoadShape::Rate(schedule), 1);
    plan.requests = None;
    plan.duration = Some(Duration::from_millis(600));
    plan.max_connections = 50;
    let result = load(&plan);
    assert_eq!(result.ended, Ended::Duration);
    let open = result.open.unwrap();
    assert!((70..=71).contains(&open.due), "{}", open.due);
    assert_eq!(open.sent, open.due);
    assert_eq!(result.outcomes[Outcome::Ok], open.due);
    assert_eq!(server.requests(), open.due);
}

fn connections_are_opened_as_a_rate_needs_them(event_loop: EventLoopChoice) {
    // 200 per second that take 50 ms each: 10 at a time.
    let server = slow_server(Duration::from_millis(50));
    let mut plan = plan(event_loop, &server, even(200.0), 60);
    (plan.connections, plan.max_connections) = (1, 200);
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 60);
    let open = result.open.unwrap();
    assert!(open.most_connections >= 8, "{}", open.most_connections);
    assert_eq!(result.connections_opened, server.connections());
    assert!(result.latency_ns.unwrap().min >= 50_000_000);
}

fn arrivals_that_wait_for_a_connection_are_counted(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_millis(50));
    let mut plan = plan(event_loop, &server, even(200.0), 40);
    (plan.connections, plan.max_connections) = (1, 2);
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 40);
    assert_eq!((result.connections_opened, server.connections()), (2, 2));
    let open = result.open.unwrap();
    assert_eq!(open.most_connections, 2);
    assert!((30..40).contains(&open.bound_hits), "{}", open.bound_hits);
    assert_eq!(open.queued, open.bound_hits);
    // 40 requests at 25 ms each take a second, and were due within 200 ms: the last waited for the rest.
    let latency = result.latency_ns.unwrap();
    assert!(latency.max > 700_000_000);
    // The server causes that wait, not the generator.
    let lag = open.schedule_lag_ns.unwrap();
    assert!(lag.p50 < latency.p50, "{lag:?}");
}

fn requests_that_cannot_be_sent_in_time_are_shed(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_millis(50));
    let mut plan = plan(event_loop, &server, even(200.0), 60);
    (plan.connections, plan.max_connections) = (1, 1);
    plan.deadline = Some(Duration::from_millis(150));
    let result = load(&plan);
    let (ok, shed) = (result.outcomes[Outcome::Ok], result.outcomes[Outcome::Shed]);
    let timed_out = result.outcomes[Outcome::TimedOut];
    assert!(ok > 0 && shed > 20, "{:?}", result.outcomes);
    assert_eq!(ok + shed + timed_out, 60);
    let open = result.open.unwrap();
    assert_eq!((open.due, open.due - open.sent), (60, shed));
    assert!(open.rate_ratio < 0.7, "{}", open.rate_ratio);
    assert!(server.requests() <= 60 - shed);
}

fn a_rate_that_ends_by_time_waits_for_its_late_responses(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_millis(200));
    let mut plan = plan(event_loop, &server, even(100.0), 1);
    plan.requests = None;
    plan.duration = Some(Duration::from_millis(300));
    plan.max_connections = 60;
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 30);
    assert_eq!(result.outcomes.total(), 30);
    // The wait is part of the time.
    assert!(result.duration_s >= 0.48, "{}", result.duration_s);
}

fn the_warm_up_of_a_rate_is_separate(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let mut plan = plan(event_loop, &server, even(500.0), 50);
    plan.warmup = Duration::from_millis(200);
    plan.max_connections = 50;
    let result = load(&plan);
    let warmup = result.warmup.unwrap().outcomes.total();
    assert_eq!(result.requests, 50);
    assert!((1..=100).contains(&warmup), "{warmup}");
    assert_eq!(server.requests(), 50 + warmup);
}

fn the_deadline_of_a_rate_does_not_bind_its_responses(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_secs(20));
    let plan = LoadPlan {
        shape: even(100.0),
        deadline: Some(Duration::from_millis(200)),
        timeout: Duration::from_millis(300),
        ..get_from(event_loop, server.address(), 1)
    };
    let result = load(&plan);
    let wrong = result.first_wrong.unwrap();
    assert_eq!(wrong.outcome, "timed_out");
    assert_eq!(wrong.detail, "no whole response within 300ms");
}

fn requests_behind_an_overdue_one_are_overdue_too(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_secs(20));
    let plan = LoadPlan {
        pipeline: 4,
        connections: 1,
        max_connections: 1,
        threads: 1,
        timeout: Duration::from_millis(300),
        ..get_from(event_loop, server.address(), 4)
    };
    let result = load(&plan);
    assert_outcome(&result, Outcome::TimedOut, 4);
    assert_eq!(result.resent, 0);
}

fn a_request_that_waits_for_its_connection_times_out(event_loop: EventLoopChoice) {
    // A queue of one that nobody empties: the kernel does not respond to later connects.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    listener.bind(&any.into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _queued = std::net::TcpStream::connect(address).unwrap();
    let mut plan = LoadPlan {
        shape: even(100.0),
        threads: 1,
        timeout: Duration::from_millis(200),
        ..get_from(event_loop, address, 12)
    };
    (plan.connections, plan.max_connections) = (2, 2);
    let result = load(&plan);
    assert_outcome(&result, Outcome::TimedOut, 12);
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

fn a_burst_is_sent_at_once(event_loop: EventLoopChoice) {
    let server = slow_server(Duration::from_millis(100));
    let mut schedule = Schedule::constant(Arrivals::Even, 50.0);
    schedule.burst = 10;
    let mut plan = plan(event_loop, &server, LoadShape::Rate(schedule), 20);
    (plan.connections, plan.max_connections) = (1, 100);
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 20);
    assert!(result.open.unwrap().most_connections >= 10);
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

fn think_times_lower_the_rate(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let shape = LoadShape::UsersClosed { think_time_s: 0.01 };
    let result = load(&plan(event_loop, &server, shape, 150));
    assert_outcome(&result, Outcome::Ok, 150);
    assert_eq!(server.requests(), 150);
    assert_eq!(result.open, None, "a closed loop");
    // Three users, 50 exponential times each with a mean of 10 ms: half a second.
    assert!(result.duration_s > 0.3, "{}", result.duration_s);
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
