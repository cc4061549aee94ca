//! Heads and trailers of responses, encoded once for all connections.

use prony_http::hpack::{EMPTY_TABLE, encode};
use prony_http::{FRAME_HEADER, Kind, encode_header, flag};

use crate::date::Date;
use crate::grpc::Failure;

/// Any date: all have the same length (RFC 9110, section 5.6.7).
const SOME_DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// A HEADERS frame without the date, and without what depends on the stream.
#[derive(Debug)]
pub(crate) struct Head {
    block: Vec<u8>,
    has_date: bool,
}

/// What a HEADERS frame depends on besides its fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) stream: u32,
    /// Whether nothing follows it on the stream.
    pub(crate) ends_stream: bool,
    /// Whether it tells the client that the dynamic table stays empty, which a client with a smaller table requires.
    pub(crate) shrinks_table: bool,
}

impl Head {
    /// A head with this status, these fields and the date.
    pub(crate) fn with_date(status: &str, fields: &[(&str, &str)]) -> Self {
        let lower: Vec<_> = fields
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), *value))
            .collect();
        let mut fields = vec![(":status", status)];
        fields.extend(lower.iter().map(|(name, value)| (name.as_str(), *value)));
        fields.push(("date", SOME_DATE));
        let mut head = Self::new(&fields);
        head.block.truncate(head.block.len() - SOME_DATE.len());
        head.has_date = true;
        head
    }

    /// A head with these fields, whose names are in lower case.
    pub(crate) fn new(fields: &[(&str, &str)]) -> Self {
        let mut block = Vec::new();
        encode(fields, &mut block);
        Self {
            block,
            has_date: false,
        }
    }

    /// Appends the frame to `buffer`.
    pub(crate) fn write(&self, place: Place, date: &Date, buffer: &mut Vec<u8>) {
        let date = if self.has_date { date.as_bytes() } else { &[] };
        let shrink: &[u8] = if place.shrinks_table {
            &[EMPTY_TABLE]
        } else {
            &[]
        };
        let length = shrink.len() + self.block.len() + date.len();
        let mut flags = flag::END_HEADERS;
        if place.ends_stream {
            flags |= flag::END_STREAM;
        }
        buffer.reserve(FRAME_HEADER + length);
        buffer.extend_from_slice(&encode_header(length, Kind::HEADERS, flags, place.stream));
        for part in [shrink, &self.block, date] {
            buffer.extend_from_slice(part);
        }
    }
}

/// The heads and trailers of gRPC responses.
#[derive(Debug)]
pub(crate) struct GrpcHeads {
    /// The head of a response with messages.
    pub(crate) begin: Head,
    /// The trailers of a call that succeeded.
    pub(crate) ok: Head,
}

impl Default for GrpcHeads {
    fn default() -> Self {
        Self {
            begin: Head::new(&GRPC),
            ok: Head::new(&[("grpc-status", "0")]),
        }
    }
}

const GRPC: [(&str, &str); 2] = [(":status", "200"), ("content-type", "application/grpc")];

/// The trailers of a call that failed; `is_alone` if no head came before them.
pub(crate) fn failure(failure: Failure, is_alone: bool) -> Head {
    let Failure { code, message } = failure;
    let code = code.to_string();
    let head: &[_] = if is_alone { &GRPC } else { &[] };
    Head::new(&[head, &[("grpc-status", &code), ("grpc-message", message)]].concat())
}
