//! Schedules: what is due when, and what waits for a connection.

use prony_model::{Ended, Seconds, Stage, StageResult};

use super::simulated::Connect;
use super::*;

/// It begins with one connection and opens up to `most`.
fn growing(shape: LoadShape, most: usize, duration: Duration) -> LoadPlan {
    plan(shape, most, duration).with(|plan| plan.load.connections = 1)
}

#[test]
fn a_closed_loop_sends_the_next_request_when_a_response_has_arrived() {
    let result = load(&plan(LoadShape::Closed, 2, ms(1000)), 10);
    assert_eq!(
        outcomes(&result),
        [(Outcome::Ok, 200), (Outcome::Unfinished, 2)]
    );
    assert_eq!((result.duration_s, result.rate_per_s), (1.0, 200.0));
    assert_latencies(&result, 10, 10);
}

#[test]
fn a_rate_sends_requests_when_they_are_due() {
    let result = load(&plan(even(1000.0), 4, ms(1000)), 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 1000)]);
    let open = open(&result);
    assert_eq!(
        (open.due, open.sent, open.queued, open.rate_ratio),
        (1000, 1000, 0, 1.0)
    );
    assert_eq!(result.duration_s, 1.0);
    assert_latencies(&result, 1, 1);
}

#[test]
fn a_rate_goes_through_its_stages() {
    let stage = |from_per_s, to_per_s| Stage {
        from_per_s,
        to_per_s,
        duration_s: Some(0.2),
    };
    let schedule = Schedule {
        arrivals: Arrivals::Even,
        burst: 1,
        // 20 requests, a pause, and 50.
        stages: vec![stage(100.0, 100.0), stage(0.0, 0.0), stage(0.0, 500.0)],
    };
    let result = load(&plan(LoadShape::Rate(schedule), 50, ms(600)), 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 70)]);
    assert_eq!((open(&result).due, result.duration_s), (70, 0.6));
    assert_eq!(result.ended, Ended::Duration);
}

/// A server that takes `set_up_ms` to accept a connection and 0.2 ms for a request, but for 20 ms does nothing from the 3000th
/// on.
fn pausing(set_up_ms: u64) -> (SimulatedServer, Clock) {
    let (server, clock) = SimulatedServer::new(Box::new(|it| {
        let pauses = (3000..3010).contains(&it.number);
        let after = if pauses { 20 * MS } else { MS / 5 };
        vec![ResponsePart { after, bytes: OK }]
    }));
    let connect = Connect {
        after: set_up_ms * MS,
        result: Ok(()),
    };
    (server.connecting(Some(connect)), clock)
}

#[test]
fn a_pause_of_the_server_opens_hardly_any_connection() {
    let plan = plan(even(20_000.0), 1000, ms(300)).with(|plan| plan.load.connections = 10);
    for (set_up_ms, most) in [(9, 15), (0, 90)] {
        let result = run(&plan, pausing(set_up_ms));
        assert_eq!(outcomes(&result), [(Outcome::Ok, 6000)]);
        let opened = result.connections_opened;
        assert!((10..=most).contains(&opened), "{set_up_ms} ms: {opened}");
        // Those that were due meanwhile wait for the ten connections, which take 13 ms for them.
        let longest = result.latency_ns.as_ref().unwrap().max;
        assert!(longest <= 21 * MS, "{set_up_ms} ms: {longest}");
    }
}

#[test]
fn requests_that_wait_for_more_connections_are_counted() {
    let plan = growing(even(500.0), 200, ms(1000));
    let (server, clock) = responding(|_| Some(100));
    let connect = |after| {
        Some(Connect {
            after,
            result: Ok(()),
        })
    };
    let result = run(&plan, (server.connecting(connect(40 * MS)), clock));
    assert_eq!(outcomes(&result), [(Outcome::Ok, 500)]);
    // 50 are in flight at a time.
    let open = open(&result);
    assert!((50..=110).contains(&open.most_connections), "{open:?}");
    let share = open.waited_for_set_up().unwrap();
    assert!((0.02..0.5).contains(&share), "{share}");
    let enough = plan.with(|plan| plan.load.connections = 60);
    assert_eq!(load(&enough, 100).open.unwrap().waited_for_set_up(), None);
}

#[test]
fn a_burst_is_sent_at_once() {
    let mut schedule = Schedule::constant(Arrivals::Even, 50.0);
    schedule.burst = 10;
    let result = load(&growing(LoadShape::Rate(schedule), 100, ms(400)), 100);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 20)]);
    assert_eq!(open(&result).most_connections, 10);
    assert_latencies(&result, 100, 100);
}

#[test]
fn connections_are_opened_as_a_rate_needs_them() {
    let result = load(&growing(even(200.0), 200, ms(300)), 50);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 60)]);
    assert_eq!(
        (open(&result).most_connections, result.connections_opened),
        (10, 10)
    );
    assert_latencies(&result, 50, 50);
}

#[test]
fn arrivals_wait_for_a_connection_if_all_are_busy() {
    let result = load(&growing(even(200.0), 2, ms(200)), 50);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 40)]);
    let open = open(&result);
    assert_eq!(
        (open.most_connections, open.queued, open.bound_hits),
        (2, 38, 38)
    );
    // The second connection begins 5 ms after the first one, and has 20 requests of 50 ms. The last was due at 195 ms.
    assert_eq!(result.duration_s, 1.005);
    // 8 of them began in time: that is what the server can do.
    assert_eq!((open.completed, result.rate_per_s), (8, 40.0));
    assert_latencies(&result, 50, 810);
    // The server causes that wait, not the generator.
    assert!(open.schedule_lag_ns.as_ref().unwrap().max <= 1);
}

#[test]
fn requests_that_a_saturated_server_keeps_waiting_do_not_count_against_the_generator() {
    // A connection becomes free at 300 ms, when the load gives up on requests that were due up to 240 ms before.
    let plan = growing(even(200.0), 2, ms(200)).with(|plan| plan.load.timeout = Seconds(ms(100)));
    let result = load(&plan, 50);
    let open = open(&result);
    assert!(open.sent < open.due, "{open:?}");
    assert_eq!(result.generator.client_limited_by, None);
}

#[test]
fn a_stall_is_latency_of_all_requests_that_were_due_meanwhile() {
    let stalls = responding(|it| Some(if it.number == 20 { 500 } else { 1 }));
    let result = run(&plan(even(100.0), 1, ms(1000)), stalls);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 100)]);
    // 50 were due while it lasted, and 5 while those were sent, one a millisecond.
    assert_eq!(open(&result).queued, 55);
    assert_latencies(&result, 1, 500);
}

#[test]
fn a_rate_that_ends_by_time_waits_for_its_late_responses() {
    let result = load(&growing(even(100.0), 60, ms(300)), 200);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 30)]);
    assert_eq!(result.ended, Ended::Duration);
    // The last one is due at 290 ms.
    assert_eq!(
        (result.duration_s, open(&result).most_connections),
        (0.49, 20)
    );
}

#[test]
fn the_rate_of_slow_responses_is_that_of_what_was_due() {
    let none = Duration::ZERO;
    for (warmup, requests, duration, ended) in [
        (none, None, ms(6000), Ended::Duration),
        // Its 200 responses that arrive in the measured part are not of what was due in it.
        (ms(3000), None, ms(6000), Ended::Duration),
        (none, Some(600), ms(60_000), Ended::Requests),
    ] {
        let plan = growing(even(100.0), 300, duration).with(|plan| {
            plan.load.warmup = Seconds(warmup);
            plan.load.requests = requests;
        });
        let result = load(&plan, 2000);
        let case = format!("{warmup:?} {requests:?}");
        let open = open(&result);
        assert_eq!((open.due, result.ended), (600, ended), "{case}");
        assert_eq!((open.completed, open.due_s), (600, 6.0), "{case}");
        assert_eq!(result.rate_per_s, 100.0, "{case}");
        assert!((result.waited_s() - 1.99).abs() < 1e-9, "{case}");
    }
}

#[test]
fn a_number_of_requests_takes_as_many_intervals() {
    for (requests, duration) in [(10, Some(ms(60_000))), (1, Some(ms(60_000))), (10, None)] {
        let plan = plan(even(10.0), 1, ms(1)).with(|plan| {
            plan.load.requests = Some(requests);
            plan.load.duration = duration.map(Seconds);
        });
        let result = load(&plan, 1);
        assert_eq!((result.requests, result.rate_per_s), (requests, 10.0));
    }
}

#[test]
fn a_load_lasts_as_long_as_its_stages_or_its_duration_even_if_nothing_more_is_due() {
    for (stages, seconds, due) in [
        ("20/s:1s,0/s:2s", 3, 20),
        ("40/s..0/s:2s", 2, 40),
        ("40/s..0/s:2s", 4, 40),
        ("0/s:1s,0/s..40/s:1s,40/s..0/s:1s,0/s:1s", 4, 40),
    ] {
        let shape = LoadShape::Rate(Schedule {
            arrivals: Arrivals::Even,
            burst: 1,
            stages: prony_model::parse_stages(stages).unwrap(),
        });
        let result = load(&plan(shape.clone(), 4, ms(1000 * seconds)), 1);
        let seconds = seconds as f64;
        assert_eq!(
            (result.requests, result.ended),
            (due, Ended::Duration),
            "{stages}"
        );
        assert_eq!(
            (result.duration_s, open(&result).due_s),
            (seconds, seconds),
            "{stages}"
        );
        assert_eq!(result.rate_per_s, due as f64 / seconds, "{stages}");
        // Without a time, nothing else ends it.
        let endless = plan(shape, 4, ms(1)).with(|plan| {
            plan.load.duration = None;
            plan.load.requests = Some(1000);
        });
        assert_eq!(load(&endless, 1).ended, Ended::Requests, "{stages}");
    }
}

#[test]
fn unsent_requests_are_counted_when_the_time_is_up() {
    for (arrivals, most_off) in [(Arrivals::Even, 0), (Arrivals::Poisson, 43_000)] {
        let shape = LoadShape::Rate(Schedule::constant(arrivals, 1e9));
        let plan = plan(shape, 60, ms(50)).with(|plan| plan.load.timeout = Seconds(ms(20)));
        let result = run(&plan, responding(|_| None));
        let due = open(&result).due;
        // Six standard deviations.
        assert!(due.abs_diff(50_000_000) <= most_off, "{due}");
        assert_eq!((result.requests, result.ended), (due, Ended::Duration));
    }
}

#[test]
fn each_stage_has_figures_of_what_was_due_in_it() {
    // The second stage asks for twice of what two connections can do, so some of it begins in the third one.
    let shape = LoadShape::Rate(Schedule {
        arrivals: Arrivals::Even,
        burst: 1,
        stages: prony_model::parse_stages("20/s:1s,80/s:500ms,0/s..40/s:1s,40/s").unwrap(),
    });
    let plan = plan(shape, 2, ms(4000)).with(|plan| plan.load.warmup = Seconds(ms(500)));
    let result = load(&plan, 50);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 140)]);
    let of = |it: &StageResult| {
        let ok = it.outcomes[Outcome::Ok];
        assert_eq!(it.requests, ok);
        (it.stage().to_string(), ok, it.rate_per_s)
    };
    let found: Vec<_> = result.stages.iter().map(of).collect();
    let expected = [
        ("20/s:1s", 20, 20.0),
        ("80/s:500ms", 40, 40.0),
        ("0/s..40/s:1s", 20, 20.0),
        ("40/s:1s500ms", 60, 40.0),
    ];
    assert_eq!(
        found,
        expected.map(|(stage, ok, rate)| (stage.to_owned(), ok, rate))
    );
    let longest = |stage: usize| result.stages[stage].latency_ns.as_ref().unwrap().max / MS;
    assert_eq!((longest(0), longest(3)), (50, 50));
    assert!(longest(1) > 400, "{} ms", longest(1));
    // The load ends in the second stage.
    let short = plan.with(|plan| plan.load.duration = Some(Seconds(ms(1250))));
    let result = load(&short, 50);
    let last = result.stages.last().unwrap();
    assert_eq!(
        (result.stages.len(), last.stage().to_string()),
        (2, "80/s:250ms".into())
    );
    assert_eq!(load(&super::plan(even(20.0), 1, ms(1000)), 1).stages, []);
}

#[test]
fn requests_of_a_stage_that_are_not_ok_are_counted_in_it() {
    let shape = LoadShape::Rate(Schedule {
        arrivals: Arrivals::Even,
        burst: 1,
        stages: prony_model::parse_stages("100/s:100ms,200/s:100ms").unwrap(),
    });
    let plan = plan(shape, 10, ms(200)).with(|plan| {
        plan.load.timeout = Seconds(ms(150));
        plan.load.deadline = Some(Seconds(ms(100)));
    });
    // The connections of the first stage are busy until it is too late for most of the second one.
    let result = run(&plan, responding(|_| None));
    let of = |it: &StageResult| (it.outcomes[Outcome::TimedOut], it.outcomes[Outcome::Shed]);
    let stages: Vec<_> = result.stages.iter().map(of).collect();
    let all = (
        result.outcomes[Outcome::TimedOut],
        result.outcomes[Outcome::Shed],
    );
    assert_eq!(stages[0], (10, 0));
    assert_eq!((stages[0].0 + stages[1].0, stages[0].1 + stages[1].1), all);
    assert!(stages[1].1 > 0, "{stages:?}");
}
