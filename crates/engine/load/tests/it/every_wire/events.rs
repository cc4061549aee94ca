//! A response of events, or of the messages of a call.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::time::{Sleep, sleep};

use super::calls::prefix;
use super::server::Counts;

/// Before the first event of a response, and between two of its events.
pub(super) const GAP: Duration = Duration::from_millis(5);
/// Every tenth event, the first included, is longer than a frame of HTTP/2, a record of TLS and the initial window of
/// a stream.
const LONG: usize = 70_000;

/// The body: each event comes in two pieces that split the name of a field, or the length of a message.
pub(super) struct EventBody {
    number: u64,
    events: u64,
    /// Whether the events are the messages of a call.
    is_grpc: bool,
    /// The second half of the event whose first half was sent.
    rest: Option<Bytes>,
    pause: Pin<Box<Sleep>>,
    counts: Arc<Counts>,
}

impl EventBody {
    pub(super) fn of(events: u64, is_grpc: bool, counts: Arc<Counts>) -> Self {
        Self {
            number: 0,
            events,
            is_grpc,
            rest: None,
            pause: Box::pin(sleep(GAP)),
            counts,
        }
    }

    /// A comment and one event, or one message, in two pieces.
    fn next_event(&mut self) -> (Bytes, Bytes) {
        let length = if self.number.is_multiple_of(10) {
            LONG
        } else {
            3
        };
        self.number += 1;
        self.counts.events.fetch_add(1, Relaxed);
        let text = "x".repeat(length);
        if self.is_grpc {
            let mut message = Bytes::from([&prefix(length)[..], text.as_bytes()].concat());
            return (message.split_to(3), message);
        }
        let first = ": still here\n\nid: 7\nda".into();
        let rest = format!("ta: one\r\ndata: {text}\n\n").into();
        (first, rest)
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(rest) = self.rest.take() {
            return Poll::Ready(Some(Ok(Frame::data(rest))));
        }
        if self.number == self.events {
            return Poll::Ready(None);
        }
        ready!(self.pause.as_mut().poll(context));
        self.pause = Box::pin(sleep(GAP));
        let (first, rest) = self.next_event();
        self.rest = Some(rest);
        Poll::Ready(Some(Ok(Frame::data(first))))
    }
}
