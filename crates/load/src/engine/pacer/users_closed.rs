//! Users who think, send, and wait: httpmon's closed model.

use super::budget::Budget;
use super::intervals::{exponential, source};
use super::{Arrival, Next, Pacer, SharedBudget};
use crate::engine::clock::Nanoseconds;

/// Users each of whom thinks for a random time, sends a request and waits for its response.
#[derive(Debug)]
pub(in crate::engine) struct UsersClosed<'a> {
    users: Vec<User>,
    /// The mean think time.
    mean: Nanoseconds,
    budget: Budget<'a>,
}

#[derive(Clone, Debug)]
struct User {
    random: fastrand::Rng,
    /// Until when it thinks; `None` where it has not begun to.
    thinks_until: Option<Nanoseconds>,
}

impl<'a> UsersClosed<'a> {
    /// `users` users, the first of whom has the number `first` among those of all workers.
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
            thinks_until: None,
        };
        Self {
            users: (0..users).map(user).collect(),
            mean,
            budget: Budget::new(budget, has_warmup),
        }
    }
}

impl Pacer for UsersClosed<'_> {
    fn start(&mut self, _: Nanoseconds) {}

    fn next(&mut self, user: usize, now: Nanoseconds) -> Next {
        if self.exhausted() {
            return Next::Never;
        }
        let user = &mut self.users[user];
        let until = *user.thinks_until.get_or_insert_with(|| {
            let thinks = exponential(&mut user.random) * self.mean as f64;
            now.saturating_add(thinks as Nanoseconds)
        });
        if until > now {
            return Next::At(until);
        }
        if !self.budget.take_one() {
            return Next::Never;
        }
        user.thinks_until = None;
        Next::Now(Arrival::Free)
    }

    fn exhausted(&self) -> bool {
        self.budget.is_spent()
    }

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) {
        self.budget.begin_measuring(in_flight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    /// The think times of one user whose responses take 3 s each.
    fn think_times(pacer: &mut UsersClosed<'_>, user: usize, count: usize) -> Vec<f64> {
        let mut now = 0;
        let think = |_| {
            let Next::At(until) = pacer.next(user, now) else {
                panic!("it thinks first");
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
    fn users_think_for_exponential_times_of_their_own_between_response_and_request() {
        let budget = SharedBudget::new(None);
        let mut pacer = UsersClosed::new(2, 0, SECOND, &budget, false, 7);
        let one = think_times(&mut pacer, 0, 50_000);
        let other = think_times(&mut pacer, 1, 10);
        let mean = one.iter().sum::<f64>() / one.len() as f64;
        let variance = one.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / one.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance - 1.0).abs() < 0.06, "{variance}");
        assert_ne!(one[..10], other[..]);
    }

    #[test]
    fn a_spent_budget_ends_it() {
        let budget = SharedBudget::new(Some(1));
        let mut pacer = UsersClosed::new(1, 0, SECOND, &budget, false, 7);
        think_times(&mut pacer, 0, 1);
        assert!(pacer.exhausted());
        assert_eq!(pacer.next(0, 100 * SECOND), Next::Never);
    }
}
