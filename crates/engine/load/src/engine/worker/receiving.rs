//! Notes what arrives in the responses of one connection.

use std::collections::VecDeque;

use crate::engine::clock::Nanoseconds;
use crate::engine::connection::InFlight;
use crate::engine::tally::Tally;
use crate::wire::Responses;
use prony_traffic::Collect;

pub(super) struct Receiving<'a> {
    pub(super) in_flight: &'a mut VecDeque<InFlight>,
    pub(super) is_stream: bool,
    pub(super) tally: &'a mut Tally,
    pub(super) now: Nanoseconds,
    /// Whether to measure the time to the first byte.
    pub(super) first_byte: bool,
}

impl Responses for Receiving<'_> {
    #[inline]
    fn begun(&mut self, position: usize) {
        let Some(request) = self.in_flight.get_mut(position) else {
            return;
        };
        if std::mem::replace(&mut request.response_begun, true) {
            return;
        }
        if let Some(traced) = &mut request.traced {
            traced.begun(self.now);
        }
        if self.is_stream {
            // From here on it may take any time.
            request.deadline = Nanoseconds::MAX;
        } else if self.first_byte {
            let from = request.from.unwrap_or(self.now);
            request.first_byte = Some(self.now.saturating_sub(from));
        }
    }

    #[inline]
    fn keep(&mut self, position: usize) -> Option<&mut Collect> {
        let sample = self.in_flight.get_mut(position)?.sample.as_mut()?;
        Some(&mut sample.collect)
    }

    fn events(&mut self, position: usize, count: u64) {
        let Some(request) = self.in_flight.get_mut(position) else {
            return;
        };
        let tally = if self.is_stream {
            &mut self.tally.streams.events
        } else {
            &mut self.tally.events
        };
        let from = request.from.unwrap_or(self.now);
        tally.received(count, self.now, from, request.last_event);
        request.events += count;
        request.last_event = Some(self.now);
    }
}
