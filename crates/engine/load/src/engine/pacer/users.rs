//! Users with one connection each: closed with think times, or open with their own schedules, as in httpmon.

use super::budget::Budget;
use super::overdue::{Overdue, Walk};
use super::random::{exponential, source};
use super::{Arrival, DueInstants, Next, Pacer, SharedBudget};
use crate::engine::clock::Nanoseconds;

/// Users, closed or open.
#[derive(Debug)]
pub(in crate::engine) struct Users<'a, U> {
    users: Vec<U>,
    /// The mean think time, or time between two arrivals.
    mean: Nanoseconds,
    budget: Budget<'a>,
    /// The latest arrival that was taken.
    last_due: Nanoseconds,
}

/// Thinks for a random time, sends a request and waits for its response.
#[derive(Clone, Debug)]
pub(in crate::engine) struct ClosedUser {
    random: fastrand::Rng,
    /// Until when it thinks; `None` if it does not.
    thinks_until: Option<Nanoseconds>,
}

/// An independent Poisson source on an absolute schedule: a late response delays the sending of the next requests but
/// does not move their due times, so they then go back to back.
#[derive(Clone, Debug)]
pub(in crate::engine) struct OpenUser {
    /// Each user has its own, so that the same seed gives the same arrivals regardless of the responses.
    random: fastrand::Rng,
    next_arrival: Nanoseconds,
    /// Whether it was free before that instant, and told to wait for it.
    waits: bool,
}

impl From<fastrand::Rng> for ClosedUser {
    fn from(random: fastrand::Rng) -> Self {
        Self {
            random,
            thinks_until: None,
        }
    }
}

impl From<fastrand::Rng> for OpenUser {
    fn from(random: fastrand::Rng) -> Self {
        Self {
            random,
            next_arrival: Nanoseconds::MAX,
            waits: true,
        }
    }
}

impl<'a, U: From<fastrand::Rng>> Users<'a, U> {
    /// `first` is the number of the first user among those of all workers.
    pub(in crate::engine) fn new(
        users: usize,
        first: usize,
        mean: Nanoseconds,
        budget: &'a SharedBudget,
        has_warmup: bool,
        seed: u64,
    ) -> Self {
        let numbers = first as u64..(first + users) as u64;
        Self {
            users: numbers.map(|number| source(seed, number).into()).collect(),
            mean,
            budget: Budget::new(budget, has_warmup),
            last_due: 0,
        }
    }
}

impl Pacer for Users<'_, ClosedUser> {
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

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) -> u64 {
        self.budget.begin_measuring(in_flight)
    }
}

/// The time between two arrivals of a Poisson source is exponentially distributed.
fn interval(random: &mut fastrand::Rng, mean: Nanoseconds) -> Nanoseconds {
    let interval = exponential(random) * mean as f64;
    (interval as Nanoseconds).max(1)
}

impl OpenUser {
    fn schedule_next(&mut self, mean: Nanoseconds) {
        let interval = interval(&mut self.random, mean);
        self.next_arrival = self.next_arrival.saturating_add(interval);
    }

    /// Skips arrivals up to `until`, and returns how many there were.
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

impl Pacer for Users<'_, OpenUser> {
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
        self.last_due = self.last_due.max(at);
        user.schedule_next(self.mean);
        Next::Now(Arrival::Scheduled {
            at,
            free_since: if waited { at } else { now },
        })
    }

    fn exhausted(&self) -> bool {
        self.budget.is_spent()
    }

    fn due(&self) -> DueInstants {
        let arrivals = self.users.iter().map(|user| user.next_arrival);
        DueInstants {
            last: self.last_due,
            next: arrivals.min().unwrap_or(Nanoseconds::MAX),
        }
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

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) -> u64 {
        self.budget.begin_measuring(in_flight)
    }
}

#[cfg(test)]
mod tests;
