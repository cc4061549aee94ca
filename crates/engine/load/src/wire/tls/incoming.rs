//! The received ciphertext that is not decrypted yet.

/// The longest TLS record, with its header (RFC 5246, section 6.2.3).
const LONGEST_RECORD: usize = 5 + 16 * 1024 + 2048;
/// The most bytes of a handshake message with the headers of its records, as rustls limits them.
const LONGEST_MESSAGE: usize = 0xffff;
/// By how much the buffer grows for a handshake message that is longer than a record.
const STEP: usize = 4096;

/// One buffer: at most a record, or a handshake message that spans several.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    start: usize,
}

impl Incoming {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }

    pub(super) fn undecrypted(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    pub(super) fn start(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Whether there seems to be a whole record.
    pub(super) fn has_record(&self) -> bool {
        match self.start() {
            [_, _, _, high, low, rest @ ..] => {
                rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
            }
            _ => false,
        }
    }

    /// Forgets the first `length` bytes: they are decrypted.
    pub(super) fn discard(&mut self, length: usize) {
        self.start += length;
        if self.is_empty() {
            self.restart();
        }
    }

    /// Takes as many of `bytes` as there is room for if those before them cannot be decrypted without more; none if
    /// the server must not make Prony wait for more.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> usize {
        self.bytes.drain(..self.start);
        self.start = 0;
        let held = self.bytes.len();
        let most = match held {
            ..LONGEST_RECORD => LONGEST_RECORD,
            _ => LONGEST_MESSAGE.min(held + STEP),
        };
        let taken = bytes.len().min(most.saturating_sub(held));
        self.bytes.extend_from_slice(&bytes[..taken]);
        taken
    }
}
