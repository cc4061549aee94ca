//! Decodes header blocks (RFC 7541, sections 5 and 6).

use super::table::{DynamicTable, STATIC};
use super::{Fields, HpackError, huffman};

/// The largest dynamic table that the encoder may use, in bytes: the default.
pub const TABLE_SIZE: usize = 4096;

/// Decodes the header blocks of one connection, in order.
#[derive(Debug)]
pub struct Decoder {
    table: DynamicTable,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            table: DynamicTable::new(TABLE_SIZE),
        }
    }
}

impl Decoder {
    /// Forgets all blocks, for a new connection.
    pub fn restart(&mut self) {
        self.table.restart(TABLE_SIZE);
    }

    /// How often the dynamic table has changed. The same block has the same fields as long as this number stays.
    pub fn changes(&self) -> u64 {
        self.table.changes()
    }

    /// Replaces `fields` by the fields of a whole block.
    ///
    /// # Errors
    ///
    /// If the block is invalid, or the list is longer than [`super::MAX_LIST`]. No further block of the connection can
    /// be decoded then.
    pub fn decode(&mut self, block: &[u8], fields: &mut Fields) -> Result<(), HpackError> {
        fields.clear();
        let rest = &mut { block };
        while let Some(&first) = rest.first() {
            match first {
                0b1000_0000.. => self.indexed(rest, fields)?,
                0b0100_0000.. => {
                    self.literal(rest, 6, fields)?;
                    if let Some((name, value)) = fields.last() {
                        self.table.insert(name, value);
                    }
                }
                0b0010_0000.. if fields.last().is_none() => self.resize(rest)?,
                // Allowed only at the start of a block (section 4.2).
                0b0010_0000.. => return Err(HpackError::TableSize),
                // Never indexed or not indexed now: the difference matters to proxies only.
                _ => self.literal(rest, 4, fields)?,
            }
        }
        Ok(())
    }

    fn indexed(&self, rest: &mut &[u8], fields: &mut Fields) -> Result<(), HpackError> {
        let (name, value) = self.field(integer(rest, 7)?)?;
        fields.push(name, value)
    }

    fn literal(
        &self,
        rest: &mut &[u8],
        prefix: u32,
        fields: &mut Fields,
    ) -> Result<(), HpackError> {
        let index = integer(rest, prefix)?;
        fields.push_with(|bytes| {
            if index == 0 {
                string(rest, bytes)?;
            } else {
                bytes.extend_from_slice(self.field(index)?.0);
            }
            let name_end = bytes.len();
            string(rest, bytes)?;
            Ok(name_end)
        })
    }

    fn resize(&mut self, rest: &mut &[u8]) -> Result<(), HpackError> {
        let size = integer(rest, 5)?;
        if size > TABLE_SIZE {
            return Err(HpackError::TableSize);
        }
        self.table.resize(size);
        Ok(())
    }

    /// The field of that index in both tables, counted from 1 (section 2.3.3).
    fn field(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        let place = index.checked_sub(1).ok_or(HpackError::Index(index))?;
        match STATIC.get(place) {
            Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
            None => self
                .table
                .get(place - STATIC.len())
                .ok_or(HpackError::Index(index)),
        }
    }
}

/// Takes an integer from the last `prefix` bits of its first byte and those after it (section 5.1).
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, HpackError> {
    let mask = (1u8 << prefix) - 1;
    let first = byte(rest)? & mask;
    if first < mask {
        return Ok(first.into());
    }
    let mut number = u64::from(mask);
    // Five bytes have 35 bits; a sixth could only be a leading zero, or too much.
    for shift in (0..5).map(|place| 7 * place) {
        let next = byte(rest)?;
        number += u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            let number = u32::try_from(number).map_err(|_| HpackError::Number)?;
            return Ok(number as usize);
        }
    }
    Err(HpackError::Number)
}

/// Takes a string and appends it to `into` (section 5.2).
fn string(rest: &mut &[u8], into: &mut Vec<u8>) -> Result<(), HpackError> {
    let coded = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(rest, 7)?;
    let (text, after) = rest.split_at_checked(length).ok_or(HpackError::Cut)?;
    *rest = after;
    if coded {
        return huffman::decode(text, into);
    }
    into.extend_from_slice(text);
    Ok(())
}

fn byte(rest: &mut &[u8]) -> Result<u8, HpackError> {
    let (&first, after) = rest.split_first().ok_or(HpackError::Cut)?;
    *rest = after;
    Ok(first)
}
