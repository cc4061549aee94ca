//! A server that goes wrong under load, in a way that only a comparison shows.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use prony_load::{EventLoopChoice, LoadPlan, SampleChoice, Sampling};
use prony_model::{Checked, Outcome, Seconds};
use prony_testkit::contains;
use prony_traffic::Expected;
use prony_traffic::expected::{BodyContent, BodyRules, CountedDraws, LineOf};

use crate::plans::{assert_outcomes, get_from, load, over_one_connection};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    every_wrong_short_body_is_found,
    long_bodies_are_sampled_and_the_wrong_share_is_estimated,
    every_nth_is_compared_and_all_lengths_are,
    even_rare_sampling_covers_the_measured_part,
    without_an_expected_response_nothing_is_compared,
    pipelined_short_bodies_are_all_compared
);

/// A server that responds with `body`, or with `wrong` if the number of the request, counted over all connections, `is_wrong`.
fn server(body: &[u8], wrong: &[u8], is_wrong: fn(u64) -> bool) -> ScriptedServer {
    let responses = [body, wrong].map(|body| {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        [head.as_bytes(), body].concat()
    });
    let number = AtomicU64::new(0);
    ScriptedServer::start(move |stream, _| {
        let is_wrong = is_wrong(number.fetch_add(1, SeqCst));
        let _ = stream.write_all(&responses[usize::from(is_wrong)]);
        After::Keep
    })
}

fn plan(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    body: &[u8],
    choice: SampleChoice,
) -> LoadPlan {
    let check = Arc::new(expected(body));
    sampled(event_loop, server, 2_000, check, choice)
}

fn expected(body: &[u8]) -> Expected {
    let content = Some(BodyContent::Exact(body.to_vec()));
    Expected {
        body: BodyRules {
            content,
            ..BodyRules::default()
        },
        ..Expected::default()
    }
}

fn sampled(
    event_loop: EventLoopChoice,
    server: &ScriptedServer,
    requests: u64,
    check: Arc<Expected>,
    choice: SampleChoice,
) -> LoadPlan {
    get_from(event_loop, server.address(), requests)
        .with(|plan| plan.sampling = Some(Sampling { check, choice }))
}

fn one_in_a_hundred(number: u64) -> bool {
    number % 100 == 99
}

fn after_200(number: u64) -> bool {
    number >= 200
}

const SHORT: &[u8] = b"hello from prony\n";
/// As long as the other one.
const WRONG: &[u8] = b"hello from prony!";
const LONG: &[u8] = &[b'x'; 4096];

fn every_wrong_short_body_is_found(event_loop: EventLoopChoice) {
    for (is_wrong, expected) in [
        (
            one_in_a_hundred as fn(u64) -> bool,
            "1980 ok and 20 wrong_body",
        ),
        (after_200, "200 ok and 1800 wrong_body"),
    ] {
        let server = server(SHORT, WRONG, is_wrong);
        let result = load(&plan(event_loop, &server, SHORT, SampleChoice::AtRandom));
        assert_outcomes(&result, expected);
        assert!(result.checked.unwrap().every_body);
        contains(&result.first_wrong.unwrap().detail, "at byte 16: `!`");
    }
}

/// Comparing every 1000th only checks the first of each worker.
fn long_bodies_are_sampled_and_the_wrong_share_is_estimated(event_loop: EventLoopChoice) {
    for is_wrong in [one_in_a_hundred, after_200] {
        let server = server(LONG, &[b'y'; 4096], is_wrong);
        let result = load(&plan(event_loop, &server, LONG, SampleChoice::AtRandom));
        let checked = result.checked.unwrap();
        let share = checked.wrong as f64 / checked.compared as f64;
        assert_eq!(checked.wrong_share(), Some(share), "{checked:?}");
        assert_eq!(result.outcomes[Outcome::WrongBody], checked.wrong);
        assert!(!checked.every_body);
        // How many it compares of a load at which rate is tested with the sampler.
        assert!((1..=2_000).contains(&checked.compared), "{checked:?}");
    }
}

/// Every body must be [`SHORT`]; counts the right ones that were compared.
fn counting() -> (Arc<Expected>, CountedDraws) {
    let draws = CountedDraws::of(&LineOf::new("short", SHORT).unwrap());
    let expected = Expected {
        draws: Some(draws.clone()),
        ..expected(SHORT)
    };
    (Arc::new(expected), draws)
}

fn every_nth_is_compared_and_all_lengths_are(event_loop: EventLoopChoice) {
    for (every, second, expected, compared, wrong) in [
        (1, WRONG, "20 ok and 20 wrong_body", 40, 20),
        // Only correct responses are compared.
        (4, WRONG, "40 ok", 10, 0),
        (4, b"hello".as_slice(), "20 ok and 20 wrong_body", 10, 0),
    ] {
        // Every second response is wrong.
        let server = server(SHORT, second, |number| number % 2 == 1);
        let choice = SampleChoice::EveryNth(NonZeroU64::new(every).unwrap());
        let (check, right) = counting();
        let plan = sampled(event_loop, &server, 40, check, choice);
        let result = load(&over_one_connection(plan));
        assert_outcomes(&result, expected);
        let checked = Checked {
            compared,
            wrong,
            every_body: false,
        };
        assert_eq!(result.checked, Some(checked), "every {every}");
        assert_eq!(right.counts(), [compared - wrong], "every {every}");
        if wrong > 0 {
            let detail = result.first_wrong.unwrap().detail;
            contains(&detail, "at byte 16: `!`");
        }
    }
}

fn even_rare_sampling_covers_the_measured_part(event_loop: EventLoopChoice) {
    let (check, right) = counting();
    let choice = SampleChoice::EveryNth(NonZeroU64::MAX);
    let server = server(SHORT, WRONG, |_| false);
    let result = load(&over_one_connection(
        sampled(event_loop, &server, 5, check, choice)
            .with(|plan| plan.load.warmup = Seconds::from_millis(300)),
    ));
    assert_outcomes(&result, "5 ok");
    assert_eq!(right.counts(), [2]);
}

fn without_an_expected_response_nothing_is_compared(event_loop: EventLoopChoice) {
    let server = server(SHORT, WRONG, after_200);
    let result = load(&get_from(event_loop, server.address(), 2_000));
    assert_outcomes(&result, "2000 ok");
    assert_eq!(result.checked, None);
}

fn pipelined_short_bodies_are_all_compared(event_loop: EventLoopChoice) {
    let server = server(SHORT, WRONG, one_in_a_hundred);
    let plan = plan(event_loop, &server, SHORT, SampleChoice::AtRandom);
    let result = load(&over_one_connection(plan).with(|plan| plan.load.pipeline = 16));
    assert_outcomes(&result, "1980 ok and 20 wrong_body");
}
