//! Which user is due when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clock::Nanoseconds;

/// The users that wait for an instant, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Timetable(BinaryHeap<Reverse<(Nanoseconds, usize)>>);

impl Timetable {
    pub(super) fn add(&mut self, due: Nanoseconds, user: usize) {
        self.0.push(Reverse((due, user)));
    }

    /// The earliest instant; the end of time where nobody waits.
    pub(super) fn next(&self) -> Nanoseconds {
        self.0.peek().map_or(Nanoseconds::MAX, |entry| entry.0.0)
    }

    /// Takes a user who is due by `now`.
    pub(super) fn take_due(&mut self, now: Nanoseconds) -> Option<usize> {
        let due = self.next() <= now;
        due.then(|| self.0.pop().map(|entry| entry.0.1)).flatten()
    }
}
