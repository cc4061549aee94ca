//! The ciphertext to send.

use std::collections::VecDeque;

/// Records that are not fully sent yet. The buffer is reused whenever everything is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// Bytes of the connection that were sent before `bytes`.
    sent_before: u64,
    /// The records with plaintext of the wire inside, in order.
    records: VecDeque<Record>,
    /// How much plaintext they hold.
    plaintext: usize,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    /// How many bytes of the connection are sent when this record is.
    end: u64,
    plaintext: usize,
}

impl Outgoing {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        self.records.clear();
        (self.sent, self.sent_before, self.plaintext) = (0, 0, 0);
    }

    pub(super) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How many bytes of plaintext are encrypted, and their records not fully sent.
    pub(super) fn plaintext(&self) -> usize {
        self.plaintext
    }

    /// Appends what `write` writes to a buffer of at least that length; it may want a longer one.
    pub(super) fn write<E>(
        &mut self,
        length: usize,
        mut write: impl FnMut(&mut [u8]) -> Result<usize, Wanted<E>>,
    ) -> Result<(), E> {
        let (start, mut length) = (self.bytes.len(), length);
        loop {
            self.bytes.resize(start + length, 0);
            let written = write(&mut self.bytes[start..]);
            self.bytes.truncate(start + *written.as_ref().unwrap_or(&0));
            match written {
                Ok(_) => return Ok(()),
                Err(Wanted::Longer(wanted)) => length = wanted,
                Err(Wanted::Nothing(error)) => return Err(error),
            }
        }
    }

    /// Takes note that the last record written holds that much plaintext.
    pub(super) fn holds(&mut self, plaintext: usize) {
        self.plaintext += plaintext;
        self.records.push_back(Record {
            end: self.sent_before + self.bytes.len() as u64,
            plaintext,
        });
    }

    /// Takes note that `length` bytes, at most those unsent, were sent. Returns how much plaintext is sent with them:
    /// that of all records whose end is sent.
    pub(super) fn sent(&mut self, length: usize) -> usize {
        self.sent += length;
        let sent = self.sent_before + self.sent as u64;
        if self.sent == self.bytes.len() {
            self.bytes.clear();
            self.sent_before += std::mem::take(&mut self.sent) as u64;
        }
        let mut plaintext = 0;
        while let Some(record) = self.records.pop_front_if(|record| record.end <= sent) {
            plaintext += record.plaintext;
        }
        self.plaintext -= plaintext;
        plaintext
    }

    /// Forgets sent bytes if they fill half of the buffer.
    pub(super) fn tidy(&mut self) {
        if self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent_before += std::mem::take(&mut self.sent) as u64;
        }
    }
}

/// Why nothing was written.
pub(super) enum Wanted<E> {
    /// The buffer must have this length.
    Longer(usize),
    /// It cannot be written at all.
    Nothing(E),
}
