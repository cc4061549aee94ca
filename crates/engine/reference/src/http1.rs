//! One connection in HTTP/1.1: its requests one after the other, and their responses in the same order.

use crate::framing::{Event, Framer, Link};
use crate::route::Reply;
use crate::shared::{BATCH, Progress, Shared};

#[derive(Debug, Default)]
pub(crate) struct Http1 {
    framer: Framer,
    /// The reply to the request whose body is being skipped.
    reply: Option<Reply>,
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
            let (length, reply) = self.next(&bytes[read..], || go_on(shared));
            read += length;
            let Some(reply) = reply else {
                return (read, Progress::Waits);
            };
            shared.begin(reply);
            shared.write(reply);
            if reply.link == Link::Closes {
                return (read, Progress::Over);
            }
        }
    }

    /// The reply to the next request, once it is whole, and how many bytes were read. `go_on` is called if the client
    /// waits for `100 Continue`.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8], mut go_on: impl FnMut()) -> (usize, Option<Reply>) {
        let mut read = 0;
        loop {
            let (length, event) = match self.framer.next(&bytes[read..]) {
                Ok(next) => next,
                Err(refusal) => return (read, Some(Reply::refusing(refusal))),
            };
            read += length;
            match event {
                Event::NeedMore => return (read, None),
                Event::Head(head) => {
                    if head.expects_continue {
                        go_on();
                    }
                    self.reply = Some(Reply::to(&head));
                }
                Event::End => return (read, self.reply.take()),
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
