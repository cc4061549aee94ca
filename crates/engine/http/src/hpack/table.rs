//! The tables of header fields that a block may refer to (RFC 7541, section 2.3).

use std::collections::VecDeque;

use super::OVERHEAD;

/// A field of the dynamic table.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Where it begins, counted from the first byte ever in the table.
    start: usize,
    name: usize,
    value: usize,
}

impl Entry {
    fn size(self) -> usize {
        self.name + self.value + OVERHEAD
    }
}

/// The fields that the encoder has put into its table, the newest first.
#[derive(Debug)]
pub(super) struct DynamicTable {
    entries: VecDeque<Entry>,
    /// Names and values from the oldest to the newest, after some evicted ones.
    bytes: Vec<u8>,
    /// How many bytes there were before `bytes`.
    dropped: usize,
    size: usize,
    limit: usize,
    /// How often it may have changed, in all of its life.
    changes: u64,
}

impl DynamicTable {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            dropped: 0,
            size: 0,
            limit,
            changes: 0,
        }
    }

    /// A number that differs whenever an index may mean another field than before.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Empties it.
    pub(super) fn restart(&mut self, limit: usize) {
        self.changes += 1;
        self.entries.clear();
        self.bytes.clear();
        self.dropped = 0;
        self.size = 0;
        self.limit = limit;
    }

    /// The field at that place, the newest at 0.
    pub(super) fn get(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let entry = self.entries.get(place)?;
        let field = &self.bytes[entry.start - self.dropped..][..entry.name + entry.value];
        Some(field.split_at(entry.name))
    }

    /// Adds a field. One that is larger than the table empties it (section 4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.changes += 1;
        let mut entry = Entry {
            start: 0,
            name: name.len(),
            value: value.len(),
        };
        self.evict(self.limit.saturating_sub(entry.size()));
        if entry.size() > self.limit {
            return;
        }
        self.reclaim();
        entry.start = self.dropped + self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.size += entry.size();
        self.entries.push_front(entry);
    }

    /// Changes its largest size, in bytes.
    pub(super) fn resize(&mut self, limit: usize) {
        self.changes += 1;
        self.limit = limit;
        self.evict(limit);
    }

    /// Drops the oldest fields until it has at most that size.
    fn evict(&mut self, size: usize) {
        while self.size > size
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.size();
        }
    }

    /// Drops the bytes of evicted fields if they outnumber the rest: so each byte is moved at most once.
    fn reclaim(&mut self) {
        let start = match self.entries.back() {
            Some(oldest) => oldest.start - self.dropped,
            None => self.bytes.len(),
        };
        if start > self.bytes.len() / 2 {
            self.bytes.drain(..start);
            self.dropped += start;
        }
    }
}

/// The static table (appendix A), from index 1 on.
#[rustfmt::skip]
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_fields_make_room_for_new_ones() {
        // Three fields of 40 bytes each.
        let mut table = DynamicTable::new(120);
        for round in 0..100u8 {
            table.insert(b"name", &[round; 4]);
        }
        let values: Vec<u8> = (0..)
            .map_while(|place| Some(table.get(place)?.1[0]))
            .collect();
        assert_eq!(values, [99, 98, 97]);
        assert!(table.bytes.len() <= 4 * 8, "{}", table.bytes.len());
        table.resize(119);
        assert_eq!(table.get(1), Some((&b"name"[..], &[98; 4][..])));
        assert_eq!(table.get(2), None);
        table.insert(b"name", &[0; 84]);
        assert_eq!(table.get(0), None);
        table.insert(b"", b"");
        assert_eq!(table.get(0), Some((&b""[..], &b""[..])));
    }
}
