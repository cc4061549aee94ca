//! Flows of a scenario: how they end, and what counts how often.

use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prony_load::{Conversation, EventLoopChoice, Keep, LoadPlan, PlanError};
use prony_model::{Ended, Flows, LoadResult, LoadShape, Outcome};

use crate::plans::{self, even, get_from};
use crate::scenarios::{Counts, Step, Steps};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_flow_goes_on_over_the_next_connection_if_the_server_closes,
    a_connection_that_is_closed_during_a_pause_is_opened_again,
    a_connection_is_replaced_in_the_middle_of_a_flow,
    a_reset_ends_the_flow_and_the_next_one_begins_with_the_first_entry,
    a_wrong_status_ends_the_flow_there,
    a_flow_that_cannot_go_on_fails_without_a_request,
    a_flow_that_cannot_go_on_in_the_warm_up_is_counted_there,
    a_flow_that_fails_without_a_request_is_an_error_of_its_interval,
    flows_that_send_nothing_count_and_end_the_load,
    flows_that_send_nothing_do_not_occupy_the_cpu,
    pauses_belong_to_the_flow_and_not_to_its_requests,
    nobody_thinks_before_a_redirect,
    a_load_that_ends_by_time_does_not_wait_for_long_pauses,
    a_number_of_requests_is_a_number_of_flows,
    the_flows_of_a_warm_up_do_not_count,
    a_flow_in_a_pause_when_the_warm_up_ends_is_measured,
    flows_that_cannot_begin_in_time_are_shed,
    an_entry_has_a_timeout_of_its_own,
    an_entry_has_no_more_time_than_every_response,
    the_deadline_of_users_binds_the_first_response_of_a_flow_alone,
    a_body_that_many_users_cannot_keep_is_refused,
    a_long_body_is_kept_whole_if_there_are_few_users
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
const HOUR: Duration = Duration::from_secs(3600);

/// A load of `flows` flows of these steps.
fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    steps: &[Step],
    flows: u64,
) -> (LoadPlan, Arc<Counts>) {
    let url = format!("http://{}/", server.address());
    let (request, counts) = Steps::of(&url, steps).request();
    let plan = LoadPlan {
        request,
        ..get_from(event_loop, server.address(), flows)
    };
    (plan, counts)
}

/// Runs a load, and checks what holds for each.
fn load(plan: &LoadPlan) -> (LoadResult, Flows) {
    let result = plans::load(plan);
    let flows = result.flows.clone().unwrap();
    assert_eq!(result.requests, result.outcomes.total());
    for (outcome, count) in result.outcomes.iter() {
        let of_entries = flows.entries.iter().map(|entry| entry.outcomes[outcome]);
        assert_eq!(of_entries.sum::<u64>(), count, "{}", outcome.name());
    }
    for entry in &flows.entries {
        assert_eq!(entry.requests, entry.outcomes.total(), "{}", entry.name);
    }
    assert_eq!(flows.duration_ns.is_some(), flows.ok > 0);
    (result, flows)
}

fn counts(flows: &Flows) -> (u64, u64, u64) {
    (flows.ok, flows.failed, flows.unfinished)
}

/// How often each entry had that outcome.
fn of(flows: &Flows, outcome: Outcome) -> Vec<u64> {
    let entries = flows.entries.iter();
    entries.map(|entry| entry.outcomes[outcome]).collect()
}

/// Every shape, as fast as it gets.
fn shapes() -> [LoadShape; 4] {
    let think_time_s = 0.001;
    [
        LoadShape::Closed,
        even(3000.0),
        LoadShape::UsersClosed { think_time_s },
        LoadShape::UsersOpen { think_time_s },
    ]
}

fn a_flow_goes_on_over_the_next_connection_if_the_server_closes(event_loop: EventLoopChoice) {
    for response in [LAST, HELLO] {
        let server = ScriptedServer::responding(response, After::Close);
        let (plan, _) = plan(event_loop, &server, &[Step::GET; 3], 10);
        let (result, flows) = load(&plan);
        assert_eq!(counts(&flows), (10, 0, 0), "{:?}", result.first_wrong);
        assert_eq!(of(&flows, Outcome::Ok), [10, 10, 10]);
        assert_eq!(result.connections_opened, 30);
        assert_eq!(server.requests(), 30);
    }
}

fn a_connection_that_is_closed_during_a_pause_is_opened_again(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let post = Step {
        method: "POST",
        pause: Duration::from_millis(30),
        ..Step::GET
    };
    // Users of a closed loop pause before their first request, too.
    let (plan, _) = plan(event_loop, &server, &[post; 2], 6);
    let (result, flows) = load(&plan);
    assert_eq!(
        result.outcomes[Outcome::Ok] + result.outcomes[Outcome::Reset],
        result.requests
    );
    assert_eq!(flows.ok + flows.failed, 6);
}

fn a_connection_is_replaced_in_the_middle_of_a_flow(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let (mut plan, _) = plan(event_loop, &server, &[Step::GET; 3], 8);
    (plan.connections, plan.max_connections, plan.threads) = (1, 1, 1);
    plan.requests_per_connection = std::num::NonZeroU64::new(2);
    let (result, flows) = load(&plan);
    assert_eq!(counts(&flows), (8, 0, 0));
    assert_eq!((result.connections_opened, server.connections()), (12, 12));
}

fn a_reset_ends_the_flow_and_the_next_one_begins_with_the_first_entry(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| match number {
        0 => {
            let _ = stream.write_all(HELLO);
            After::Keep
        }
        _ => After::Close,
    });
    let post = Step {
        method: "POST",
        body: 3,
        ..Step::GET
    };
    for shape in shapes() {
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET, post, Step::GET], 12);
        plan.shape = shape;
        let (_, flows) = load(&plan);
        assert_eq!(counts(&flows), (0, 12, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [12, 0, 0]);
        assert_eq!(of(&flows, Outcome::Reset), [0, 12, 0]);
        assert_eq!(flows.first_failure, None);
    }
}

fn a_wrong_status_ends_the_flow_there(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        let is_second = number % 2 == 1;
        let _ = stream.write_all(if is_second { NOT_FOUND } else { HELLO });
        After::Keep
    });
    for shape in shapes() {
        let before = server.requests();
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET; 3], 20);
        plan.shape = shape;
        let (result, flows) = load(&plan);
        assert_eq!(counts(&flows), (0, 20, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [20, 0, 0]);
        assert_eq!(of(&flows, Outcome::WrongStatus), [0, 20, 0]);
        assert_eq!(server.requests() - before, 40);
        assert_eq!(result.statuses[&404], 20);
        let wrong = flows.entries[1].first_wrong.as_ref().unwrap();
        assert_eq!(
            (&*wrong.outcome, &*wrong.detail),
            ("wrong_status", "the status 404")
        );
        assert_eq!(flows.failed_without_request, 0);
        assert_eq!(flows.duration_ns, None);
    }
}

fn a_flow_that_cannot_go_on_fails_without_a_request(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for shape in shapes() {
        let (mut plan, counted) = plan(event_loop, &server, &[Step::GET, Step::FAIL], 15);
        plan.shape = shape;
        let (result, flows) = load(&plan);
        assert_eq!(counts(&flows), (0, 15, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [15, 0]);
        assert_eq!(flows.first_failure.as_deref(), Some("it cannot go on"));
        assert_eq!(result.first_wrong, None);
        assert_eq!(flows.failed_without_request, 15);
        assert_eq!(counted.begun(), 15);
    }
}

fn a_flow_that_cannot_go_on_in_the_warm_up_is_counted_there(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for shape in shapes() {
        let (mut plan, counted) = plan(event_loop, &server, &[Step::GET, Step::FAIL], 15);
        (plan.shape, plan.warmup) = (shape, Duration::from_millis(200));
        let (result, flows) = load(&plan);
        let before = result.warmup.unwrap().failed_without_request;
        assert!(before > 0, "{:?}", plan.shape);
        assert_eq!(flows.failed, flows.failed_without_request);
        assert_eq!(before + flows.failed, counted.begun(), "{:?}", plan.shape);
    }
}

#[test]
fn a_conversation_refuses_flows() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let (plan, _) = plan(event_loop, &server, &[Step::GET; 3], 1);
    let (endpoint, request) = (&plan.endpoint, &plan.request);
    let mut conversation = Conversation::of(endpoint, request, None, Duration::from_secs(30));
    let error = conversation.request().unwrap_err();
    assert_eq!(error.to_string(), "a flow of several requests needs a load");
    assert_eq!((conversation.connections(), server.requests()), (0, 0));
}

fn a_flow_that_fails_without_a_request_is_an_error_of_its_interval(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let (mut plan, _) = plan(event_loop, &server, &[Step::GET, Step::FAIL], 1);
    (plan.requests, plan.duration) = (None, Some(Duration::from_millis(200)));
    let (result, flows) = load(&plan);
    let timeline = result.timeline.unwrap();
    let errors: u64 = timeline.errors.iter().sum();
    // The last interval is not complete.
    assert!(0 < errors && errors <= flows.failed, "{errors}: {flows:?}");
}

fn flows_that_send_nothing_count_and_end_the_load(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for (step, expected) in [(Step::FAIL, (0, 15, 0)), (Step::END, (15, 0, 0))] {
        for shape in shapes() {
            let (mut plan, counted) = plan(event_loop, &server, &[step], 15);
            plan.shape = shape;
            let (result, flows) = load(&plan);
            assert_eq!(counts(&flows), expected, "{:?}", plan.shape);
            assert_eq!((result.requests, counted.begun()), (0, 15));
            assert_eq!(result.ended, Ended::Requests);
        }
    }
    assert_eq!(server.requests(), 0);
}

fn flows_that_send_nothing_do_not_occupy_the_cpu(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for shape in [
        LoadShape::Closed,
        even(1e6),
        LoadShape::UsersOpen { think_time_s: 1e-6 },
    ] {
        let (mut plan, counted) = plan(event_loop, &server, &[Step::FAIL], 1);
        (plan.requests, plan.duration) = (None, Some(Duration::from_millis(200)));
        plan.shape = shape;
        plan.timeout = Duration::from_millis(100);
        let began = Instant::now();
        load(&plan);
        // Each of three users begins one every 10 ms.
        let most = 3 * (began.elapsed().as_millis() / 10 + 1);
        assert!(
            u128::from(counted.begun()) <= most,
            "{:?}: {}",
            plan.shape,
            counted.begun()
        );
    }
}

fn pauses_belong_to_the_flow_and_not_to_its_requests(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let pause = Duration::from_millis(20);
    let step = Step { pause, ..Step::GET };
    for shape in shapes() {
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET, step, step], 12);
        plan.shape = shape;
        let (result, flows) = load(&plan);
        assert_eq!(counts(&flows), (12, 0, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [12, 12, 12]);
        let flow = flows.duration_ns.unwrap();
        assert!(flow.min >= 40_000_000);
        // Three users have four flows each.
        assert!(result.duration_s >= 0.16, "{}", result.duration_s);
        let latency = result.latency_ns.unwrap().mean;
        assert!(
            3.0 * latency + 40e6 <= 1.01 * flow.mean,
            "{latency} of {flow:?}"
        );
    }
}

fn nobody_thinks_before_a_redirect(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let redirected = Step {
        is_redirected: true,
        ..Step::GET
    };
    for shape in [LoadShape::Closed, even(3000.0)] {
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET, redirected, redirected], 5);
        plan.shape = shape;
        plan.flow_think_time = Some(HOUR);
        let (_, flows) = load(&plan);
        assert_eq!(counts(&flows), (5, 0, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [5, 5, 5]);
    }
}

fn a_load_that_ends_by_time_does_not_wait_for_long_pauses(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let step = Step {
        pause: HOUR,
        ..Step::GET
    };
    for shape in shapes() {
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET, step], 1);
        (plan.requests, plan.duration) = (None, Some(Duration::from_millis(100)));
        plan.timeout = Duration::from_secs(1);
        plan.shape = shape;
        let (result, flows) = load(&plan);
        assert_eq!(result.ended, Ended::Duration);
        assert_eq!(flows.ok + flows.failed, 0, "{:?}", plan.shape);
        let ok = of(&flows, Outcome::Ok);
        assert!(ok[0] <= 3 && ok[1] == 0, "{:?}: {ok:?}", plan.shape);
        assert!(flows.unfinished >= ok[0], "{:?}", plan.shape);
    }
}

fn a_number_of_requests_is_a_number_of_flows(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for shape in shapes() {
        for requests in [1, 2, 7, 100] {
            let before = server.requests();
            let (mut plan, counted) = plan(event_loop, &server, &[Step::GET; 3], requests);
            plan.shape = shape.clone();
            let (result, flows) = load(&plan);
            assert_eq!(counts(&flows), (requests, 0, 0), "{shape:?}");
            assert_eq!(result.requests, 3 * requests);
            assert_eq!(server.requests() - before, 3 * requests);
            assert_eq!(counted.begun(), requests);
            assert_eq!(result.ended, Ended::Requests);
        }
    }
}

fn the_flows_of_a_warm_up_do_not_count(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    for shape in shapes() {
        let before = server.requests();
        let (mut plan, counted) = plan(event_loop, &server, &[Step::GET; 3], 40);
        plan.shape = shape;
        plan.warmup = Duration::from_millis(200);
        let (result, flows) = load(&plan);
        assert_eq!(counts(&flows), (40, 0, 0), "{:?}", plan.shape);
        let warmup = result.warmup.unwrap().outcomes.total();
        assert_eq!(result.requests + warmup, server.requests() - before);
        assert_eq!((result.requests + warmup) % 3, 0, "whole flows");
        assert_eq!(counted.begun(), (result.requests + warmup) / 3);
        // A flow that began in the warm-up and ended after it counts, with the requests that ended after it.
        assert!(result.requests <= 120 && result.requests + 2 * 3 >= 120);
    }
}

fn a_flow_in_a_pause_when_the_warm_up_ends_is_measured(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let step = Step {
        pause: Duration::from_millis(200),
        ..Step::GET
    };
    let (mut plan, counted) = plan(event_loop, &server, &[Step::GET, step], 3);
    plan.warmup = Duration::from_millis(50);
    let (result, flows) = load(&plan);
    assert_eq!(counts(&flows), (3, 0, 0));
    let warmup = result.warmup.unwrap().outcomes.total();
    assert_eq!(counted.begun(), (result.requests + warmup) / 2);
}

fn flows_that_cannot_begin_in_time_are_shed(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, _| {
        thread::sleep(Duration::from_millis(25));
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    let (mut plan, counted) = plan(event_loop, &server, &[Step::GET; 2], 60);
    plan.shape = even(200.0);
    (plan.connections, plan.max_connections, plan.threads) = (1, 1, 1);
    plan.deadline = Some(Duration::from_millis(150));
    let (result, flows) = load(&plan);
    let shed = result.outcomes[Outcome::Shed];
    assert!(shed > 20 && flows.ok > 0, "{:?}", result.outcomes);
    assert_eq!(of(&flows, Outcome::Shed), [shed, 0]);
    assert_eq!(
        counts(&flows),
        (60 - shed, shed, 0),
        "{:?}",
        result.first_wrong
    );
    let open = result.open.unwrap();
    assert_eq!((open.due, open.sent), (60, 60 - shed));
    assert_eq!(counted.begun(), 60 - shed);
    assert_eq!(server.requests(), 2 * (60 - shed));
}

/// Gives the first request of each connection a response. The next one gets none for far longer than it may take.
fn silent_after_the_first() -> ScriptedServer {
    ScriptedServer::start(|stream, number| {
        if number > 0 {
            thread::sleep(Duration::from_secs(20));
            return After::Close;
        }
        let _ = stream.write_all(HELLO);
        After::Keep
    })
}

fn an_entry_has_a_timeout_of_its_own(event_loop: EventLoopChoice) {
    let server = silent_after_the_first();
    let impatient = Step {
        timeout: Some(Duration::from_millis(50)),
        ..Step::GET
    };
    for shape in shapes() {
        let (mut plan, _) = plan(event_loop, &server, &[Step::GET, impatient, Step::GET], 6);
        plan.shape = shape;
        plan.timeout = HOUR;
        let (_, flows) = load(&plan);
        assert_eq!(counts(&flows), (0, 6, 0), "{:?}", plan.shape);
        assert_eq!(of(&flows, Outcome::Ok), [6, 0, 0]);
        assert_eq!(of(&flows, Outcome::TimedOut), [0, 6, 0]);
        let wrong = flows.entries[1].first_wrong.as_ref().unwrap();
        assert_eq!(wrong.detail, "no whole response within 50ms");
    }
}

fn an_entry_has_no_more_time_than_every_response(event_loop: EventLoopChoice) {
    let server = silent_after_the_first();
    let patient = Step {
        timeout: Some(HOUR),
        ..Step::GET
    };
    let (mut plan, _) = plan(event_loop, &server, &[Step::GET, patient], 3);
    plan.timeout = Duration::from_secs(1);
    let (_, flows) = load(&plan);
    assert_eq!(of(&flows, Outcome::TimedOut), [0, 3]);
    let wrong = flows.entries[1].first_wrong.as_ref().unwrap();
    assert_eq!(wrong.detail, "no whole response within 1s");
}

fn the_deadline_of_users_binds_the_first_response_of_a_flow_alone(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        if number == 1 {
            thread::sleep(Duration::from_millis(600));
        }
        let _ = stream.write_all(HELLO);
        match number {
            0 => After::Keep,
            _ => After::Close,
        }
    });
    let (mut plan, _) = plan(event_loop, &server, &[Step::GET; 2], 3);
    plan.shape = LoadShape::UsersOpen { think_time_s: 1.0 };
    plan.deadline = Some(Duration::from_millis(400));
    let (result, flows) = load(&plan);
    assert_eq!(flows.ok + flows.failed, 3, "{:?}", result.first_wrong);
    assert_eq!(flows.entries[1].outcomes[Outcome::TimedOut], 0);
}

fn long_body() -> Vec<u8> {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1200000\r\n\r\n";
    [&head[..], &vec![b'x'; 1_200_000]].concat()
}

fn a_body_that_many_users_cannot_keep_is_refused(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(long_body(), After::Keep);
    for (keep, expected) in [
        (Keep::All, Outcome::WrongBody),
        (Keep::Head, Outcome::Ok),
        (Keep::Status, Outcome::Ok),
    ] {
        let step = Step { keep, ..Step::GET };
        let (mut plan, _) = plan(event_loop, &server, &[step], 5);
        plan.shape = even(1000.0);
        // Together they may keep 1 GiB.
        plan.max_connections = 900;
        let (result, flows) = load(&plan);
        assert_eq!(of(&flows, expected), [5], "{:?}", result.first_wrong);
        if let Some(wrong) = result.first_wrong {
            let told = "the body is longer than the 1193046 bytes that Prony keeps for each of this many users";
            assert_eq!(wrong.detail, told);
        }
    }
}

fn a_long_body_is_kept_whole_if_there_are_few_users(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(long_body(), After::Keep);
    let step = Step {
        keep: Keep::All,
        ..Step::GET
    };
    let (plan, _) = plan(event_loop, &server, &[step; 2], 9);
    let (result, flows) = load(&plan);
    assert_eq!(counts(&flows), (9, 0, 0), "{:?}", result.first_wrong);
}

#[test]
fn what_a_scenario_cannot_be_combined_with_is_refused() {
    let event_loop = EventLoopChoice::Auto;
    let server = ScriptedServer::responding(HELLO, After::Keep);
    let (good, _) = plan(event_loop, &server, &[Step::GET], 1);
    for (change, one) in [
        (
            (|plan| plan.pipeline = 2) as fn(&mut LoadPlan),
            "pipelining",
        ),
        (|plan| plan.streams = 1, "held streams"),
        (|plan| plan.events = true, "event streams"),
    ] {
        let mut plan = good.clone();
        change(&mut plan);
        let other = "a scenario";
        assert_eq!(
            plan.validate(),
            Err(PlanError::Contradiction { one, other })
        );
    }
}
