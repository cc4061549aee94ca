//! Warm-ups of made-up servers in made-up time.

use prony_model::{Outcomes, Seconds, WarmupResult};

use super::*;
use crate::run::testing::{VirtualServer, measurement};

fn load(ok: u64, wrong: u64, stuck: u64) -> LoadResult {
    let mut outcomes = Outcomes::default();
    (outcomes[Outcome::Ok], outcomes[Outcome::WrongBody]) = (ok, wrong);
    let warmup = Some(WarmupResult {
        duration_s: 1.0,
        outcomes,
        failed_without_request: stuck,
    });
    LoadResult {
        warmup,
        ..measurement(1.0).load
    }
}

#[test]
fn only_wrong_responses_and_stuck_flows_of_the_search_are_added_to_the_warm_up() {
    let searched = WarmedUp {
        searched_s: 1.0,
        time_to_warm_s: None,
        still_improving: false,
        load: load(1000, 3, 5),
    };
    let mut measured = measurement(1.0);
    measured.load = load(20, 1, 2);
    searched.add_wrong_to(&mut measured.load);
    assert_eq!((measured.wrong(), measured.responses()), (11, 20));
}

/// A search of up to 20 s.
fn searched(server: &VirtualServer<'_>) -> WarmedUp {
    let limit = Duration::from_secs(20);
    server.search(limit, &AtomicBool::new(false)).unwrap()
}

/// How long it took, after how long the server was warm, and whether it still improved.
fn found(one: &WarmedUp) -> (f64, Option<f64>, bool) {
    let hundredths = |s: f64| (s * 100.0).round() / 100.0;
    (
        hundredths(one.searched_s),
        one.time_to_warm_s.map(hundredths),
        one.still_improving,
    )
}

#[test]
fn a_search_ends_when_the_server_is_steady_or_at_its_limit() {
    let warm: &dyn Fn(f64) -> f64 = &|_| 1000.0;
    // Twice as fast after 3 s, and faster by the same amount every tenth of a second until then.
    let warms: &dyn Fn(f64) -> f64 = &|age_s| 500.0 + 500.0 * (age_s / 3.0).min(1.0);
    // A plateau of a second between two optimisations ends no search.
    let in_steps: &dyn Fn(f64) -> f64 = &|age_s| match age_s {
        ..1.0 => 200.0,
        1.0..2.0 => 500.0,
        _ => 1000.0,
    };
    let never: &dyn Fn(f64) -> f64 = &|age_s| 10_000.0 * 1.2_f64.powf(age_s);
    for (name, rate, expected) in [
        ("warm from the start", warm, (2.3, Some(0.0), false)),
        ("gets faster for 3 s", warms, (5.0, Some(1.9), false)),
        ("gets faster in steps", in_steps, (4.4, Some(1.9), false)),
        ("never stops getting faster", never, (20.0, None, true)),
        ("never responds", &|_| 0.0, (2.3, None, false)),
    ] {
        let server = VirtualServer::new(rate);
        assert_eq!(found(&searched(&server)), expected, "{name}");
    }
}

#[test]
fn the_cost_of_a_response_decides_a_search_of_a_schedule_and_little_cost_lengthens_one() {
    let closed = LoadShape::Closed;
    let open = LoadShape::UsersOpen {
        think_time: Seconds::from_secs(1),
    };
    let falls: &dyn Fn(f64) -> f64 = &|age_s| 0.0004 - 0.0001 * age_s.min(3.0);
    // A tenth of a CPU: a second of CPU time takes 10 s, and the search waits for 8.
    let little: &dyn Fn(f64) -> f64 = &|_| 0.0001;
    for (shape, cost, expected) in [
        (open, falls, (6.5, Some(2.5), false)),
        (closed, little, (9.0, Some(0.0), false)),
    ] {
        // The rate is the same from the start.
        let mut server = VirtualServer::new(&|_| 1000.0);
        (server.shape, server.cpu_per_ok_s) = (shape, Some(cost));
        assert_eq!(found(&searched(&server)), expected);
    }
}

#[test]
fn a_search_ends_at_an_interrupt_and_with_the_server() {
    let server = VirtualServer::new(&|_| 1000.0);
    let interrupt = AtomicBool::new(true);
    let stopped = server.search(Duration::from_secs(20), &interrupt).unwrap();
    assert_eq!(stopped.searched_s, 0.1);
    let mut server = VirtualServer::new(&|_| 1000.0);
    server.ends_at_s = 1.25;
    let ended = searched(&server);
    let ok = ended.load.warmup.unwrap().outcomes[Outcome::Ok];
    assert_eq!((ended.searched_s, ok), (1.3, 1200));
}

#[test]
fn the_time_so_far_is_observed() {
    let server = VirtualServer::new(&|_| 1000.0);
    searched(&server);
    let expected = (1..=23).map(|tenth| Duration::from_millis(100 * tenth));
    assert_eq!(server.observed.take(), expected.collect::<Vec<_>>());
}
