//! Checks both models by the arithmetic of their arrivals.

use super::*;

const SECOND: Nanoseconds = 1_000_000_000;

/// The think times of one user whose responses take 3 s each.
fn think_times(pacer: &mut Users<'_, ClosedUser>, user: usize, count: usize) -> Vec<f64> {
    let mut now = 0;
    let think = |_| {
        let Next::At(until) = pacer.next(user, now) else {
            panic!("a user thinks first");
        };
        assert_eq!(pacer.next(user, until - 1), Next::At(until), "not earlier");
        assert_eq!(pacer.next(user, until), Next::Now(Arrival::Free));
        let thought = (until - now) as f64 / SECOND as f64;
        now = until + 3 * SECOND;
        thought
    };
    (0..count).map(think).collect()
}

#[test]
fn users_think_for_independent_exponential_times() {
    let budget = SharedBudget::new(None);
    let mut pacer = Users::<ClosedUser>::new(2, 0, SECOND, &budget, false, 7);
    let one = think_times(&mut pacer, 0, 50_000);
    let other = think_times(&mut pacer, 1, 10);
    let mean = one.iter().sum::<f64>() / one.len() as f64;
    let variance = one.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / one.len() as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert!((variance - 1.0).abs() < 0.06, "{variance}");
    assert_ne!(one[..10], other[..]);
}

#[test]
fn a_spent_budget_ends_think_times() {
    let budget = SharedBudget::new(Some(1));
    let mut pacer = Users::<ClosedUser>::new(1, 0, SECOND, &budget, false, 7);
    think_times(&mut pacer, 0, 1);
    assert!(pacer.exhausted());
    assert_eq!(pacer.next(0, 100 * SECOND), Next::Never);
}

fn users(users: usize, budget: &SharedBudget) -> Users<'_, OpenUser> {
    started(Users::<OpenUser>::new(users, 0, SECOND, budget, false, 7))
}

fn started(mut pacer: Users<'_, OpenUser>) -> Users<'_, OpenUser> {
    pacer.start(0);
    pacer
}

fn overdue(pacer: &mut Users<'_, OpenUser>, now: Nanoseconds) -> u64 {
    pacer.overdue(now, 0).count
}

fn at(next: Next) -> Nanoseconds {
    match next {
        Next::At(due) => due,
        other => panic!("{other:?}"),
    }
}

/// Serves one user without delay up to `end`, and returns the due times.
fn arrivals(pacer: &mut Users<'_, OpenUser>, user: usize, end: Nanoseconds) -> Vec<Nanoseconds> {
    let mut scheduled = Vec::new();
    let mut now = 0;
    while now < end {
        now = at(pacer.next(user, now));
        match pacer.next(user, now) {
            Next::Now(Arrival::Scheduled { at, free_since }) if free_since == at => {
                scheduled.push(at);
            }
            other => panic!("{other:?}"),
        }
    }
    scheduled
}

#[test]
fn every_user_is_a_poisson_source_of_its_own() {
    let budget = SharedBudget::new(None);
    let mut pacer = users(2, &budget);
    let end = 100_000 * SECOND;
    let (one, other) = (arrivals(&mut pacer, 0, end), arrivals(&mut pacer, 1, end));
    for scheduled in [&one, &other] {
        let intervals: Vec<f64> = scheduled
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / SECOND as f64)
            .collect();
        let count = intervals.len() as f64;
        let mean = intervals.iter().sum::<f64>() / count;
        let variance = intervals.iter().map(|i| (i - mean).powi(2)).sum::<f64>() / count;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!(
            (variance - 1.0).abs() < 0.05,
            "of an exponential: {variance}"
        );
    }
    assert_ne!(one[..10], other[..10]);
}

#[test]
fn a_late_response_delays_sends_but_moves_no_due_time() {
    let budget = SharedBudget::new(None);
    let punctual = arrivals(&mut users(1, &budget), 0, 10 * SECOND);
    let mut pacer = users(1, &budget);
    let first = at(pacer.next(0, 0));
    assert_eq!(first, punctual[0]);
    assert!(matches!(pacer.next(0, first), Next::Now(_)));
    // Its response takes until everything else is due.
    let mut late = vec![first];
    let now = punctual[punctual.len() - 1];
    while let Next::Now(Arrival::Scheduled { at, free_since }) = pacer.next(0, now) {
        assert_eq!(free_since, now);
        late.push(at);
    }
    assert_eq!(late, punctual);
}

#[test]
fn overdue_requests_are_counted_once() {
    let budget = SharedBudget::new(Some(20));
    let due = {
        let unbounded = SharedBudget::new(None);
        let end = 10 * SECOND;
        let mut one = arrivals(&mut users(1, &unbounded), 0, end);
        one.retain(|&at| at <= end);
        one.len() as u64
    };
    let mut pacer = users(1, &budget);
    assert_eq!(overdue(&mut pacer, 10 * SECOND), due);
    assert_eq!(overdue(&mut pacer, 10 * SECOND), 0);
    assert_eq!(
        overdue(&mut pacer, 1_000 * SECOND),
        20 - due,
        "at most the budget"
    );
}

#[test]
fn any_number_of_arrivals_is_counted_at_once() {
    let budget = SharedBudget::new(None);
    let mut pacer = Users::<OpenUser>::new(1000, 0, 1000, &budget, false, 7);
    pacer.start(0);
    // The phase begins after the first tenth: 1000 users, an arrival every microsecond.
    let overdue = pacer.overdue(10_000 * SECOND, 1000 * SECOND);
    let off = (overdue.count as f64 - 1e13).abs();
    // A thousandth: intervals are in whole nanoseconds.
    assert!(off < 1e10, "{overdue:?}");
    let off = (overdue.in_phase as f64 - 0.9e13).abs();
    assert!(off < 1e10 && overdue.first < 1_000_000, "{overdue:?}");
}

#[test]
fn users_share_the_budget_and_the_warm_up_takes_none() {
    let budget = SharedBudget::new(Some(5));
    let mut pacer = started(Users::<OpenUser>::new(3, 0, SECOND, &budget, true, 7));
    let late = 1_000 * SECOND;
    assert!((0..30).all(|i| matches!(pacer.next(i % 3, late), Next::Now(_))));
    pacer.begin_measuring(2, late);
    assert!((0..3).all(|user| matches!(pacer.next(user, late), Next::Now(_))));
    assert!(pacer.exhausted());
    assert_eq!(pacer.next(0, late), Next::Never);
}
