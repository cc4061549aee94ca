//! A server that stops responding.

use prony_model::{Outage, Seconds};

use super::*;

/// Killed after 3 of 12 s. Until then it responds after a millisecond.
fn killed(plan: &LoadPlan) -> LoadResult {
    let (server, clock) = responding(|_| Some(1));
    run(plan, (server.killed(3000 * MS), clock))
}

#[test]
fn a_load_of_every_shape_sees_that_its_server_is_dead() {
    for shape in every_shape(100.0, Seconds::from_millis(10)) {
        let result = killed(&plan(shape.clone(), 10, ms(12_000)));
        let [outage] = result.outages[..] else {
            panic!("{shape:?}: {:?}", result.outages);
        };
        // Its last response, and the next request, are some milliseconds apart.
        assert!((outage.from_s - 3.0).abs() <= 0.06, "{shape:?}: {outage:?}");
        let until_s = outage.from_s + outage.length_s;
        assert!(
            (until_s - result.duration_s).abs() <= 0.1,
            "{shape:?}: {outage:?}"
        );
    }
}

#[test]
fn a_dead_server_costs_a_closed_loop_few_errors() {
    let result = killed(&plan(LoadShape::Closed, 10, ms(12_000)));
    let errors = result.outcomes.errors() as f64 / result.requests as f64;
    assert!(errors < 0.01, "{errors}");
    let dead = Outage {
        from_s: 3.0,
        length_s: 9.0,
    };
    assert_eq!(result.outages, [dead]);
}

#[test]
fn a_server_that_hangs_costs_no_error() {
    let plan = plan(LoadShape::Closed, 4, ms(8000)).with(|plan| {
        plan.load.warmup = Seconds(ms(1000));
        plan.load.timeout = Seconds(ms(20_000));
    });
    // It responds to four connections, one response a millisecond, for a second of warm-up and two more.
    let hangs = responding(|it| (it.number < 12_000).then_some(1));
    let result = run(&plan, hangs);
    assert_eq!(result.outcomes.errors(), 0);
    let hang = Outage {
        from_s: 2.0,
        length_s: 6.0,
    };
    assert_eq!(result.outages, [hang]);
}

#[test]
fn slow_responses_and_pauses_are_no_outages() {
    let slow = |shape, after| load(&plan(shape, 1, ms(12_000)), after);
    for (what, result) in [
        ("slow", slow(LoadShape::Closed, 2000)),
        (
            "users who think",
            slow(users_closed(Seconds::from_secs(4)), 1),
        ),
        ("a low rate", slow(even(0.2), 1)),
        (
            "an overloaded server",
            load(&plan(even(50.0), 2, ms(3000)), 100),
        ),
    ] {
        assert_eq!(result.outages, [], "{what}");
    }
}

#[test]
fn connections_that_are_refused_are_not_busy() {
    // Ten connections are tried once a second each.
    let result = killed(&plan(even(200.0), 10, ms(12_000)));
    let open = open(&result);
    assert!(open.most_connections <= 10);
    assert!(open.queued > 1000, "{open:?}");
    assert_eq!(open.bound_hits, 0);
}
