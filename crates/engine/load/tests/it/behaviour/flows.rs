//! Flows of a scenario over real connections. What they do by time is tested in `engine/tests/flows.rs`.

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_load::{Conversation, EncodedTraffic, EventLoopChoice, FlowFault, LoadPlan};
use prony_model::{Flows, LoadResult, Outcome};
use prony_traffic::{HttpVersion, Keep};

use crate::plans::{assert_outcomes, even, get_from, load, over_one_connection, shapes, summary};
use crate::scenarios::{Step, flows_of};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    a_flow_goes_on_over_the_next_connection_if_the_server_closes,
    a_connection_that_is_closed_during_a_pause_is_opened_again,
    a_connection_is_replaced_in_the_middle_of_a_flow,
    a_reset_ends_the_flow_and_the_next_one_begins_with_the_first_entry,
    a_body_that_many_users_cannot_keep_is_refused,
    a_long_body_is_kept_whole_if_there_are_few_users
);

/// Runs a load of `count` flows of these steps, and checks what holds for each.
fn run(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    steps: &[Step],
    count: u64,
    change: impl FnOnce(LoadPlan) -> LoadPlan,
) -> (LoadResult, Flows) {
    let url = format!("http://{}/", server.address());
    let (request, _) = flows_of(&url, steps, HttpVersion::Http1);
    let result = load(&change(
        get_from(event_loop, server.address(), count).with(|plan| plan.request = request),
    ));
    let flows = result.flows.clone().unwrap();
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

/// All flows, of that many entries, succeed.
#[track_caller]
fn assert_ok(flows: &Flows, count: u64, entries: usize) {
    assert_eq!((flows.ok, flows.failed, flows.unfinished), (count, 0, 0));
    let ok = flows
        .entries
        .iter()
        .map(|entry| entry.outcomes[Outcome::Ok]);
    assert_eq!(ok.collect::<Vec<_>>(), vec![count; entries]);
}

fn a_flow_goes_on_over_the_next_connection_if_the_server_closes(event_loop: EventLoopChoice) {
    let announced = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
    for response in [&announced[..], HELLO] {
        let server = ScriptedServer::responding(response, After::Close);
        let (result, flows) = run(event_loop, &server, &[Step::GET; 3], 10, |plan| plan);
        assert_ok(&flows, 10, 3);
        let counted = (result.connections_opened, server.requests());
        assert_eq!(counted, (30, 30));
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
    let (result, flows) = run(event_loop, &server, &[post; 2], 6, |plan| plan);
    let ok_or_reset = [Outcome::Ok, Outcome::Reset].map(|it| result.outcomes[it]);
    assert_eq!(ok_or_reset.iter().sum::<u64>(), result.requests);
    assert_eq!(flows.ok + flows.failed, 6);
}

fn a_connection_is_replaced_in_the_middle_of_a_flow(event_loop: EventLoopChoice) {
    let server = ScriptedServer::hello();
    let (result, flows) = run(event_loop, &server, &[Step::GET; 3], 8, |plan| {
        over_one_connection(plan).with(|plan| plan.load.requests_per_connection = Some(2))
    });
    assert_ok(&flows, 8, 3);
    assert_eq!((result.connections_opened, server.connections()), (12, 12));
}

fn a_reset_ends_the_flow_and_the_next_one_begins_with_the_first_entry(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        if number > 0 {
            return After::Close;
        }
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    let post = Step {
        method: "POST",
        body: 3,
        ..Step::GET
    };
    for shape in shapes(0.001) {
        let (_, flows) = run(
            event_loop,
            &server,
            &[Step::GET, post, Step::GET],
            12,
            |plan| plan.with(|plan| plan.load.shape = shape.clone()),
        );
        let entries = flows.entries.iter().map(|entry| summary(&entry.outcomes));
        assert_eq!(
            entries.collect::<Vec<_>>(),
            ["12 ok", "12 reset", ""],
            "{shape:?}"
        );
        assert_eq!((flows.ok, flows.failed, flows.unfinished), (0, 12, 0));
        assert_eq!(flows.first_failure, None);
    }
}

#[test]
fn a_conversation_goes_through_flows() {
    let server = ScriptedServer::hello();
    let url = format!("http://{}/", server.address());
    let (request, _) = flows_of(&url, &[Step::GET; 3], HttpVersion::Http1);
    let endpoint = server.address().into();
    let sent = EncodedTraffic::of(&request).unwrap();
    let mut conversation = Conversation::new(&endpoint, &sent, None, Duration::from_secs(30));
    let until = Instant::now() + Duration::from_secs(30);
    for flows in 1..=2 {
        let requests = conversation.flow(until, &AtomicBool::new(false));
        assert_eq!(requests.unwrap(), 3);
        assert_eq!(
            (conversation.connections(), server.requests()),
            (1, 3 * flows)
        );
    }
    let stopped = conversation.flow(until, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(FlowFault::Unfinished)), "{stopped:?}");
}

#[test]
fn requests_without_a_scenario_have_no_flow() {
    let server = ScriptedServer::hello();
    let plan = get_from(EventLoopChoice::Epoll, server.address(), 1);
    let sent = EncodedTraffic::of(&plan.request).unwrap();
    let endpoint = server.address().into();
    let mut conversation = Conversation::new(&endpoint, &sent, None, Duration::from_secs(30));
    let until = Instant::now() + Duration::from_secs(30);
    let error = conversation
        .flow(until, &AtomicBool::new(false))
        .unwrap_err();
    assert_eq!(error.to_string(), "only a scenario has flows");
    assert_eq!(server.requests(), 0);
}

fn long_body() -> ScriptedServer {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1200000\r\n\r\n";
    let response = [&head[..], &vec![b'x'; 1_200_000]].concat();
    ScriptedServer::responding(response, After::Keep)
}

fn a_body_that_many_users_cannot_keep_is_refused(event_loop: EventLoopChoice) {
    let server = long_body();
    for (keep, expected) in [
        (Keep::All, "5 wrong_body"),
        (Keep::Head, "5 ok"),
        (Keep::Status, "5 ok"),
    ] {
        let step = Step { keep, ..Step::GET };
        let (result, _) = run(event_loop, &server, &[step], 5, |plan| {
            plan.with(|plan| {
                plan.load.shape = even(1000.0);
                // Together they may keep 1 GiB.
                plan.load.max_connections = Some(900);
            })
        });
        assert_outcomes(&result, expected);
        if let Some(wrong) = result.first_wrong {
            let detail = "the body is longer than the 1193046 bytes that Prony keeps for each of this many users";
            assert_eq!(wrong.detail, detail);
        }
    }
}

fn a_long_body_is_kept_whole_if_there_are_few_users(event_loop: EventLoopChoice) {
    let step = Step {
        keep: Keep::All,
        ..Step::GET
    };
    let (_, flows) = run(event_loop, &long_body(), &[step; 2], 9, |plan| plan);
    assert_ok(&flows, 9, 2);
}
