//! A server that goes wrong under load, in a way that only a comparison shows.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prony_load::{EventLoopChoice, Expectation, LoadPlan, SampleChoice, Sampling};
use prony_model::{Checked, Outcome};

use crate::plans::{assert_outcome, get_from, load};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    every_wrong_short_body_is_found,
    long_bodies_are_sampled_and_the_wrong_share_is_estimated,
    every_nth_compares_nothing_else,
    without_an_expected_response_nothing_is_compared,
    pipelined_short_bodies_are_all_compared
);

/// A server whose responses are all as long as `body`. Those whose number, counted over all connections, `is_wrong`
/// differ in the last byte.
fn server(body: &[u8], is_wrong: fn(u64) -> bool) -> ScriptedServer {
    let respond = |body: &[u8]| {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        [head.as_bytes(), body].concat()
    };
    let right = respond(body);
    let wrong = respond(&[&body[..body.len() - 1], b"!"].concat());
    let number = AtomicU64::new(0);
    ScriptedServer::start(move |stream, _| {
        let response = if is_wrong(number.fetch_add(1, SeqCst)) {
            &wrong
        } else {
            &right
        };
        let _ = stream.write_all(response);
        After::Keep
    })
}

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    body: &[u8],
    choice: SampleChoice,
) -> LoadPlan {
    let expected = Expectation {
        body: Some(body.to_vec()),
        ..Expectation::default()
    };
    LoadPlan {
        sampling: Some(Sampling {
            check: Arc::new(expected),
            choice,
        }),
        ..get_from(event_loop, server.address(), 2_000)
    }
}

fn one_in_a_hundred(number: u64) -> bool {
    number % 100 == 99
}

fn after_200(number: u64) -> bool {
    number >= 200
}

const SHORT: &[u8] = b"hello from prony\n";
const LONG: &[u8] = &[b'x'; 4096];

fn every_wrong_short_body_is_found(event_loop: EventLoopChoice) {
    for (is_wrong, wrong) in [
        (one_in_a_hundred as fn(u64) -> bool, 20),
        (after_200, 1_800),
    ] {
        let server = server(SHORT, is_wrong);
        let result = load(&plan(event_loop, &server, SHORT, SampleChoice::AtRandom));
        assert_outcome(&result, Outcome::WrongBody, wrong);
        assert_outcome(&result, Outcome::Ok, 2_000 - wrong);
        assert!(result.checked.unwrap().every_body);
        let detail = result.first_wrong.unwrap().detail;
        assert!(detail.contains(r"at byte 16: `!`"), "{detail}");
    }
}

/// Comparing every 1000th only checks the first of each worker.
fn long_bodies_are_sampled_and_the_wrong_share_is_estimated(event_loop: EventLoopChoice) {
    for is_wrong in [one_in_a_hundred, after_200] {
        let server = server(LONG, is_wrong);
        let plan = plan(event_loop, &server, LONG, SampleChoice::AtRandom);
        let result = load(&plan);
        let checked = result.checked.unwrap();
        let share = checked.wrong as f64 / checked.compared as f64;
        assert_eq!(checked.wrong_share(), Some(share), "{checked:?}");
        assert_outcome(&result, Outcome::WrongBody, checked.wrong);
        assert!(!checked.every_body);
        // How many it compares of a load at which rate is tested with the sampler.
        assert!((1..=2_000).contains(&checked.compared), "{checked:?}");
    }
}

fn every_nth_compares_nothing_else(event_loop: EventLoopChoice) {
    let server = server(SHORT, one_in_a_hundred);
    let hundredth = SampleChoice::EveryNth(NonZeroU64::new(100).unwrap());
    let mut plan = plan(event_loop, &server, SHORT, hundredth);
    (plan.connections, plan.threads) = (1, 1);
    let result = load(&plan);
    assert_eq!(
        result.outcomes[Outcome::Ok],
        2_000,
        "all sampled responses are correct"
    );
    let compared = Checked {
        compared: 20,
        wrong: 0,
        every_body: false,
    };
    assert_eq!(result.checked, Some(compared));
}

fn without_an_expected_response_nothing_is_compared(event_loop: EventLoopChoice) {
    let server = server(SHORT, after_200);
    let mut plan = plan(event_loop, &server, SHORT, SampleChoice::AtRandom);
    plan.sampling = None;
    let result = load(&plan);
    assert_outcome(&result, Outcome::Ok, 2_000);
    assert_eq!(result.checked, None);
}

fn pipelined_short_bodies_are_all_compared(event_loop: EventLoopChoice) {
    let server = server(SHORT, one_in_a_hundred);
    let mut plan = plan(event_loop, &server, SHORT, SampleChoice::AtRandom);
    (plan.connections, plan.threads, plan.pipeline) = (1, 1, 16);
    let result = load(&plan);
    assert_outcome(&result, Outcome::WrongBody, 20);
    assert_outcome(&result, Outcome::Ok, 1_980);
}
