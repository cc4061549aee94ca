//! What a server says about a call that failed.

use std::borrow::Cow;

use crate::wire::h2::hpack::Fields;

const MESSAGE: &str = "grpc-message";

/// Replaces `message` by the `grpc-message` among the fields, if there is one.
pub(in crate::wire) fn read_message(fields: &Fields, message: &mut String) {
    let field = fields.iter().find(|(name, _)| *name == MESSAGE.as_bytes());
    message.clear();
    if let Some((_, value)) = field {
        message.push_str(&String::from_utf8_lossy(&percent_decoded(value)));
    }
}

/// The value of a field for humans.
pub(in crate::wire) fn text_of<'a>(name: &[u8], value: &'a [u8]) -> Cow<'a, [u8]> {
    if name == MESSAGE.as_bytes() {
        Cow::Owned(percent_decoded(value))
    } else {
        Cow::Borrowed(value)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
