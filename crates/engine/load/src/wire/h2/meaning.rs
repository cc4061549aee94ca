//! What the header blocks of a response mean.

use super::Malformed;
use super::hpack::{Decoder, Fields, HpackError};
use super::request::CONNECTION_FIELDS;
use crate::wire::decimal::decimal;
use crate::wire::grpc::is_grpc;

/// What a list of fields means for reading the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    /// `None` in trailers.
    pub(super) status: Option<u16>,
    pub(super) content_length: Option<u64>,
    /// Whether the content type is one of gRPC's.
    pub(super) is_grpc: bool,
    pub(super) rpc_status: RpcStatus,
}

/// The `grpc-status` of a list of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RpcStatus {
    #[default]
    Absent,
    Number(u32),
    NotANumber,
}

impl Meaning {
    fn of(fields: &Fields) -> Result<Self, Malformed> {
        let mut meaning = Self::default();
        let mut has_type = false;
        for (place, (name, value)) in fields.iter().enumerate() {
            match name {
                // There must be exactly one, in the first place.
                b":status" if place == 0 => meaning.status = Some(status(value)?),
                [b':', ..] => return Err(Malformed::PseudoField),
                _ if !is_allowed(name, value) => return Err(Malformed::Field),
                b"content-length" => meaning.take_content_length(value)?,
                b"content-type" if !has_type => {
                    has_type = true;
                    meaning.is_grpc = is_grpc(value);
                }
                b"grpc-status" if meaning.rpc_status == RpcStatus::Absent => {
                    meaning.rpc_status = RpcStatus::of(value);
                }
                _ => {}
            }
        }
        Ok(meaning)
    }

    fn take_content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let length = decimal(value).ok_or(Malformed::ContentLength)?;
        match self.content_length.replace(length) {
            Some(other) if other != length => Err(Malformed::ContentLength),
            _ => Ok(()),
        }
    }
}

impl RpcStatus {
    fn of(value: &[u8]) -> Self {
        decimal(value)
            .and_then(|status| status.try_into().ok())
            .map_or(Self::NotANumber, Self::Number)
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
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|byte| b" \t".contains(byte));
    let is_name = |byte: &u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase();
    !name.is_empty()
        && name.iter().all(|byte| is_name(byte) && *byte != b':')
        && !value.iter().any(|byte| b"\0\r\n".contains(byte))
        && !is_blank(value.first())
        && !is_blank(value.last())
        && CONNECTION_FIELDS
            .iter()
            .all(|field| field.as_bytes() != name)
}

/// The section of a response that a header block has (RFC 9110, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Head,
    Trailers,
}

/// Decodes the header blocks of a connection.
///
/// Most blocks have the same bytes as the last one of their section and mean the same, and comparing is cheaper than
/// decoding.
#[derive(Debug, Default)]
pub(super) struct BlockReader {
    decoder: Decoder,
    fields: Fields,
    head: LastBlock,
    trailers: LastBlock,
}

/// Longer blocks are decoded every time: each connection keeps two.
const LONGEST_KEPT_BLOCK: usize = 1024;

#[derive(Debug, Default)]
struct LastBlock {
    bytes: Vec<u8>,
    /// The table's number of changes while it is valid.
    table_changes: u64,
    meaning: Option<Meaning>,
}

impl BlockReader {
    /// Forgets everything, for a new connection.
    pub(super) fn restart(&mut self) {
        self.decoder.restart();
    }

    /// The meaning of a block if it is known without decoding.
    #[inline]
    pub(super) fn recognise(&self, section: Section, block: &[u8]) -> Option<Meaning> {
        let last = match section {
            Section::Head => &self.head,
            Section::Trailers => &self.trailers,
        };
        let is_same = last.table_changes == self.decoder.changes() && *block == *last.bytes;
        last.meaning.filter(|_| is_same)
    }

    /// Decodes a block, which every block that is not recognised needs, because the next ones depend on it. The inner
    /// error concerns only its stream.
    pub(super) fn decode(
        &mut self,
        section: Section,
        block: &[u8],
    ) -> Result<Result<Meaning, Malformed>, HpackError> {
        let changes = self.decoder.changes();
        self.decoder.decode(block, &mut self.fields)?;
        let meaning = Meaning::of(&self.fields);
        let is_repeatable = changes == self.decoder.changes() && block.len() <= LONGEST_KEPT_BLOCK;
        if let Ok(meaning) = meaning
            && is_repeatable
            && !meaning.has_message()
        {
            let last = match section {
                Section::Head => &mut self.head,
                Section::Trailers => &mut self.trailers,
            };
            last.bytes.clear();
            last.bytes.extend_from_slice(block);
            last.table_changes = changes;
            last.meaning = Some(meaning);
        }
        Ok(meaning)
    }

    /// The fields of the last decoded block.
    pub(super) fn fields(&self) -> &Fields {
        &self.fields
    }
}

impl Meaning {
    /// Whether somebody reads the fields themselves.
    fn has_message(&self) -> bool {
        !matches!(self.rpc_status, RpcStatus::Absent | RpcStatus::Number(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes the block unless it is recognised; tells which.
    fn read(reader: &mut BlockReader, block: &[u8]) -> (bool, u16) {
        let known = reader.recognise(Section::Head, block);
        let decoded = reader.decode(Section::Head, block).unwrap().unwrap();
        assert_eq!(known.unwrap_or(decoded), decoded);
        (known.is_some(), decoded.status.unwrap())
    }

    #[test]
    fn a_block_is_recognised_while_the_table_is_the_same() {
        let mut reader = BlockReader::default();
        // `:status: 201` is added to the table, so index 62 means it.
        assert_eq!(read(&mut reader, b"\x48\x03201"), (false, 201));
        assert_eq!(read(&mut reader, b"\xbe"), (false, 201));
        assert_eq!(read(&mut reader, b"\xbe"), (true, 201));
        assert_eq!(reader.recognise(Section::Trailers, b"\xbe"), None);
        assert_eq!(reader.recognise(Section::Head, b"\xbe\x88"), None);
        // Now index 62 is another field.
        assert_eq!(read(&mut reader, b"\x48\x03404"), (false, 404));
        assert_eq!(read(&mut reader, b"\xbe"), (false, 404));
        assert_eq!(read(&mut reader, b"\xbe"), (true, 404));
        reader.restart();
        assert_eq!(reader.recognise(Section::Head, b"\xbe"), None);
        assert!(reader.decode(Section::Head, b"\xbe").is_err());
    }

    #[test]
    fn a_block_that_changes_the_table_is_never_recognised() {
        let mut reader = BlockReader::default();
        for _ in 0..3 {
            assert_eq!(read(&mut reader, b"\x48\x03201"), (false, 201));
        }
        for _ in 0..3 {
            assert_eq!(read(&mut reader, b"\x20\x88"), (false, 200));
        }
    }
}
