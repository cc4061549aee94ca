//! Connections that wait for an arrival of the shared schedule.

use std::collections::VecDeque;

use crate::engine::clock::Nanoseconds;

/// The one that has waited longest first, so that all are used in turn.
#[derive(Debug, Default)]
pub(super) struct IdleQueue {
    /// Some of them may have stopped waiting meanwhile.
    queue: VecDeque<usize>,
    /// Since when each connection has waited, if it does.
    since: Vec<Option<Nanoseconds>>,
}

impl IdleQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The connection waits, unless it does already.
    #[inline]
    pub(super) fn add(&mut self, index: usize, now: Nanoseconds) {
        if self.since.len() <= index {
            self.since.resize(index + 1, None);
        }
        let since = &mut self.since[index];
        if since.is_none() {
            *since = Some(now);
            self.queue.push_back(index);
        }
    }

    /// The connection waits no more, if it did.
    pub(super) fn remove(&mut self, index: usize) {
        if let Some(since) = self.since.get_mut(index) {
            *since = None;
        }
    }

    /// The connection takes the next arrival, if it waits.
    pub(super) fn prefer(&mut self, index: usize) {
        if self.since.get(index).is_some_and(Option::is_some) {
            self.queue.retain(|&waiting| waiting != index);
            self.queue.push_front(index);
        }
    }

    /// Drops connections from the front that wait no more, or cannot take an arrival.
    #[inline]
    pub(super) fn drop_lost(&mut self, can_take: impl Fn(usize) -> bool) {
        while let Some(&index) = self.queue.front()
            && !(self.since[index].is_some() && can_take(index))
        {
            self.since[index] = None;
            self.queue.pop_front();
        }
    }

    /// Since when the first one has waited, if one waits.
    pub(super) fn free_since(&self) -> Option<Nanoseconds> {
        self.since[*self.queue.front()?]
    }

    /// Takes the first one, and since when it has waited.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Idle> {
        let index = self.queue.pop_front()?;
        let since = self.since[index].take()?;
        Some(Idle { index, since })
    }
}

/// A connection that has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    pub(super) index: usize,
    pub(super) since: Nanoseconds,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(waiting: &[usize]) -> IdleQueue {
        let mut idle = IdleQueue::default();
        for (now, &index) in (100..).zip(waiting) {
            idle.add(index, now);
        }
        idle
    }

    fn taken(mut idle: IdleQueue) -> Vec<(usize, Nanoseconds)> {
        let all = std::iter::from_fn(|| {
            idle.drop_lost(|_| true);
            idle.take()
        });
        all.map(|it| (it.index, it.since)).collect()
    }

    #[test]
    fn connections_are_used_in_turn_and_each_waits_once() {
        let idle = queue(&[4, 1, 4, 2]);
        assert_eq!(idle.free_since(), Some(100));
        assert_eq!(taken(idle), [(4, 100), (1, 101), (2, 103)]);
    }

    #[test]
    fn a_connection_without_a_fault_lets_one_with_a_fault_go_first() {
        let mut idle = queue(&[4, 1, 2]);
        idle.prefer(2);
        idle.prefer(9);
        assert_eq!(taken(idle), [(2, 102), (4, 100), (1, 101)]);
    }

    #[test]
    fn connections_that_were_lost_or_have_no_room_are_passed_over() {
        let mut idle = queue(&[4, 1, 2]);
        idle.remove(4);
        idle.remove(9);
        idle.drop_lost(|index| index != 1);
        assert_eq!(idle.free_since(), Some(102));
        // With room again it waits again.
        idle.add(1, 200);
        assert_eq!(taken(idle), [(2, 102), (1, 200)]);
        assert_eq!(queue(&[]).free_since(), None);
    }
}
