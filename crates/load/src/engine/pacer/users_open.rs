//! Users whose requests arrive on a schedule of their own: httpmon's open model.

use super::budget::Budget;
use super::intervals::{exponential, source};
use super::overdue::{Overdue, Walk};
use super::{Arrival, Next, Pacer, SharedBudget};
use crate::engine::clock::Nanoseconds;

/// Users that are independent Poisson sources, each on an absolute schedule: a response that is late
/// delays its user's next arrivals but moves none of them, so they go back to back afterwards.
#[derive(Debug)]
pub(in crate::engine) struct UsersOpen<'a> {
    users: Vec<User>,
    mean: Nanoseconds,
    budget: Budget<'a>,
}

#[derive(Clone, Debug)]
struct User {
    /// Of its own, so that the same seed makes the same arrivals whatever the responses do.
    random: fastrand::Rng,
    next_arrival: Nanoseconds,
    /// Whether it was free before that instant, and told to wait for it.
    waits: bool,
}

impl<'a> UsersOpen<'a> {
    /// `users` users with arrivals `mean` apart on average. The first of them has the
    /// number `first` among those of all workers.
    pub(in crate::engine) fn new(
        users: usize,
        first: usize,
        mean: Nanoseconds,
        budget: &'a SharedBudget,
        has_warmup: bool,
        seed: u64,
    ) -> Self {
        let user = |number: usize| User {
            random: source(seed, (first + number) as u64),
            next_arrival: Nanoseconds::MAX,
            waits: true,
        };
        Self {
            users: (0..users).map(user).collect(),
            mean,
            budget: Budget::new(budget, has_warmup),
        }
    }
}

/// The time between two arrivals of a Poisson source is exponentially distributed.
fn interval(random: &mut fastrand::Rng, mean: Nanoseconds) -> Nanoseconds {
    let interval = exponential(random) * mean as f64;
    (interval as Nanoseconds).max(1)
}

impl User {
    fn schedule_next(&mut self, mean: Nanoseconds) {
        let interval = interval(&mut self.random, mean);
        self.next_arrival = self.next_arrival.saturating_add(interval);
    }

    /// Skips its arrivals up to `until`; how many there were.
    fn skip_until(&mut self, until: Nanoseconds, mean: Nanoseconds, walk: &mut Walk) -> u64 {
        let from = self.next_arrival;
        if from > until {
            return 0;
        }
        let length = (until - from) as f64;
        let step = |random: &mut _| interval(random, mean) as f64;
        let (count, next) = walk.count(&mut self.random, 0.0, length, mean as f64, step);
        self.next_arrival = from
            .saturating_add(next as Nanoseconds)
            .max(until.saturating_add(1));
        count
    }
}

impl Pacer for UsersOpen<'_> {
    fn start(&mut self, now: Nanoseconds) {
        for user in &mut self.users {
            user.next_arrival = now;
            user.schedule_next(self.mean);
        }
    }

    fn next(&mut self, user: usize, now: Nanoseconds) -> Next {
        if self.exhausted() {
            return Next::Never;
        }
        let user = &mut self.users[user];
        let at = user.next_arrival;
        if at > now {
            user.waits = true;
            return Next::At(at);
        }
        if !self.budget.take_one() {
            return Next::Never;
        }
        let waited = std::mem::take(&mut user.waits);
        user.schedule_next(self.mean);
        Next::Now(Arrival::Scheduled {
            at,
            free_since: if waited { at } else { now },
        })
    }

    fn exhausted(&self) -> bool {
        self.budget.is_spent()
    }

    fn overdue(&mut self, now: Nanoseconds, began: Nanoseconds) -> Overdue {
        let mut overdue = Overdue::NONE;
        let mut walk = Walk::new();
        let before_phase = began.saturating_sub(1).min(now);
        for user in &mut self.users {
            for (until, in_phase) in [(before_phase, false), (now, true)] {
                let first = user.next_arrival;
                let due = user.skip_until(until, self.mean, &mut walk);
                overdue.add(self.budget.take(due), first, in_phase);
            }
        }
        overdue
    }

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) {
        self.budget.begin_measuring(in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    fn users(users: usize, budget: &SharedBudget) -> UsersOpen<'_> {
        started(UsersOpen::new(users, 0, SECOND, budget, false, 7))
    }

    fn started(mut pacer: UsersOpen<'_>) -> UsersOpen<'_> {
        pacer.start(0);
        pacer
    }

    fn overdue(pacer: &mut UsersOpen<'_>, now: Nanoseconds) -> u64 {
        pacer.overdue(now, 0).count
    }

    fn at(next: Next) -> Nanoseconds {
        match next {
            Next::At(due) => due,
            other => panic!("{other:?}"),
        }
    }

    /// Serves one user without delay up to `end`; the scheduled instants.
    fn arrivals(pacer: &mut UsersOpen<'_>, user: usize, end: Nanoseconds) -> Vec<Nanoseconds> {
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
    fn a_late_response_delays_arrivals_and_moves_none() {
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
    fn what_was_due_and_never_begun_is_counted_once() {
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
            "no more than the budget"
        );
    }

    #[test]
    fn arrivals_without_number_are_counted_at_once() {
        let budget = SharedBudget::new(None);
        let mut pacer = UsersOpen::new(1000, 0, 1000, &budget, false, 7);
        pacer.start(0);
        // The phase begins after the first tenth of it: 1000 users, an arrival each microsecond.
        let overdue = pacer.overdue(10_000 * SECOND, 1000 * SECOND);
        let off = (overdue.count as f64 - 1e13).abs();
        // A thousandth: intervals are of whole nanoseconds.
        assert!(off < 1e10, "{overdue:?}");
        let off = (overdue.in_phase as f64 - 0.9e13).abs();
        assert!(off < 1e10 && overdue.first < 1_000_000, "{overdue:?}");
    }

    #[test]
    fn users_share_the_budget_and_warm_up_takes_nothing_of_it() {
        let budget = SharedBudget::new(Some(5));
        let mut pacer = started(UsersOpen::new(3, 0, SECOND, &budget, true, 7));
        let late = 1_000 * SECOND;
        assert!((0..30).all(|i| matches!(pacer.next(i % 3, late), Next::Now(_))));
        pacer.begin_measuring(2, late);
        assert!((0..3).all(|user| matches!(pacer.next(user, late), Next::Now(_))));
        assert!(pacer.exhausted());
        assert_eq!(pacer.next(0, late), Next::Never);
    }
}
