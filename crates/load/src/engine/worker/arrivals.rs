//! When requests begin, and when they are given up.

use prony_record::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, InFlight};
use crate::engine::pacer::{Arrival, Next, Pacer};
use crate::wire::Wire;

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// The user of that connection is free: its next request begins now, later or never.
    #[inline]
    pub(super) fn free(&mut self, index: usize, now: Nanoseconds) {
        loop {
            match self.pacer.next(index, now) {
                Next::Now(arrival) => {
                    if self.begin(index, arrival, now) {
                        return;
                    }
                }
                Next::At(due) => {
                    self.timetable.add(due, index);
                    return self.rest(index);
                }
                Next::Never => return self.rest(index),
            }
        }
    }

    /// Begins the requests of the users who have waited for this instant.
    pub(super) fn begin_what_is_due(&mut self, now: Nanoseconds) {
        while let Some(index) = self.timetable.take_due(now) {
            self.free(index, self.now());
        }
    }

    /// Begins a request; false where it is too late for that, which is its outcome.
    #[inline]
    fn begin(&mut self, index: usize, arrival: Arrival, now: Nanoseconds) -> bool {
        let mut late = false;
        let mut from = None;
        if let Arrival::Scheduled { at, late: is_late } = arrival {
            if now >= at.saturating_add(self.timeout) {
                self.shed();
                return false;
            }
            // A late one was due when its user became free, which is now.
            let lag = if is_late { 0 } else { now - at };
            self.tally.schedule_lag.record(lag);
            (late, from) = (is_late, Some(at));
        }
        self.in_flight += 1;
        let connection = &mut self.connections[index];
        connection.request = Some(InFlight {
            from,
            deadline: from.unwrap_or(now).saturating_add(self.timeout),
            late,
            resent: false,
            sample: None,
        });
        if connection.is_open() {
            self.ask(index, now);
        } else {
            self.open(index);
        }
        true
    }

    #[cold]
    fn shed(&mut self) {
        let timeout = self.shared.plan.timeout;
        self.tally.not_ok(Outcome::Shed, || {
            format!("its user became free only more than {timeout:?} after it was due")
        });
    }

    /// Nothing is to be sent for now but what the wire has to say of itself.
    fn rest(&mut self, index: usize) {
        self.connections[index].activity = Activity::Idle;
        self.flush(index);
    }

    /// Looks after what no event tells of: timeouts and retries.
    pub(super) fn tick(&mut self, now: Nanoseconds) {
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            let request = connection.request.as_ref();
            let overdue = request.is_some_and(|request| request.deadline <= now);
            match connection.activity {
                Activity::Exchanging if overdue => self.timed_out(index, "whole answer"),
                Activity::Connecting { .. } | Activity::Retrying { .. } if overdue => {
                    self.timed_out(index, "connection");
                }
                Activity::Retrying { at } if at <= now => self.retry(index),
                _ => {}
            }
        }
    }

    #[cold]
    fn timed_out(&mut self, index: usize, lacking: &str) {
        let timeout = self.shared.plan.timeout;
        let detail = || format!("no {lacking} within {timeout:?}");
        if self.connections[index].activity == Activity::Exchanging {
            self.failed(index, Outcome::TimedOut, detail);
        } else {
            self.not_connected(index, Outcome::TimedOut, detail);
        }
    }
}
