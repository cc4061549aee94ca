//! The messages of a streaming gRPC call.

use serde::{Deserialize, Serialize};

use crate::base64::Base64;
use crate::call::PREFIX;
use crate::response::{Mismatch, difference_at, excerpt, first_difference};

/// The most bytes that a stream of expected messages takes.
const MOST_BYTES: u64 = 64 << 20;

/// The expected messages of a stream. The body that is compared has each message after the prefix that gRPC gives it: a
/// flag (0: not compressed) and its length in four bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(Base64, u32)", into = "(Base64, u32)")]
pub struct Messages {
    each: Vec<u8>,
    count: u32,
    body: Vec<u8>,
}

impl TryFrom<(Base64, u32)> for Messages {
    type Error = String;

    fn try_from((each, count): (Base64, u32)) -> Result<Self, String> {
        Self::new(each.0, count)
    }
}

impl From<Messages> for (Base64, u32) {
    fn from(messages: Messages) -> Self {
        (Base64(messages.each), messages.count)
    }
}

impl Messages {
    /// `count` times this message.
    ///
    /// # Errors
    ///
    /// If they take too many bytes.
    pub fn new(each: Vec<u8>, count: u32) -> Result<Self, String> {
        check_length(&each, count)?;
        Ok(Self::of(each, count))
    }

    /// The same, if they certainly take few enough.
    pub fn of(each: Vec<u8>, count: u32) -> Self {
        Self {
            body: stream_of(&each, count),
            count,
            each,
        }
    }

    /// The whole expected body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// `Err` with the first message that differs, or else with the number of messages.
    pub(super) fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
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

/// # Errors
///
/// If `count` times this message would take too many bytes.
fn check_length(message: &[u8], count: u32) -> Result<(), String> {
    let bytes = u64::from(count) * (PREFIX + message.len()) as u64;
    match bytes {
        0..=MOST_BYTES => Ok(()),
        _ => Err(format!(
            "{count} messages would take {bytes} bytes; at most {MOST_BYTES} are allowed"
        )),
    }
}

/// `count` times this message, each after its prefix.
fn stream_of(message: &[u8], count: u32) -> Vec<u8> {
    let mut one = vec![0];
    // A stream of at most `MOST_BYTES` has no longer message.
    one.extend_from_slice(&(message.len() as u32).to_be_bytes());
    one.extend_from_slice(message);
    one.repeat(count as usize)
}
