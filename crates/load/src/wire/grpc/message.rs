//! The one message of a unary response, after its prefix.

use super::Malformed;
use super::call::PREFIX;

/// Reads messages from the pieces of a body, and refuses a second one.
#[derive(Debug, Default)]
pub(super) struct MessageReader {
    prefix: [u8; PREFIX],
    /// How many bytes of the prefix have come.
    prefix_bytes: usize,
    /// Bytes of the message that have not come.
    left: u32,
}

impl MessageReader {
    /// Eats a piece of the body and returns the part of it that is the message's.
    pub(super) fn eat<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
        let lacking = (PREFIX - self.prefix_bytes).min(bytes.len());
        let (prefix, rest) = bytes.split_at(lacking);
        self.prefix[self.prefix_bytes..][..lacking].copy_from_slice(prefix);
        self.prefix_bytes += lacking;
        if lacking > 0 && self.prefix_bytes == PREFIX {
            let [flag, length @ ..] = self.prefix;
            if flag != 0 {
                return Err(Malformed::Compressed(flag));
            }
            self.left = u32::from_be_bytes(length);
        }
        if rest.len() > self.left as usize {
            return Err(Malformed::SecondMessage);
        }
        self.left -= rest.len() as u32;
        Ok(rest)
    }

    /// The body is over: whether there was a message.
    pub(super) fn end(&self) -> Result<bool, Malformed> {
        match (self.prefix_bytes, self.left) {
            (0, _) => Ok(false),
            (PREFIX, 0) => Ok(true),
            _ => Err(Malformed::MessageCut),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, bool), Malformed> {
        let (mut reader, mut message) = (MessageReader::default(), Vec::new());
        for piece in pieces {
            message.extend_from_slice(reader.eat(piece)?);
        }
        Ok((message, reader.end()?))
    }

    #[test]
    fn split_anywhere_the_message_is_the_same() {
        for body in [&b"\0\0\0\0\x03abc"[..], b"\0\0\0\0\0", b""] {
            let expected = (
                body.get(PREFIX..).unwrap_or_default().to_vec(),
                !body.is_empty(),
            );
            for at in 0..=body.len() {
                let pieces = [&body[..at], &[], &body[at..]];
                assert_eq!(read(pieces).as_ref(), Ok(&expected));
            }
            assert_eq!(read(body.chunks(1)), Ok(expected));
        }
    }

    #[test]
    fn one_whole_plain_message_is_all_that_is_read() {
        assert_eq!(
            read([&b"\0\0\0\0\x01ab"[..]]),
            Err(Malformed::SecondMessage)
        );
        assert_eq!(
            read([&b"\0\0\0\0\0"[..], b"\0"]),
            Err(Malformed::SecondMessage)
        );
        assert_eq!(read([&b"\0\0\0\0\x02a"[..]]), Err(Malformed::MessageCut));
        assert_eq!(read([&b"\0\0\0\0"[..]]), Err(Malformed::MessageCut));
        assert_eq!(read([&b"\x01\0\0\0\0"[..]]), Err(Malformed::Compressed(1)));
        let giant = b"\0\xff\xff\xff\xff";
        assert_eq!(read([&giant[..]]), Err(Malformed::MessageCut));
    }
}
