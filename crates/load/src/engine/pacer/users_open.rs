//! Users whose requests arrive on a schedule of their own: httpmon's open model.

use super::{Arrival, Next, Pacer, SharedBudget};
use crate::engine::clock::Nanoseconds;

/// Users that are independent Poisson sources, each on an absolute schedule: an answer that is late
/// delays its user's next arrivals but moves none of them, so they go back to back afterwards.
#[derive(Debug)]
pub(in crate::engine) struct UsersOpen<'a> {
    users: Vec<User>,
    mean: Nanoseconds,
    random: fastrand::Rng,
    budget: &'a SharedBudget,
    /// In the warm-up nothing is taken from the budget.
    measuring: bool,
}

#[derive(Clone, Copy, Debug)]
struct User {
    next_arrival: Nanoseconds,
    /// Whether it was free before that instant, and told to wait for it.
    waits: bool,
}

impl<'a> UsersOpen<'a> {
    /// `users` users from `start` on, with arrivals `mean` apart on average.
    pub(in crate::engine) fn new(
        users: usize,
        start: Nanoseconds,
        mean: Nanoseconds,
        budget: &'a SharedBudget,
        has_warmup: bool,
        random: fastrand::Rng,
    ) -> Self {
        let idle = User {
            next_arrival: start,
            waits: true,
        };
        let mut pacer = Self {
            users: vec![idle; users],
            mean,
            random,
            budget,
            measuring: !has_warmup,
        };
        for user in 0..users {
            pacer.users[user].next_arrival += pacer.interval();
        }
        pacer
    }

    /// The time between two arrivals of a Poisson source: exponentially distributed.
    fn interval(&mut self) -> Nanoseconds {
        // 1 - [0, 1) is never 0, whose logarithm would be infinite.
        let survival = 1.0 - self.random.f64();
        (-survival.ln() * self.mean as f64) as Nanoseconds
    }
}

impl Pacer for UsersOpen<'_> {
    fn next(&mut self, user: usize, now: Nanoseconds) -> Next {
        if self.exhausted() {
            return Next::Never;
        }
        let User {
            next_arrival,
            waits,
        } = self.users[user];
        if next_arrival > now {
            self.users[user].waits = true;
            return Next::At(next_arrival);
        }
        if self.measuring && self.budget.take(1) == 0 {
            return Next::Never;
        }
        self.users[user] = User {
            next_arrival: next_arrival.saturating_add(self.interval()),
            waits: false,
        };
        Next::Now(Arrival::Scheduled {
            at: next_arrival,
            late: !waits,
        })
    }

    fn exhausted(&self) -> bool {
        self.measuring && self.budget.is_spent()
    }

    fn overdue(&mut self, now: Nanoseconds) -> u64 {
        let mut count = 0;
        for user in 0..self.users.len() {
            while self.users[user].next_arrival <= now {
                let interval = self.interval();
                self.users[user].next_arrival += interval.max(1);
                count += 1;
            }
        }
        if self.measuring {
            self.budget.take(count)
        } else {
            count
        }
    }

    fn begin_measuring(&mut self, in_flight: u64) {
        self.measuring = true;
        self.budget.take(in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    fn users(users: usize, budget: &SharedBudget) -> UsersOpen<'_> {
        UsersOpen::new(users, 0, SECOND, budget, false, fastrand::Rng::with_seed(7))
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
                Next::Now(Arrival::Scheduled { at, late: false }) => scheduled.push(at),
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
    fn a_late_answer_delays_arrivals_and_moves_none() {
        let budget = SharedBudget::new(None);
        let punctual = arrivals(&mut users(1, &budget), 0, 10 * SECOND);
        let mut pacer = users(1, &budget);
        let first = at(pacer.next(0, 0));
        assert_eq!(first, punctual[0]);
        assert!(matches!(pacer.next(0, first), Next::Now(_)));
        // Its answer takes until everything else is due.
        let mut late = vec![first];
        let now = punctual[punctual.len() - 1];
        while let Next::Now(Arrival::Scheduled { at, late: is_late }) = pacer.next(0, now) {
            assert!(is_late);
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
        assert_eq!(pacer.overdue(10 * SECOND), due);
        assert_eq!(pacer.overdue(10 * SECOND), 0);
        assert_eq!(
            pacer.overdue(1_000 * SECOND),
            20 - due,
            "no more than the budget"
        );
    }

    #[test]
    fn users_share_the_budget_and_warm_up_takes_nothing_of_it() {
        let budget = SharedBudget::new(Some(5));
        let random = fastrand::Rng::with_seed(7);
        let mut pacer = UsersOpen::new(3, 0, SECOND, &budget, true, random);
        let late = 1_000 * SECOND;
        assert!((0..30).all(|i| matches!(pacer.next(i % 3, late), Next::Now(_))));
        pacer.begin_measuring(2);
        assert!((0..3).all(|user| matches!(pacer.next(user, late), Next::Now(_))));
        assert!(pacer.exhausted());
        assert_eq!(pacer.next(0, late), Next::Never);
    }
}
