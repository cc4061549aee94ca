//! A closed loop in batches, with pauses between the requests of a batch.

use super::{Arrival, Next, Pacer};
use crate::engine::clock::{Nanoseconds, nanoseconds};
use crate::plan::{Batch, Batches};

/// Sends the requests of one batch, and begins the next one when all have ended.
pub(in crate::engine) struct Batched<'a> {
    batches: &'a Batches,
    users: Vec<User>,
    /// The batch, `None` after the last one, and its number.
    batch: Option<Batch>,
    number: usize,
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
            users: vec![User::Free; users],
            batch: Some(batches.first),
            number: 0,
            begun: 0,
            in_flight: 0,
        }
    }

    fn begin_next_batch(&mut self) {
        self.batch = (self.batches.next)(self.number);
        self.number += 1;
        self.begun = 0;
    }
}

impl Pacer for Batched<'_> {
    fn next(&mut self, user: usize, now: Nanoseconds) -> Next {
        if matches!(self.users[user], User::InFlight) {
            self.users[user] = User::Free;
            self.in_flight -= 1;
        }
        let Some(batch) = self.batch else {
            return Next::Never;
        };
        let pause_ends = now.saturating_add(nanoseconds(batch.pause).max(1));
        if self.begun == batch.requests.get() {
            if self.in_flight > 0 {
                return Next::At(pause_ends);
            }
            self.begin_next_batch();
            // That took time, so the pause begins when it is called again.
            self.users[user] = User::Free;
            return if self.exhausted() {
                Next::Never
            } else {
                Next::At(now)
            };
        }
        match self.users[user] {
            User::PausesUntil(until) if until > now => return Next::At(until),
            User::Free if !batch.pause.is_zero() => {
                self.users[user] = User::PausesUntil(pause_ends);
                return Next::At(pause_ends);
            }
            _ => {}
        }
        self.users[user] = User::InFlight;
        self.in_flight += 1;
        self.begun += 1;
        Next::Now(Arrival::Free)
    }

    fn exhausted(&self) -> bool {
        self.batch.is_none()
    }

    fn begin_measuring(&mut self, in_flight: u64, _: Nanoseconds) -> u64 {
        in_flight
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use super::*;

    const PAUSE: Duration = Duration::from_nanos(10);

    /// Batches with these numbers of requests and these pauses, and the numbers of those that are over.
    fn batches(of: &'static [(u64, Duration)]) -> (Batches, Arc<Mutex<Vec<usize>>>) {
        let batch = |number: usize| {
            let (requests, pause) = *of.get(number)?;
            let requests = NonZeroU64::new(requests)?;
            Some(Batch { requests, pause })
        };
        let over = Arc::new(Mutex::new(Vec::new()));
        let recorded = over.clone();
        let batches = Batches {
            first: batch(0).unwrap(),
            next: Arc::new(move |number| {
                recorded.lock().unwrap().push(number);
                batch(number + 1)
            }),
        };
        (batches, over)
    }

    #[test]
    fn without_a_pause_a_request_follows_the_last_response() {
        let (batches, over) = batches(&[(2, Duration::ZERO), (1, PAUSE)]);
        let mut pacer = Batched::new(1, &batches);
        assert_eq!(pacer.next(0, 0), Next::Now(Arrival::Free));
        assert_eq!(pacer.next(0, 7), Next::Now(Arrival::Free));
        assert_eq!(pacer.next(0, 9), Next::At(9));
        assert_eq!(*over.lock().unwrap(), [0]);
        assert_eq!(pacer.next(0, 9), Next::At(19), "the next batch has a pause");
    }

    #[test]
    fn a_user_pauses_before_each_request_and_a_batch_ends_with_its_last_response() {
        let (batches, over) = batches(&[(1, PAUSE), (2, PAUSE)]);
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
        let (batches, over) = batches(&[(2, PAUSE), (1, PAUSE)]);
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
