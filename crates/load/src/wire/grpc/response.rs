//! One response to a unary call, from its head to its trailers.

use super::Malformed;
use super::call::PREFIX;
use crate::wire::h1::{Collect, Keep};
use crate::wire::h2::hpack::Fields;
use crate::wire::{Whole, decimal};

/// `UNKNOWN`: the result of a call if the server does not tell.
const UNKNOWN: u32 = 2;

/// Fields that HTTP/2 replaces by other means (RFC 9113, section 8.2.2).
const CONNECTION_FIELDS: [&[u8]; 5] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Nothing,
    /// After a 1xx: the head follows.
    Interim,
    /// After the head: the body or the trailers follow.
    Body,
}

/// Reads one response.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    stage: Stage,
    status: u16,
    /// Whether the response is gRPC's, and not from something in front of it.
    is_grpc: bool,
    rpc_status: Option<u32>,
    message: MessageReader,
    body_bytes: u64,
}

impl ResponseReader {
    /// Whether anything has arrived.
    pub(super) fn begun(&self) -> bool {
        self.stage != Stage::Nothing
    }

    /// Takes a list of fields; `end` says whether the server ended the stream with it.
    pub(super) fn fields(
        &mut self,
        fields: &Fields,
        end: bool,
        keep: Option<&mut Collect>,
    ) -> Result<(), Malformed> {
        let known = KnownFields::find(fields)?;
        match self.stage {
            Stage::Nothing | Stage::Interim => self.head(&known, fields, end, keep),
            Stage::Body => self.trailers(&known, fields, end, keep),
        }
    }

    fn head(
        &mut self,
        known: &KnownFields<'_>,
        fields: &Fields,
        end: bool,
        keep: Option<&mut Collect>,
    ) -> Result<(), Malformed> {
        let status = known.status.ok_or(Malformed::PseudoField)?;
        self.stage = match status {
            101 => return Err(Malformed::SwitchingProtocols),
            100..=199 if end => return Err(Malformed::OnlyInterim),
            100..=199 => Stage::Interim,
            _ => Stage::Body,
        };
        if self.stage == Stage::Interim {
            return Ok(());
        }
        self.status = status;
        self.is_grpc = known.content_type.is_some_and(is_grpc);
        if end {
            // Such a head also has the trailers.
            self.take_rpc_status(known)?;
        }
        if let Some(keep) = keep {
            keep.set_head(status, owned(fields).collect());
        }
        Ok(())
    }

    fn trailers(
        &mut self,
        known: &KnownFields<'_>,
        fields: &Fields,
        end: bool,
        keep: Option<&mut Collect>,
    ) -> Result<(), Malformed> {
        if known.status.is_some() {
            return Err(Malformed::PseudoField);
        }
        if !end {
            return Err(Malformed::AfterTrailers);
        }
        self.take_rpc_status(known)?;
        if let Some(keep) = keep {
            owned(fields).for_each(|(name, value)| keep.add_header(name, value));
        }
        Ok(())
    }

    /// Takes a piece of the body.
    pub(super) fn data(
        &mut self,
        bytes: &[u8],
        keep: Option<&mut Collect>,
    ) -> Result<(), Malformed> {
        if self.stage != Stage::Body {
            return Err(Malformed::BodyBeforeHead);
        }
        let bytes = if self.is_grpc {
            self.message.eat(bytes)?
        } else {
            bytes
        };
        self.body_bytes += bytes.len() as u64;
        if let Some(keep) = keep {
            keep.body(bytes);
        }
        Ok(())
    }

    /// Takes the end of the stream.
    pub(super) fn end(&self) -> Result<Whole, Malformed> {
        let has_message = self.message.end()?;
        let rpc_status = match self.rpc_status {
            None if self.status == 200 => Some(UNKNOWN),
            status => status,
        };
        if rpc_status == Some(0) && !has_message {
            return Err(Malformed::NoMessage);
        }
        Ok(Whole {
            status: self.status,
            body_bytes: self.body_bytes,
            keep_alive: true,
            rpc_status,
        })
    }

    fn take_rpc_status(&mut self, known: &KnownFields<'_>) -> Result<(), Malformed> {
        if let Some(digits) = known.rpc_status
            && self.is_grpc
        {
            let status = decimal(digits).and_then(|status| status.try_into().ok());
            self.rpc_status = Some(status.ok_or(Malformed::RpcStatus)?);
        }
        Ok(())
    }
}

/// The fields that matter for reading a response.
#[derive(Default)]
struct KnownFields<'a> {
    status: Option<u16>,
    content_type: Option<&'a [u8]>,
    rpc_status: Option<&'a [u8]>,
}

impl<'a> KnownFields<'a> {
    fn find(fields: &'a Fields) -> Result<Self, Malformed> {
        let mut known = Self::default();
        for (place, (name, value)) in fields.iter().enumerate() {
            match name {
                // There must be exactly one, in the first place.
                b":status" if place == 0 => known.status = Some(status(value)?),
                [b':', ..] => return Err(Malformed::PseudoField),
                _ if !is_allowed(name, value) => return Err(Malformed::Field),
                b"content-type" => known.content_type = known.content_type.or(Some(value)),
                b"grpc-status" => known.rpc_status = known.rpc_status.or(Some(value)),
                _ => {}
            }
        }
        Ok(known)
    }
}

fn status(value: &[u8]) -> Result<u16, Malformed> {
    match value {
        [b'1'..=b'9', _, _] => decimal(value)
            .and_then(|status| status.try_into().ok())
            .ok_or(Malformed::Status),
        _ => Err(Malformed::Status),
    }
}

/// RFC 9113, section 8.2.1.
fn is_allowed(name: &[u8], value: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && *byte != b':')
        && !value.iter().any(|byte| b"\0\r\n".contains(byte))
        && !CONNECTION_FIELDS.contains(&name)
}

/// `application/grpc`, `application/grpc+proto` and so on; not `application/grpc-web`, which is another protocol.
fn is_grpc(content_type: &[u8]) -> bool {
    content_type
        .strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// The fields in the form of a [`crate::Response`].
fn owned(fields: &Fields) -> impl Iterator<Item = (String, Vec<u8>)> {
    let regular = fields.iter().filter(|(name, _)| !name.starts_with(b":"));
    regular.map(|(name, value)| {
        let value = match name {
            b"grpc-message" => percent_decoded(value),
            _ => value.to_vec(),
        };
        (String::from_utf8_lossy(name).into_owned(), value)
    })
}

/// Invalid percent-encoding is left unchanged, as gRPC requires.
fn percent_decoded(mut text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    while let Some((&first, rest)) = text.split_first() {
        let (byte, rest) = match rest {
            [high, low, rest @ ..] if first == b'%' => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, rest),
                _ => (first, &text[1..]),
            },
            _ => (first, rest),
        };
        decoded.push(byte);
        text = rest;
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    Some((digit as char).to_digit(16)? as u8)
}

/// Reads the one message of a unary response from the pieces of a body, without its prefix.
#[derive(Debug, Default)]
struct MessageReader {
    prefix: [u8; PREFIX],
    /// How many bytes of the prefix have arrived.
    prefix_bytes: usize,
    /// How many bytes of the message are missing.
    left: u32,
}

impl MessageReader {
    /// Eats a piece of the body and returns the part of it that belongs to the message.
    fn eat<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
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

    /// Ends the body; returns whether there was a message.
    fn end(&self) -> Result<bool, Malformed> {
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
    fn a_message_split_anywhere_is_the_same() {
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
    fn only_one_whole_uncompressed_message_is_accepted() {
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

    #[test]
    fn only_grpc_content_types_are_grpc() {
        for yes in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;a=b",
        ] {
            assert!(is_grpc(yes.as_bytes()), "{yes}");
        }
        for no in ["", "text/html", "application/grp", "application/grpc-web"] {
            assert!(!is_grpc(no.as_bytes()), "{no}");
        }
    }

    #[test]
    fn invalid_percent_encoding_is_left_unchanged() {
        for (encoded, text) in [
            ("no%20way", "no way"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
            ("%E2%82%ac", "€"),
            ("%%41", "%A"),
            ("", ""),
        ] {
            assert_eq!(percent_decoded(encoded.as_bytes()), text.as_bytes());
        }
    }
}
