//! A closed loop in batches, with a pause before each request.

use super::{Arrival, Next, Pacer};
use crate::engine::clock::{Nanoseconds, nanoseconds};
use crate::plan::Batches;

/// Sends the requests of one batch, and begins the next one when all have ended.
pub(in crate::engine) struct Batched<'a> {
    batches: &'a Batches,
    pause: Nanoseconds,
    users: Vec<User>,
    /// The number of the batch.
    batch: usize,
    /// How many of its requests have begun.
    begun: u64,
    in_flight: usize,
}

#[derive(Clone, Copy)]
enum User {
    Free,
    PausesUntil(Nanoseconds),
    InFlight,
}

impl<'a> Batched<'a> {
    pub(in crate::engine) fn new(users: usize, batches: &'a Batches) -> Self {
        Self {
            batches,
            pause: nanoseconds(batches.pause),
            users: vec![User::Free; users],
            batch: 0,
            begun: 0,
            in_flight: 0,
        }
    }

    fn is_begun(&self) -> bool {
        self.batches.requests.get(self.batch) == Some(&self.begun)
    }
}

impl Pacer for Batched<'_> {
    fn start(&mut self, _: Nanoseconds) {}

    fn next(&mut self, user: usize, now: Nanoseconds) -> Next {
        if matches!(self.users[user], User::InFlight) {
            self.users[user] = User::Free;
            self.in_flight -= 1;
        }
        if self.is_begun() {
            if self.in_flight > 0 {
                return Next::At(now.saturating_add(self.pause).max(now + 1));
            }
            (self.batches.is_over)(self.batch);
            self.batch += 1;
            self.begun = 0;
            // That took time, so the pause begins when it is called again.
            self.users[user] = User::Free;
            return match self.exhausted() {
                true => Next::Never,
                false => Next::At(now),
            };
        }
        if self.exhausted() {
            return Next::Never;
        }
        match self.users[user] {
            User::PausesUntil(until) if until <= now => {
                self.users[user] = User::InFlight;
                self.in_flight += 1;
                self.begun += 1;
                Next::Now(Arrival::Free)
            }
            User::PausesUntil(until) => Next::At(until),
            User::Free | User::InFlight => {
                let until = now.saturating_add(self.pause);
                self.users[user] = User::PausesUntil(until);
                Next::At(until)
            }
        }
    }

    fn exhausted(&self) -> bool {
        self.batch >= self.batches.requests.len()
    }

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) -> u64 {
        in_flight
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::*;

    fn batches(requests: &[u64]) -> (Batches, Arc<Mutex<Vec<usize>>>) {
        let over = Arc::new(Mutex::new(Vec::new()));
        let recorded = over.clone();
        let batches = Batches {
            requests: requests.to_vec(),
            pause: Duration::from_nanos(10),
            is_over: Arc::new(move |batch| recorded.lock().unwrap().push(batch)),
        };
        (batches, over)
    }

    #[test]
    fn a_user_pauses_before_each_request_and_a_batch_ends_with_its_last_response() {
        let (batches, over) = batches(&[1, 2]);
        let mut pacer = Batched::new(1, &batches);
        assert_eq!(pacer.next(0, 0), Next::At(10));
        assert_eq!(pacer.next(0, 9), Next::At(10), "too early");
        assert_eq!(pacer.next(0, 10), Next::Now(Arrival::Free));
        assert!(over.lock().unwrap().is_empty(), "its request is in flight");
        assert_eq!(pacer.next(0, 50), Next::At(50), "the batch is over");
        assert_eq!(*over.lock().unwrap(), [0]);
        for at in [60, 80] {
            assert_eq!(pacer.next(0, at), Next::At(at + 10));
            assert_eq!(pacer.next(0, at + 10), Next::Now(Arrival::Free));
        }
        assert!(!pacer.exhausted());
        assert_eq!(pacer.next(0, 100), Next::Never);
        assert!(pacer.exhausted());
        assert_eq!(*over.lock().unwrap(), [0, 1]);
    }

    #[test]
    fn a_batch_waits_for_the_requests_of_all_users() {
        let (batches, over) = batches(&[2, 1]);
        let mut pacer = Batched::new(2, &batches);
        for user in [0, 1] {
            assert_eq!(pacer.next(user, 0), Next::At(10));
            assert_eq!(pacer.next(user, 10), Next::Now(Arrival::Free));
        }
        assert_eq!(pacer.next(0, 20), Next::At(30), "the other one waits");
        assert!(over.lock().unwrap().is_empty());
        assert_eq!(pacer.next(1, 25), Next::At(25));
        assert_eq!(*over.lock().unwrap(), [0]);
        assert_eq!(pacer.next(0, 30), Next::At(40));
        assert_eq!(pacer.next(0, 40), Next::Now(Arrival::Free));
        assert_eq!(pacer.next(1, 41), Next::At(51), "nothing is left for it");
        assert_eq!(pacer.next(0, 51), Next::Never);
        assert_eq!(pacer.next(1, 51), Next::Never);
        assert_eq!(*over.lock().unwrap(), [0, 1]);
    }
}
