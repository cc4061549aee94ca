//! Flows of a scenario over real connections. What they do by time is tested in `engine/tests/flows.rs`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use prony_load::{Conversation, EventLoopChoice, Keep, LoadPlan, PlanError};
use prony_model::{Flows, LoadResult, LoadShape, Outcome};

use crate::plans::{self, even, get_from};
use crate::scenarios::{Counts, Step, Steps};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_flow_goes_on_over_the_next_connection_if_the_server_closes,
    a_connection_that_is_closed_during_a_pause_is_opened_again,
    a_connection_is_replaced_in_the_middle_of_a_flow,
    a_reset_ends_the_flow_and_the_next_one_begins_with_the_first_entry,
    a_body_that_many_users_cannot_keep_is_refused,
    a_long_body_is_kept_whole_if_there_are_few_users
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

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
