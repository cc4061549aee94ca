//! Responses that do not arrive in time.

use prony_model::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::Activity;
use crate::engine::pacer::Pacer;
use crate::wire::Wire;

impl<P: Pacer, W: Wire> Worker<'_, P, W> {
    /// Makes sure that the connection's deadlines are checked at `at` or before.
    ///
    /// Each connection has at most one entry in the timetable, which moves only when it comes up: nearly always the
    /// response arrived long before, so a request costs nothing.
    #[inline]
    pub(super) fn watch_deadline(&mut self, index: usize, at: Nanoseconds) {
        let connection = &mut self.connections[index];
        if !connection.is_watched && at != Nanoseconds::MAX {
            connection.is_watched = true;
            self.deadlines.add(at, index);
        }
    }

    /// Gives up requests that got no response in time.
    pub(super) fn check_deadlines(&mut self) {
        while let Some(index) = self.deadlines.take_due(self.now) {
            self.connections[index].is_watched = false;
            match self.next_deadline(index) {
                Some(deadline) if deadline <= self.now => self.timed_out(index),
                Some(deadline) => self.watch_deadline(index, deadline),
                None => {}
            }
        }
    }

    /// When the next request of that connection times out.
    pub(super) fn next_deadline(&self, index: usize) -> Option<Nanoseconds> {
        let connection = &self.connections[index];
        let responses = connection.in_flight.iter().map(|it| it.deadline).min();
        let connected = match connection.activity {
            Activity::Connecting { since } => Some(since.saturating_add(self.timeout)),
            _ => None,
        };
        responses.into_iter().chain(connected).min()
    }

    #[cold]
    fn timed_out(&mut self, index: usize) {
        let is_open = self.connections[index].activity == Activity::Open;
        let missing = if is_open {
            "whole response"
        } else {
            "connection"
        };
        let plan = self.shared.plan;
        let detail = || match plan.deadline {
            Some(deadline) if deadline < plan.timeout => {
                format!("no {missing} within {deadline:?} of its due time")
            }
            _ => format!("no {missing} within {:?}", plan.timeout),
        };
        if is_open {
            self.failed(index, Outcome::TimedOut, detail);
            self.free(index);
        } else {
            self.connecting_timed_out(index, detail);
        }
    }
}
