//! HTTP/1.1 as a [`Wire`]: the same request again and again.

use super::{AnswerReader, Collect, Eaten, Ignore, Malformed, OnClose, Whole};
use crate::wire::{Fault, Wire};

/// One connection that sends the same request again and again.
#[derive(Debug)]
pub struct H1Wire<'a> {
    request: &'a [u8],
    sent: usize,
    /// Whether an answer is due.
    asked: bool,
    reader: AnswerReader,
}

impl<'a> H1Wire<'a> {
    /// Sends `request`, whose method is `HEAD` or is not.
    pub fn new(request: &'a [u8], is_head: bool) -> Self {
        Self {
            request,
            sent: request.len(),
            asked: false,
            reader: AnswerReader::new(is_head),
        }
    }

    fn answered(&mut self, whole: Option<Whole>) -> Option<Whole> {
        self.asked &= whole.is_none();
        whole
    }
}

impl Wire for H1Wire<'_> {
    fn open(&mut self) {
        self.reader.restart();
        self.sent = self.request.len();
        self.asked = false;
    }

    #[inline]
    fn request(&mut self) {
        self.sent = 0;
        self.asked = true;
    }

    #[inline]
    fn unsent(&self) -> &[u8] {
        &self.request[self.sent..]
    }

    #[inline]
    fn sent(&mut self, length: usize) {
        self.sent += length;
    }

    #[inline]
    fn request_sent(&self) -> bool {
        self.unsent().is_empty()
    }

    #[inline]
    fn eat(&mut self, bytes: &[u8], keep: Option<&mut Collect>) -> Result<Option<Whole>, Fault> {
        if !self.asked {
            return Err(Malformed::ExcessBytes.into());
        }
        let Eaten {
            bytes: eaten,
            whole,
        } = match keep {
            Some(keep) => self.reader.eat(bytes, keep)?,
            None => self.reader.eat(bytes, &mut Ignore)?,
        };
        if eaten < bytes.len() {
            return Err(Malformed::ExcessBytes.into());
        }
        Ok(self.answered(whole))
    }

    #[inline]
    fn skippable(&self) -> u64 {
        self.reader.skippable()
    }

    #[inline]
    fn skip(&mut self, length: u64) -> Option<Whole> {
        let whole = self.reader.skip(length);
        self.answered(whole)
    }

    fn close(&mut self) -> OnClose {
        self.reader.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    #[test]
    fn a_request_is_sent_in_pieces_and_again() {
        let mut wire = H1Wire::new(REQUEST, false);
        assert!(wire.unsent().is_empty());
        for _ in 0..2 {
            wire.request();
            wire.sent(4);
            assert_eq!(wire.unsent(), &REQUEST[4..]);
            wire.sent(REQUEST.len() - 4);
            assert!(wire.unsent().is_empty());
            assert_eq!(wire.eat(&ANSWER[..10], None), Ok(None));
            let whole = wire.eat(&ANSWER[10..], None).unwrap().unwrap();
            assert_eq!((whole.status, whole.body_bytes), (200, 2));
        }
    }

    #[test]
    fn bytes_that_nobody_asked_for_are_a_fault() {
        let excess = Err(Fault::H1(Malformed::ExcessBytes));
        let mut wire = H1Wire::new(REQUEST, false);
        assert_eq!(wire.eat(ANSWER, None), excess);
        wire.request();
        assert_eq!(wire.eat(&[ANSWER, b"!"].concat(), None), excess);
        wire.open();
        wire.request();
        assert!(wire.eat(ANSWER, None).unwrap().is_some());
        assert_eq!(wire.eat(b"HTTP/1.1 408 ", None), excess);
    }
}
