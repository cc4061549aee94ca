//! The messages of a response.

use prony_traffic::PREFIX;

use super::{LONGEST_MESSAGE, Malformed};

/// Reads messages from the pieces of a body.
#[derive(Debug, Default)]
pub(in crate::wire) struct MessageReader {
    prefix: [u8; PREFIX],
    /// How many bytes of the prefix have arrived; 0 between two messages.
    prefix_bytes: usize,
    /// How many bytes of the message are missing.
    left: u32,
    whole: u64,
}

impl MessageReader {
    /// How many messages are whole.
    pub(in crate::wire) fn whole(&self) -> u64 {
        self.whole
    }

    /// Takes bytes off `bytes`, up to the end of a message, and returns those of the message itself.
    pub(in crate::wire) fn eat<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
        if self.prefix_bytes < PREFIX {
            let lacking = (PREFIX - self.prefix_bytes).min(bytes.len());
            let (prefix, rest) = bytes.split_at(lacking);
            self.prefix[self.prefix_bytes..][..lacking].copy_from_slice(prefix);
            self.prefix_bytes += lacking;
            *bytes = rest;
            if self.prefix_bytes < PREFIX {
                return Ok(&[]);
            }
            self.left = message_length(self.prefix)?;
        }
        let (piece, rest) = bytes.split_at(bytes.len().min(self.left as usize));
        *bytes = rest;
        self.left -= piece.len() as u32;
        if self.left == 0 {
            self.whole += 1;
            self.prefix_bytes = 0;
        }
        Ok(piece)
    }

    /// Ends the body.
    pub(in crate::wire) fn end(&self) -> Result<(), Malformed> {
        match self.prefix_bytes {
            0 => Ok(()),
            _ => Err(Malformed::MessageCut),
        }
    }
}

fn message_length([flag, length @ ..]: [u8; PREFIX]) -> Result<u32, Malformed> {
    let length = u32::from_be_bytes(length);
    if flag != 0 {
        return Err(Malformed::Compressed(flag));
    }
    if length > LONGEST_MESSAGE {
        return Err(Malformed::MessageTooLong(length));
    }
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<u8>, u64), Malformed> {
        let (mut reader, mut messages) = (MessageReader::default(), Vec::new());
        for mut piece in pieces {
            while !piece.is_empty() {
                messages.extend_from_slice(reader.eat(&mut piece)?);
            }
        }
        reader.end()?;
        Ok((messages, reader.whole()))
    }

    #[test]
    fn messages_split_anywhere_are_the_same() {
        for (body, messages, count) in [
            (&b"\0\0\0\0\x03abc"[..], &b"abc"[..], 1),
            (b"\0\0\0\0\0", b"", 1),
            (b"\0\0\0\0\x01a\0\0\0\0\0\0\0\0\0\x02bc", b"abc", 3),
            (b"", b"", 0),
        ] {
            let expected = Ok((messages.to_vec(), count));
            for at in 0..=body.len() {
                assert_eq!(read([&body[..at], &[], &body[at..]]), expected);
            }
            assert_eq!(read(body.chunks(1)), expected);
        }
    }

    #[test]
    fn only_whole_uncompressed_messages_are_accepted() {
        assert_eq!(read([&b"\0\0\0\0\x02a"[..]]), Err(Malformed::MessageCut));
        assert_eq!(read([&b"\0\0\0\0"[..]]), Err(Malformed::MessageCut));
        assert_eq!(read([&b"\x01\0\0\0\0"[..]]), Err(Malformed::Compressed(1)));
        let giant = b"\0\x00\x40\x00\x01";
        let too_long = Malformed::MessageTooLong(LONGEST_MESSAGE + 1);
        assert_eq!(read([&giant[..]]), Err(too_long));
    }
}
