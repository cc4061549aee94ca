//! Until when requests may be sent, and responses arrive.

use std::collections::BTreeSet;

use prony_model::LoadShape;

use crate::engine::clock::{Nanoseconds, nanoseconds};
use crate::plan::LoadPlan;

/// How long the requests of a load may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimits {
    /// From the send of a request to its whole response.
    pub(super) timeout: Nanoseconds,
    /// From the due time of a request to its send; the end of time if that may take any time.
    deadline: Nanoseconds,
    /// Whether a response must arrive by its request's deadline.
    pub(super) deadline_binds_responses: bool,
}

impl TimeLimits {
    pub(super) fn of(plan: &LoadPlan) -> Self {
        Self {
            timeout: nanoseconds(plan.timeout),
            deadline: plan.deadline.map_or(Nanoseconds::MAX, nanoseconds),
            deadline_binds_responses: matches!(plan.shape, LoadShape::UsersOpen { .. }),
        }
    }

    /// Until when a request due at `at` may be sent.
    #[inline]
    pub(super) fn latest_send(&self, at: Nanoseconds) -> Nanoseconds {
        at.saturating_add(self.deadline)
    }

    /// Until when the response to a request sent now may arrive.
    #[inline]
    pub(super) fn latest_response(
        &self,
        now: Nanoseconds,
        due: Option<Nanoseconds>,
    ) -> Nanoseconds {
        let latest = now.saturating_add(self.timeout);
        match due {
            Some(at) if self.deadline_binds_responses => latest.min(self.latest_send(at)),
            _ => latest,
        }
    }
}

/// When to check the deadlines of each connection that has any: one entry per connection.
///
/// An entry moves only when it comes up, or if a request may take less time than those before it: nearly always the
/// response arrived long before, so a request costs nothing.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    checks: BTreeSet<(Nanoseconds, usize)>,
    /// When each connection will be checked; the end of time if it has no entry.
    watched: Vec<Nanoseconds>,
}

impl Deadlines {
    /// Makes sure that the connection's deadlines are checked at `at` or before.
    #[inline]
    pub(super) fn watch(&mut self, index: usize, at: Nanoseconds) {
        let watched = self.watched.get(index).copied();
        if at < watched.unwrap_or(Nanoseconds::MAX) {
            self.check_at(index, at);
        }
    }

    #[cold]
    fn check_at(&mut self, index: usize, at: Nanoseconds) {
        if self.watched.len() <= index {
            self.watched.resize(index + 1, Nanoseconds::MAX);
        }
        let before = std::mem::replace(&mut self.watched[index], at);
        self.checks.remove(&(before, index));
        self.checks.insert((at, index));
    }

    /// The time of the earliest check; the end of time if there is none.
    pub(super) fn next(&self) -> Nanoseconds {
        self.checks.first().map_or(Nanoseconds::MAX, |&(at, _)| at)
    }

    /// Takes a connection that is to be checked by `now`.
    pub(super) fn take_due(&mut self, now: Nanoseconds) -> Option<usize> {
        if self.next() > now {
            return None;
        }
        let (_, index) = self.checks.pop_first()?;
        self.watched[index] = Nanoseconds::MAX;
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_checked_once_at_its_earliest_deadline() {
        let mut deadlines = Deadlines::default();
        for (index, at) in [(3, 50), (0, 40), (3, 60), (3, 30), (1, Nanoseconds::MAX)] {
            deadlines.watch(index, at);
        }
        assert_eq!(deadlines.next(), 30);
        assert_eq!(deadlines.take_due(29), None);
        let due: Vec<usize> = std::iter::from_fn(|| deadlines.take_due(100)).collect();
        assert_eq!(due, [3, 0]);
        deadlines.watch(3, 60);
        assert_eq!((deadlines.next(), deadlines.take_due(60)), (60, Some(3)));
        assert_eq!(deadlines.next(), Nanoseconds::MAX);
    }

    #[test]
    fn a_deadline_binds_the_send_and_sometimes_the_response() {
        for (deadline, deadline_binds_responses, due, send, response) in [
            (20, false, 100, 120, 1110),
            (20, true, 100, 120, 120),
            (2000, true, 100, 2100, 1110),
            (Nanoseconds::MAX, true, 100, Nanoseconds::MAX, 1110),
        ] {
            let limits = TimeLimits {
                timeout: 1000,
                deadline,
                deadline_binds_responses,
            };
            assert_eq!(limits.latest_send(due), send);
            assert_eq!(limits.latest_response(110, Some(due)), response);
            assert_eq!(limits.latest_response(110, None), 1110);
        }
    }
}
