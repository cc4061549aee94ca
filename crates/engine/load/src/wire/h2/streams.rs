//! The streams of a connection.

use std::collections::VecDeque;
use std::ops::Deref;

use prony_http::SendWindow;

use super::StreamRequest;
use super::flow::ReceiveWindow;
use super::outgoing::Outgoing;
use super::response::ResponseReader;

#[derive(Debug)]
pub(super) enum StreamRequestRef<'a> {
    OfSet(&'a StreamRequest),
    /// One that belongs to the stream alone.
    Own(Box<StreamRequest>),
}

impl Deref for StreamRequestRef<'_> {
    type Target = StreamRequest;

    #[inline]
    fn deref(&self) -> &StreamRequest {
        match self {
            Self::OfSet(request) => request,
            Self::Own(request) => request,
        }
    }
}

/// A stream whose response is due.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    pub(super) number: u32,
    pub(super) request: StreamRequestRef<'a>,
    pub(super) response: ResponseReader,
    pub(super) send: SendWindow,
    pub(super) receive: ReceiveWindow,
    /// How many bytes of the connection are sent when the last one of the request's head is.
    pub(super) head_end_at: u64,
    /// How much of the request's body is sent or queued.
    pub(super) body_queued: usize,
    /// How many bytes of the connection are sent when the last one of the request is; `None` until that one is queued.
    pub(super) end_at: Option<u64>,
}

impl Stream<'_> {
    /// Whether the server can know of the request.
    pub(super) fn is_known(&self, out: &Outgoing) -> bool {
        self.head_end_at <= out.sent_bytes()
    }

    /// Whether the request is fully sent.
    pub(super) fn is_sent(&self, out: &Outgoing) -> bool {
        self.end_at.is_some_and(|end_at| end_at <= out.sent_bytes())
    }
}

/// How many streams that ended early to remember: the server may still send on them.
const MOST_REMEMBERED: usize = 4096;

/// The streams in the order of their numbers, which is that of their requests.
#[derive(Debug, Default)]
pub(super) struct Streams<'a> {
    open: VecDeque<Stream<'a>>,
    /// Numbers of streams that ended before the server ended them, sorted.
    abandoned: VecDeque<u32>,
    /// The highest number that was forgotten there.
    forgotten: u32,
}

impl<'a> Streams<'a> {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.open.clear();
        self.abandoned.clear();
        self.forgotten = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn first(&self) -> Option<&Stream<'a>> {
        self.open.front()
    }

    pub(super) fn last(&self) -> Option<&Stream<'a>> {
        self.open.back()
    }

    pub(super) fn add(&mut self, stream: Stream<'a>) {
        self.open.push_back(stream);
    }

    /// The position of the stream of that number.
    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<usize> {
        // Responses mostly come in the order of their requests.
        if self.open.front()?.number == number {
            return Some(0);
        }
        self.open
            .binary_search_by_key(&number, |stream| stream.number)
            .ok()
    }

    pub(super) fn get(&mut self, position: usize) -> &mut Stream<'a> {
        &mut self.open[position]
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Stream<'a>> {
        self.open.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream<'a>> {
        self.open.iter_mut()
    }

    pub(super) fn remove(&mut self, position: usize) -> Option<Stream<'a>> {
        self.open.remove(position)
    }

    /// Remembers that a stream has ended before the server ended it.
    pub(super) fn abandon(&mut self, number: u32) {
        if let Err(place) = self.abandoned.binary_search(&number) {
            self.abandoned.insert(place, number);
        }
        if self.abandoned.len() > MOST_REMEMBERED
            && let Some(oldest) = self.abandoned.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    /// Whether the server may still send on that stream, although it has ended here. `ends` says that the server ends
    /// it now.
    pub(super) fn is_abandoned(&mut self, number: u32, ends: bool) -> bool {
        match self.abandoned.binary_search(&number) {
            Ok(place) => {
                if ends {
                    self.abandoned.remove(place);
                }
                true
            }
            Err(_) => number <= self.forgotten,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_streams_are_remembered_in_any_order_and_bounded() {
        let mut streams = Streams::default();
        for number in [5, 1, 3, 3] {
            streams.abandon(number);
        }
        assert!(streams.is_abandoned(3, false));
        assert!(streams.is_abandoned(3, true));
        assert!(!streams.is_abandoned(3, false));
        for number in (7..100_000).step_by(2) {
            streams.abandon(number);
        }
        assert_eq!(streams.abandoned.len(), MOST_REMEMBERED);
        assert!(streams.is_abandoned(7, false));
        assert!(streams.is_abandoned(99_999, true));
        assert!(!streams.is_abandoned(99_999, false));
        assert!(!streams.is_abandoned(100_001, false));
    }
}
