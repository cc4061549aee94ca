//! One connection in HTTP/1.1: its requests one after the other, and their responses in the same order.

use crate::framing::{Event, Framer, Link};
use crate::route::Reply;
use crate::shared::{BATCH, Progress, Shared};

/// One connection in HTTP/1.1.
#[derive(Debug, Default)]
pub(crate) struct Http1 {
    framer: Framer,
    /// The reply to the request whose body is being skipped.
    reply: Option<Reply>,
}

/// What a client wants next.
pub(crate) enum Step {
    /// Nothing until it has sent more.
    NeedsMore,
    /// `100 Continue`, before it sends a body.
    Continue,
    /// The response to a whole request.
    Reply(Reply),
}

impl Http1 {
    /// Writes the responses to the requests in `bytes` to the shared output, up to a full batch; returns how many bytes
    /// that took.
    pub(crate) fn respond(&mut self, bytes: &[u8], shared: &mut Shared) -> (usize, Progress) {
        let mut read = 0;
        loop {
            if shared.output.left() >= BATCH {
                return (read, Progress::HeldBack);
            }
            let (length, step) = self.next(&bytes[read..]);
            read += length;
            match step {
                Step::NeedsMore => return (read, Progress::Waits),
                Step::Continue => go_on(shared),
                Step::Reply(reply) => {
                    shared.begin(reply);
                    shared.write(reply);
                    if reply.link == Link::Closes {
                        return (read, Progress::Over);
                    }
                }
            }
        }
    }

    /// What the connection's next bytes ask for, and how many of them that takes.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> (usize, Step) {
        let mut read = 0;
        loop {
            let (length, event) = match self.framer.next(&bytes[read..]) {
                Ok(next) => next,
                Err(refusal) => return (read, Step::Reply(Reply::refusing(refusal))),
            };
            read += length;
            match event {
                Event::NeedMore => return (read, Step::NeedsMore),
                Event::Head(head) => {
                    self.reply = Some(Reply::to(&head));
                    if head.expects_continue {
                        return (read, Step::Continue);
                    }
                }
                Event::End => {
                    if let Some(reply) = self.reply.take() {
                        return (read, Step::Reply(reply));
                    }
                }
            }
        }
    }
}

fn go_on(shared: &mut Shared) {
    let buffer = shared.output.buffer();
    let start = buffer.len();
    buffer.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    shared.output.push_since(start);
}
