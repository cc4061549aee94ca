//! The warm-up, the measured part, and how they end.

use prony_model::{Ended, Seconds};

use super::*;

#[test]
fn the_warm_up_of_a_rate_is_separate() {
    let plan = plan(even(500.0), 5, ms(100)).with(|plan| plan.load.warmup = Seconds(ms(200)));
    let result = load(&plan, 1);
    let warmup = result.warmup.as_ref().unwrap();
    assert_eq!((warmup.outcomes.total(), warmup.duration_s), (100, 0.2));
    assert_eq!(outcomes(&result), [(Outcome::Ok, 50)]);
    assert_eq!(result.duration_s, 0.1);
}

#[test]
fn no_more_requests_are_measured_than_planned() {
    for shape in every_shape(200.0, Seconds::from_millis(5)) {
        // All twelve connections wait for a response when the warm-up ends.
        let plan = plan(shape.clone(), 12, ms(10_000)).with(|plan| {
            plan.load.pipeline = if shape == LoadShape::Closed { 2 } else { 1 };
            plan.load.warmup = Seconds(ms(60));
            plan.load.requests = Some(3);
        });
        let result = load(&plan, 100);
        assert_eq!(
            (result.ended, result.requests),
            (Ended::Requests, 3),
            "{:?}",
            plan.load.shape
        );
        let warmup = result.warmup.unwrap().outcomes.total();
        // A closed loop opens no more connections than it has requests: here two.
        let in_flight = if plan.load.shape == LoadShape::Closed {
            4
        } else {
            12
        };
        assert!(warmup >= in_flight - 3, "{:?}: {warmup}", plan.load.shape);
    }
}

#[test]
fn measuring_starts_when_a_longer_warm_up_is_over() {
    // The requests of twelve users end half a second after the warm-up's time: nine of them belong to it.
    let plan = plan(users_closed(Seconds::from_millis(5)), 12, ms(200)).with(|plan| {
        plan.load.requests = Some(3);
        plan.load.warmup = Seconds(ms(100));
    });
    let result = load(&plan, 600);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 3)]);
    let warmup = result.warmup.unwrap();
    assert_eq!(warmup.outcomes.total(), 9);
    assert!(
        (0.6..0.65).contains(&warmup.duration_s),
        "{}",
        warmup.duration_s
    );
}

#[test]
fn a_closed_loop_without_any_response_goes_on_if_the_plan_says_so() {
    let short = |overtime| {
        plan(LoadShape::Closed, 3, ms(200)).with(|plan| {
            plan.overtime = overtime;
            plan.load.timeout = Seconds(ms(700));
        })
    };
    let (ok, unfinished) = ((Outcome::Ok, 3), (Outcome::Unfinished, 3));
    for (overtime, after_ms, expected, seconds) in [
        (false, 600, vec![unfinished], 0.2),
        // Until each connection could have had a response.
        (true, 600, vec![ok, unfinished], 0.6),
        (true, 150, vec![ok, unfinished], 0.2),
        (true, 900, vec![(Outcome::TimedOut, 3)], 0.7),
    ] {
        let result = load(&short(overtime), after_ms);
        let case = format!("{overtime}, {after_ms} ms");
        assert_eq!(outcomes(&result), expected, "{case}");
        assert_eq!(
            (result.duration_s, result.ended),
            (seconds, Ended::Duration),
            "{case}"
        );
        let rate = result.outcomes[Outcome::Ok] as f64 / seconds;
        assert!(
            (result.rate_per_s - rate).abs() < 1e-9,
            "{case}: over all of it"
        );
    }
}
