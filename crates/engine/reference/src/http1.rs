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

impl Http1 {
    /// Writes the responses to the requests in `bytes` to the shared output, up to a full batch; returns how many bytes
    /// that took.
    pub(crate) fn respond(&mut self, bytes: &[u8], shared: &mut Shared) -> (usize, Progress) {
        let mut read = 0;
        loop {
            if shared.output.left() >= BATCH {
                return (read, Progress::HeldBack);
            }
            let reply = match self.framer.next(&bytes[read..]) {
                Ok((length, event)) => {
                    read += length;
                    match event {
                        Event::NeedMore => return (read, Progress::Waits),
                        Event::Head(head) => {
                            if head.expects_continue {
                                go_on(shared);
                            }
                            self.reply = Some(Reply::to(&head));
                            None
                        }
                        Event::End => self.reply.take(),
                    }
                }
                Err(refusal) => Some(Reply::refusing(refusal)),
            };
            if let Some(reply) = reply {
                shared.begin(reply);
                shared.write(reply);
                if reply.link == Link::Closes {
                    return (read, Progress::Over);
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
