//! Streams held open beside the load.

use prony_model::Outcome;

use super::Worker;
use crate::engine::clock::Nanoseconds;
use crate::engine::connection::{Activity, InFlight, Role};
use crate::engine::tally::StreamCourse;
use crate::wire::Wire;

/// The pause before a stream that has ended is requested again: short responses must not become a load of their own.
const PAUSE: Nanoseconds = 10_000_000;

impl<W: Wire> Worker<'_, W> {
    /// Requests a stream.
    pub(super) fn begin_stream(&mut self, index: usize) {
        let number = self.mix.next();
        let connection = &mut self.connections[index];
        connection.in_flight.push_back(InFlight {
            number,
            deadline: self.now.saturating_add(self.timeout),
            resent: true,
            ..InFlight::default()
        });
        match connection.activity {
            Activity::Open => {
                self.pass_to_wire(index);
                self.flush(index);
            }
            _ => self.open(index),
        }
    }

    /// Requests a stream that has ended again, after a pause.
    pub(super) fn reopen_stream(&mut self, index: usize) {
        let connection = &self.connections[index];
        let rests = matches!(connection.activity, Activity::Retrying { .. });
        if connection.in_flight.is_empty() && !rests {
            let at = self.now + PAUSE;
            self.close(index, Activity::Retrying { at });
            self.retries.add(at, index);
        } else {
            self.flush(index);
        }
    }

    /// Counts the streams that were held until the end of the load.
    pub(super) fn end_streams(&mut self) {
        let streams = &mut self.tally.streams;
        for connection in &self.connections[..self.share.streams] {
            debug_assert_eq!(connection.role, Role::Stream);
            let requests = connection.in_flight.iter();
            let sent = requests.filter(|request| request.from.is_some()).count();
            streams.outcomes[Outcome::Unfinished] += sent as u64;
            let held = connection.in_flight.front();
            let held = held.filter(|it| it.response_begun && connection.is_open());
            self.counts.streams_at_end += u64::from(held.is_some());
            streams.slower(held.map(|it| StreamCourse {
                events: it.events,
                held: self.now.saturating_sub(it.from.unwrap_or(self.now)),
            }));
        }
    }
}
