//! Keeps the bodies of responses that are short.

use prony_traffic::BodyLimit;

/// The short bodies of a connection, in memory that is used again.
#[derive(Debug)]
pub(super) struct ShortBodies {
    limit: BodyLimit,
    /// That of the last response.
    last: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

impl ShortBodies {
    /// Keeps bodies of up to `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Self {
            limit: BodyLimit(most),
            last: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Memory for the next body.
    pub(super) fn memory(&mut self) -> Vec<u8> {
        let mut memory = self.spare.pop().unwrap_or_default();
        memory.clear();
        memory
    }

    pub(super) fn add(&self, body: &mut Vec<u8>, piece: &[u8]) {
        self.limit.add(body, piece);
    }

    /// Takes the body of a response that has ended.
    pub(super) fn put(&mut self, body: Vec<u8>) {
        let before = std::mem::replace(&mut self.last, body);
        self.spare.push(before);
    }

    /// The body of the last response.
    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }
}
