//! Flows of a scenario: what their users decide by time.

use prony_model::{Ended, Flows, Seconds};
use prony_testkit::{contains, starts_with};
use prony_traffic::HttpVersion;

use super::scenarios::{Counts, Step};
use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// A load of flows of these steps, over three connections.
fn flows_of(steps: &[Step], shape: LoadShape, duration: Duration) -> (LoadPlan, Counts) {
    let http = HttpVersion::Http1;
    let (request, counts) = super::scenarios::flows_of("http://127.0.0.1/", steps, http);
    let plan = plan(shape, 3, duration).with(|plan| plan.request = request);
    (plan, counts)
}

fn of_number(steps: &[Step], shape: LoadShape, flows: u64) -> (LoadPlan, Counts) {
    let (mut plan, counts) = flows_of(steps, shape, HOUR);
    plan.load.requests = Some(flows);
    (plan, counts)
}

fn flows(result: &LoadResult) -> &Flows {
    let flows = result.flows.as_ref().unwrap();
    for (outcome, count) in result.outcomes.iter() {
        let of_entries = flows.entries.iter().map(|entry| entry.outcomes[outcome]);
        assert_eq!(of_entries.sum::<u64>(), count, "{}", outcome.name());
    }
    flows
}

/// How many flows were ok, failed and are unfinished.
fn counts(result: &LoadResult) -> (u64, u64, u64) {
    let flows = flows(result);
    (flows.ok, flows.failed, flows.unfinished)
}

/// How often each entry had that outcome.
fn of(result: &LoadResult, outcome: Outcome) -> Vec<u64> {
    let entries = flows(result).entries.iter();
    entries.map(|entry| entry.outcomes[outcome]).collect()
}

fn is_of_entry(entry: usize, arrival: &Arrival<'_>) -> bool {
    arrival.head.starts_with(&format!("GET /flow/{entry}?"))
}

/// Every shape, fast.
fn shapes() -> [LoadShape; 4] {
    every_shape(3000.0, Seconds::from_millis(1))
}

#[test]
fn pauses_belong_to_the_flow_and_not_to_its_requests() {
    let step = Step {
        pause: ms(20),
        ..Step::GET
    };
    for shape in shapes() {
        let (plan, _) = of_number(&[Step::GET, step, step], shape, 12);
        let result = load(&plan, 1);
        assert_eq!(counts(&result), (12, 0, 0), "{:?}", plan.load.shape);
        assert_eq!(of(&result, Outcome::Ok), [12; 3]);
        let flow = flows(&result).duration_ns.as_ref().unwrap();
        // Three requests and two pauses; with a schedule, the wait for a connection before them.
        assert_eq!(flow.min / MS, 42, "{:?}", plan.load.shape);
        if plan.load.shape == LoadShape::Closed {
            assert_latencies(&result, 1, 1);
            assert_eq!(result.duration_s, 4.0 * 0.043);
        }
    }
}

#[test]
fn nobody_thinks_before_the_first_request_or_a_redirect() {
    let step = Step {
        follows_redirects: true,
        ..Step::GET
    };
    for shape in [LoadShape::Closed, even(3000.0)] {
        let (mut plan, _) = of_number(&[step], shape, 5);
        plan.flow_think_time = Some(HOUR);
        let server = SimulatedServer::new(Box::new(|it| {
            let bytes: &[u8] = if is_of_entry(0, it) {
                b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
            } else {
                OK
            };
            vec![ResponsePart { after: MS, bytes }]
        }));
        let result = run(&plan, server);
        assert_eq!(counts(&result), (5, 0, 0), "{:?}", plan.load.shape);
        assert_eq!(of(&result, Outcome::Ok), [10]);
        assert!(result.duration_s < 1.0);
    }
}

#[test]
fn a_load_that_ends_by_time_does_not_wait_for_long_pauses() {
    let step = Step {
        pause: HOUR,
        ..Step::GET
    };
    for shape in shapes() {
        let (mut plan, _) = flows_of(&[Step::GET, step], shape, ms(100));
        plan.load.timeout = Seconds(ms(1000));
        let result = load(&plan, 1);
        assert_eq!(result.ended, Ended::Duration);
        assert_eq!(of(&result, Outcome::Ok), [3, 0], "{:?}", plan.load.shape);
        let (ok, failed, unfinished) = counts(&result);
        assert!(ok + failed == 0 && unfinished >= 3, "{:?}", plan.load.shape);
        // An open loop waits as long as a response may take.
        let longest = if plan.load.shape.is_open() { 1.1 } else { 0.1 };
        let late = result.duration_s - longest;
        assert!((0.0..0.01).contains(&late), "{:?}: {late}", plan.load.shape);
    }
}

#[test]
fn the_flows_of_a_warm_up_do_not_count() {
    for shape in shapes() {
        let (mut plan, counted) = of_number(&[Step::GET; 3], shape, 40);
        plan.load.warmup = Seconds(ms(200));
        let result = load(&plan, 1);
        assert_eq!(counts(&result), (40, 0, 0), "{:?}", plan.load.shape);
        let warmup = result.warmup.as_ref().unwrap().outcomes.total();
        assert_eq!(counted.begun(), (result.requests + warmup) / 3);
        assert_eq!((result.requests + warmup) % 3, 0, "whole flows");
        // A flow that began in the warm-up and ended after it counts, with the requests that ended after it.
        assert!(result.requests <= 120 && result.requests + 2 * 3 >= 120);
    }
}

#[test]
fn a_flow_in_a_pause_when_the_warm_up_ends_is_measured() {
    let step = Step {
        pause: ms(200),
        ..Step::GET
    };
    let (mut plan, counted) = of_number(&[Step::GET, step], LoadShape::Closed, 3);
    plan.load.warmup = Seconds(ms(50));
    let result = load(&plan, 1);
    assert_eq!(counts(&result), (3, 0, 0));
    assert_eq!(
        of(&result, Outcome::Ok),
        [0, 3],
        "the first ones belong to the warm-up"
    );
    assert_eq!(result.warmup.unwrap().outcomes.total(), 3);
    assert_eq!((counted.begun(), result.duration_s), (3, 0.152));
}

#[test]
fn flows_that_cannot_begin_in_time_are_shed() {
    let (mut plan, counted) = flows_of(&[Step::GET; 2], even(200.0), ms(300));
    (plan.load.connections, plan.load.max_connections) = (1, Some(1));
    plan.load.deadline = Some(Seconds(ms(150)));
    let result = load(&plan, 25);
    // One every 50 ms, until the oldest that waits is 150 ms late.
    assert_eq!(counts(&result), (9, 51, 0));
    assert_eq!(of(&result, Outcome::Ok), [9, 9]);
    assert_eq!(of(&result, Outcome::Shed), [51, 0]);
    assert_eq!((open(&result).due, open(&result).sent), (60, 9));
    assert_eq!(counted.begun(), 9);
}

#[test]
fn a_response_has_the_time_of_its_entry_and_no_more_than_every_response() {
    for (of_entry, of_all, expected) in [(ms(50), HOUR, "50ms"), (HOUR, ms(1000), "1s")] {
        for shape in shapes() {
            let step = Step {
                timeout: Some(of_entry),
                ..Step::GET
            };
            let (mut plan, _) = of_number(&[Step::GET, step, Step::GET], shape, 6);
            plan.load.timeout = Seconds(of_all);
            let result = run(&plan, responding(|it| (!is_of_entry(1, it)).then_some(1)));
            assert_eq!(counts(&result), (0, 6, 0), "{:?}", plan.load.shape);
            assert_eq!(of(&result, Outcome::Ok), [6, 0, 0]);
            assert_eq!(of(&result, Outcome::TimedOut), [0, 6, 0]);
            let wrong = flows(&result).entries[1].first_wrong.as_ref().unwrap();
            assert_eq!(wrong.detail, format!("no whole response within {expected}"));
        }
    }
}

#[test]
fn the_deadline_of_users_binds_the_first_response_of_a_flow_alone() {
    for (slow_entry, expected) in [(1, (3, 0, 0)), (0, (0, 3, 0))] {
        let shape = LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        };
        let (mut plan, _) = of_number(&[Step::GET; 2], shape, 3);
        plan.load.deadline = Some(Seconds(ms(400)));
        let slow = responding(move |it| Some(if is_of_entry(slow_entry, it) { 600 } else { 1 }));
        let result = run(&plan, slow);
        assert_eq!(counts(&result), expected, "entry {slow_entry} is slow");
    }
}

#[test]
fn a_number_of_requests_is_a_number_of_flows() {
    for shape in shapes() {
        for flows in [1, 2, 7, 100] {
            let (plan, counted) = of_number(&[Step::GET; 3], shape.clone(), flows);
            let result = load(&plan, 1);
            assert_eq!(counts(&result), (flows, 0, 0), "{shape:?}");
            assert_eq!(outcomes(&result), [(Outcome::Ok, 3 * flows)]);
            assert_eq!((counted.begun(), result.ended), (flows, Ended::Requests));
        }
    }
}

#[test]
fn a_wrong_status_ends_the_flow_there() {
    for shape in shapes() {
        let (plan, _) = of_number(&[Step::GET; 3], shape, 20);
        let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        let server = SimulatedServer::new(Box::new(|it| {
            let bytes: &[u8] = if is_of_entry(1, it) { not_found } else { OK };
            vec![ResponsePart { after: MS, bytes }]
        }));
        let result = run(&plan, server);
        assert_eq!(counts(&result), (0, 20, 0), "{:?}", plan.load.shape);
        assert_eq!(of(&result, Outcome::Ok), [20, 0, 0]);
        assert_eq!(of(&result, Outcome::WrongStatus), [0, 20, 0]);
        assert_eq!(result.statuses[&404], 20);
        let flows = flows(&result);
        let wrong = flows.entries[1].first_wrong.as_ref().unwrap();
        assert_eq!(&*wrong.outcome, "wrong_status");
        contains(&wrong.detail, "actual value is <404>");
        assert_eq!(
            (flows.failed_without_request, &flows.duration_ns),
            (0, &None)
        );
    }
}

#[test]
fn a_flow_that_cannot_go_on_fails_without_a_request() {
    for shape in shapes() {
        let (mut plan, counted) = of_number(&[Step::GET, Step::FAIL], shape, 15);
        let result = load(&plan, 1);
        assert_eq!(counts(&result), (0, 15, 0), "{:?}", plan.load.shape);
        assert_eq!(of(&result, Outcome::Ok), [15, 0]);
        assert_eq!(result.first_wrong, None);
        let flows = flows(&result);
        let reason = flows.first_failure.as_deref().unwrap();
        starts_with(reason, "steps.hurl:6:");
        assert_eq!((flows.failed_without_request, counted.begun()), (15, 15));

        plan.load.warmup = Seconds(ms(200));
        let result = load(&plan, 1);
        let before = result.warmup.as_ref().unwrap().failed_without_request;
        assert!(before > 0, "{:?}", plan.load.shape);
        assert_eq!(15 + before + counts(&result).1, counted.begun());
    }
}

#[test]
fn a_flow_that_fails_without_a_request_is_an_error_of_its_interval() {
    let (plan, _) = flows_of(&[Step::GET, Step::FAIL], LoadShape::Closed, ms(200));
    let result = load(&plan, 1);
    let errors: u64 = result.timeline.as_ref().unwrap().errors.iter().sum();
    // The last interval is not complete.
    let failed = counts(&result).1;
    assert!(0 < errors && errors <= failed, "{errors} of {failed}");
}

#[test]
fn flows_that_send_nothing_count_and_end_the_load() {
    for (step, expected) in [(Step::FAIL, (0, 15, 0)), (Step::SKIP, (15, 0, 0))] {
        for shape in shapes() {
            let (plan, counted) = of_number(&[step], shape, 15);
            let result = load(&plan, 1);
            assert_eq!(counts(&result), expected, "{:?}", plan.load.shape);
            assert_eq!((result.requests, counted.begun()), (0, 15));
            assert_eq!(result.ended, Ended::Requests);
        }
    }
}

#[test]
fn a_user_whose_flows_send_nothing_begins_one_every_10_ms() {
    // An open loop waits for what is late, if anything waits.
    for (shape, seconds, begun) in [
        (LoadShape::Closed, 0.2, 60),
        (even(1e6), 0.3, 90),
        (
            LoadShape::UsersOpen {
                think_time: Seconds(Duration::from_nanos(1000)),
            },
            0.2,
            60,
        ),
    ] {
        let (mut plan, counted) = flows_of(&[Step::FAIL], shape, ms(200));
        plan.load.timeout = Seconds(ms(100));
        let result = load(&plan, 1);
        assert_eq!(
            (result.duration_s, counted.begun()),
            (seconds, begun),
            "{:?}",
            plan.load.shape
        );
    }
}
