//! The messages of a streaming gRPC call.

use prony_load::{Mismatch, difference_at, excerpt, first_difference};

use crate::message::{MessageStream, PREFIX, check_length, stream_of};

/// The expected messages of a stream. The body that is compared has each message after the prefix that gRPC gives it: a
/// flag (0: not compressed) and its length in four bytes.
#[derive(Clone, Debug)]
pub struct Messages {
    each: Vec<u8>,
    count: u32,
    body: Vec<u8>,
}

impl Messages {
    pub fn new(stream: &MessageStream) -> Self {
        Self {
            each: stream.each().encode(),
            count: stream.count(),
            body: stream.encode(),
        }
    }

    /// `count` times this message.
    ///
    /// # Errors
    ///
    /// If they take too many bytes.
    pub fn of(each: Vec<u8>, count: u32) -> Result<Self, String> {
        check_length(&each, count)?;
        Ok(Self {
            body: stream_of(&each, count),
            count,
            each,
        })
    }

    /// The message.
    pub fn each(&self) -> &[u8] {
        &self.each
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The whole expected body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// `Err` with the first message that differs, or else with the number of messages.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if body == self.body {
            return Ok(());
        }
        let mut rest = body;
        let mut received = 0;
        while !rest.is_empty() {
            let Some((message, after)) = first_message(rest) else {
                return Err(Mismatch {
                    expected: format!("{} messages", self.count),
                    received: format!(
                        "{received} messages, then {} bytes that are not a whole uncompressed message: {}",
                        rest.len(),
                        excerpt(rest, 0)
                    ),
                });
            };
            received += 1;
            if message != self.each {
                return Err(self.other(received, message));
            }
            rest = after;
        }
        Err(Mismatch {
            expected: format!("{} messages", self.count),
            received: format!("{received} messages"),
        })
    }

    fn other(&self, number: usize, message: &[u8]) -> Mismatch {
        let at = first_difference(&self.each, message);
        let shown = |bytes: &[u8]| {
            let length = bytes.len();
            format!(
                "message {number}: {length} bytes, {}",
                difference_at(bytes, at)
            )
        };
        Mismatch {
            expected: shown(&self.each),
            received: shown(message),
        }
    }
}

/// The message at the start of `bytes`, and what follows it; `None` if it is not whole or is compressed.
fn first_message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[flag, ref length @ ..], rest) = bytes.split_first_chunk::<PREFIX>()?;
    let length = u32::from_be_bytes(*length) as usize;
    (flag == 0).then(|| rest.split_at_checked(length))?
}
