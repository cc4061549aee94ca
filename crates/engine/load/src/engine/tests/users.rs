//! Users with think time: closed ones, and those with schedules of their own (httpmon's open model).

use prony_model::{Ended, Seconds};

use super::*;

/// Each user has an arrival every `think_time` on average.
fn open_users(users: usize, think_time: Seconds, requests: u64) -> LoadPlan {
    plan(LoadShape::UsersOpen { think_time }, users, ms(60_000))
        .with(|plan| plan.load.requests = Some(requests))
}

#[test]
fn think_times_lower_the_rate() {
    let plan = plan(users_closed(Seconds::from_millis(10)), 3, ms(100_000))
        .with(|plan| plan.load.requests = Some(15_000));
    let result = load(&plan, 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 15_000)]);
    assert_eq!(result.open, None, "a closed loop");
    // Each request takes 1 ms and 10 ms of thinking.
    assert!(
        (270.0..276.0).contains(&result.rate_per_s),
        "{}",
        result.rate_per_s
    );
}

#[test]
fn the_budget_is_spent_at_the_rate_of_the_schedules() {
    let result = load(&open_users(50, Seconds::from_millis(100), 5000), 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 5000)]);
    assert_eq!(result.ended, Ended::Requests);
    let open = open(&result);
    assert_eq!(open.completed, 5000);
    assert!((open.due_s - result.duration_s).abs() < 0.02, "{open:?}");
    assert_eq!((open.due, open.sent, open.rate_ratio), (5000, 5000, 1.0));
    let lags = LatencyHistogram::from_base64(&open.schedule_lag_histogram).unwrap();
    assert_eq!(lags.count(), 5000);
    // 5000 exponentials of 2 ms: 10 s, with a standard deviation of 0.14 s.
    assert!(
        (9.6..10.4).contains(&result.duration_s),
        "{}",
        result.duration_s
    );
}

#[test]
fn an_arrival_waits_while_its_user_is_busy_and_its_wait_is_latency() {
    let result = load(&open_users(1, Seconds::from_millis(10), 40), 30);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 40)]);
    let open = open(&result);
    assert_eq!((open.queued, open.bound_hits), (39, 39));
    // 40 responses take 1.2 s, their arrivals 0.4 s: the last one waits for the rest.
    let latency = result.latency_ns.as_ref().unwrap();
    assert!((700 * MS..900 * MS).contains(&latency.max), "{latency:?}");
    // The server causes all that waiting.
    assert!(open.schedule_lag_ns.as_ref().unwrap().max <= 1);
}

#[test]
fn the_deadline_of_users_runs_from_the_arrival_and_binds_the_response() {
    let mut plan = open_users(1, Seconds::from_millis(20), 60);
    plan.load.deadline = Some(Seconds(ms(300)));
    let result = load(&plan, 60);
    let [ok, timed_out] = outcomes(&result)[..] else {
        panic!("{:?}", result.outcomes)
    };
    assert_eq!(
        (ok.0, timed_out.0, ok.1 + timed_out.1),
        (Outcome::Ok, Outcome::TimedOut, 60)
    );
    let longest = result.latency_ns.as_ref().unwrap().max;
    assert!(
        (290 * MS..=300 * MS + 300_000).contains(&longest),
        "{longest}"
    );
    let detail = result.first_wrong.unwrap().detail;
    assert_eq!(detail, "no whole response within 300ms of its due time");

    let mut plan = open_users(2, Seconds::from_millis(20), 8);
    plan.load.deadline = Some(Seconds(ms(100)));
    let result = run(&plan, responding(|_| None));
    assert_eq!(outcomes(&result), [(Outcome::TimedOut, 8)]);
}

#[test]
fn a_connection_is_opened_when_its_user_first_needs_it() {
    let result = load(&open_users(60, Seconds::from_secs(5), 3), 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 3)]);
    assert_eq!(result.connections_opened, 3, "60 users, 3 arrivals");
}

#[test]
fn the_warm_up_of_users_takes_no_budget() {
    let mut plan = open_users(10, Seconds::from_millis(10), 50);
    plan.load.warmup = Seconds(ms(300));
    let result = load(&plan, 1);
    assert_eq!(outcomes(&result), [(Outcome::Ok, 50)]);
    // 1000 a second, with a standard deviation of 17.
    let warmup = result.warmup.unwrap().outcomes.total();
    assert!((240..360).contains(&warmup), "{warmup}");
}

#[test]
fn an_open_load_ends_by_time_with_its_users_waiting() {
    let mut plan = open_users(5, Seconds::from_millis(20), 1);
    (plan.load.requests, plan.load.duration) = (None, Some(Seconds(ms(300))));
    let result = load(&plan, 1);
    assert_eq!((result.ended, result.duration_s), (Ended::Duration, 0.3));
    // 75 are due, with a standard deviation of 9.
    let due = open(&result).due;
    assert!((45..105).contains(&due), "{due}");
    assert_eq!(outcomes(&result), [(Outcome::Ok, due)]);
}
