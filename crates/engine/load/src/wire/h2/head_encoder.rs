//! Chooses the header block of a request, as the server's HPACK table allows.

use super::hpack::{self, EMPTY_TABLE, TABLE_SIZE};
use super::outgoing::Outgoing;
use super::request::StreamRequest;

/// What the server's HPACK table holds for one connection.
#[derive(Debug)]
pub(super) struct HeadEncoder {
    /// Whether the connection repeats one request.
    repeats: bool,
    /// The table's largest size, in bytes.
    limit: usize,
    /// Whether the next block must say that the limit was lowered (RFC 7541, section 4.2).
    is_lowered: bool,
    /// Whether the table has the fields of the repeated request.
    is_filled: bool,
}

impl HeadEncoder {
    pub(super) fn new(repeats: bool) -> Self {
        Self {
            repeats,
            limit: TABLE_SIZE,
            is_lowered: false,
            is_filled: false,
        }
    }

    /// Takes note of the smallest table that the server has allowed.
    pub(super) fn limit(&mut self, size: usize) {
        if size < self.limit {
            self.limit = size;
            self.is_lowered = true;
        }
    }

    /// Queues the head of `request`.
    pub(super) fn encode(&mut self, request: &StreamRequest, stream: u32, out: &mut Outgoing) {
        let end_stream = request.body().is_empty();
        let repeated = request.repeated();
        if self.repeats && repeated.table_size <= self.limit {
            let mut resize = Vec::new();
            if std::mem::take(&mut self.is_lowered) {
                hpack::resize_table(self.limit, &mut resize);
            }
            let block = if std::mem::replace(&mut self.is_filled, true) {
                &repeated.further
            } else {
                &repeated.first
            };
            out.head(end_stream, stream, &resize, block);
            return;
        }
        // Says so once; no further limit matters then.
        let empties = self.limit > 0 || self.is_lowered;
        let resize: &[u8] = if empties { &[EMPTY_TABLE] } else { &[] };
        (self.limit, self.is_lowered) = (0, false);
        out.head(end_stream, stream, resize, request.block());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::h2::tests::frames::frames;
    use http::Method;

    /// `:path=/x` and `:authority=host` take 39 and 46 bytes of the table.
    const TABLE: usize = 85;

    struct Blocks {
        encoder: HeadEncoder,
        request: StreamRequest,
        out: Outgoing,
    }

    impl Blocks {
        fn new(repeats: bool) -> Self {
            Self {
                encoder: HeadEncoder::new(repeats),
                request: StreamRequest::http(&Method::GET, "http", "host", "/x", &[], b"").unwrap(),
                out: Outgoing::default(),
            }
        }

        fn next(&mut self) -> Vec<u8> {
            self.encoder.encode(&self.request, 1, &mut self.out);
            let bytes = self.out.unsent().to_vec();
            self.out.sent(bytes.len());
            frames(&bytes).remove(0).payload
        }
    }

    #[test]
    fn a_repeated_head_is_four_bytes() {
        let mut blocks = Blocks::new(true);
        assert_eq!(blocks.request.repeated().table_size, TABLE);
        assert_eq!(blocks.next(), b"\x82\x86\x44\x02/x\x41\x04host");
        assert_eq!(blocks.next(), [0x82, 0x86, 0x80 | 63, 0x80 | 62]);
        // The fields still fit.
        blocks.encoder.limit(TABLE);
        let lowered = [0x3f, TABLE as u8 - 31, 0x82, 0x86, 0x80 | 63, 0x80 | 62];
        assert_eq!(blocks.next(), lowered);
        assert_eq!(blocks.next(), lowered[2..]);
        blocks.encoder.limit(TABLE - 1);
        assert_eq!(blocks.next(), b"\x20\x82\x86\x04\x02/x\x01\x04host");
        assert_eq!(blocks.next(), b"\x82\x86\x04\x02/x\x01\x04host");
        blocks.encoder.limit(0);
        assert_eq!(blocks.next(), b"\x82\x86\x04\x02/x\x01\x04host");
    }

    #[test]
    fn a_server_without_a_table_and_different_heads_use_none() {
        for (repeats, has_table) in [(false, false), (true, false), (false, true)] {
            let mut blocks = Blocks::new(repeats);
            if !has_table {
                blocks.encoder.limit(0);
            }
            assert_eq!(blocks.next(), b"\x20\x82\x86\x04\x02/x\x01\x04host");
            assert_eq!(blocks.next(), b"\x82\x86\x04\x02/x\x01\x04host");
        }
    }
}
