//! Go's own table of functions, which its runtime needs for tracebacks, so that stripped files have it too: their names,
//! and how much of the stack they use.

/// The table of functions (`.gopclntab`), in the format since Go 1.18.
#[derive(Debug)]
pub(crate) struct FunctionTable<'a> {
    bytes: &'a [u8],
    /// The address to which the table's addresses are relative.
    text_start: u64,
    functions: usize,
    /// Where in `bytes` names and functions are.
    names: usize,
    changes: usize,
    entries: usize,
    /// Addresses within a function are multiples of this.
    quantum: u64,
}

/// Go 1.18, and Go 1.20 or newer.
const MAGICS: [u32; 2] = [0xffff_fff0, 0xffff_fff1];
const POINTER_BYTES: u8 = 8;
const MOST_NAME_BYTES: usize = 1024;

impl<'a> FunctionTable<'a> {
    /// Reads the header. `text` is the address of the code, for files that do not say it here.
    pub(crate) fn read(bytes: &'a [u8], text: u64) -> Option<FunctionTable<'a>> {
        if !MAGICS.contains(&word(bytes, 0)?) || *bytes.get(7)? != POINTER_BYTES {
            return None;
        }
        let field = |index: usize| number(bytes, 8 + index * 8);
        let text_start = match field(2)? {
            0 => text,
            stated => stated,
        };
        Some(FunctionTable {
            bytes,
            text_start,
            functions: usize::try_from(field(0)?).ok()?,
            names: usize::try_from(field(3)?).ok()?,
            changes: usize::try_from(field(6)?).ok()?,
            entries: usize::try_from(field(7)?).ok()?,
            quantum: u64::from(*bytes.get(6)?),
        })
    }

    /// The function with the code at this address.
    pub(crate) fn name(&self, address: u64) -> Option<String> {
        let (function, _) = self.function(address)?;
        let name = word(self.bytes, function.checked_add(4)?)? as usize;
        let name = self.bytes.get(self.names.checked_add(name)?..)?;
        let name = name.get(..MOST_NAME_BYTES).unwrap_or(name);
        let end = name.iter().position(|&byte| byte == 0)?;
        Some(str::from_utf8(&name[..end]).ok()?.to_owned())
    }

    /// By how many bytes the stack pointer is below the return address when the code at this address is executed.
    pub(crate) fn stack_bytes(&self, address: u64) -> Option<u64> {
        let (function, start) = self.function(address)?;
        let changes = word(self.bytes, function.checked_add(16)?)? as usize;
        let mut changes = self.bytes.get(self.changes.checked_add(changes)?..)?;
        let (mut value, mut end) = (-1_i64, start);
        loop {
            let change = variable_length(&mut changes)?;
            if change == 0 && end != start {
                return None;
            }
            // The lowest bit is the sign.
            value += (change >> 1) as i64 ^ -((change & 1) as i64);
            end += variable_length(&mut changes)?.checked_mul(self.quantum)?;
            if address < end {
                return u64::try_from(value).ok();
            }
        }
    }

    /// Where in `bytes` the function with the code at this address is, and where it starts.
    fn function(&self, address: u64) -> Option<(usize, u64)> {
        let offset = u32::try_from(address.checked_sub(self.text_start)?).ok()?;
        let (mut low, mut high) = (0, self.functions);
        // One more entry says where the last function ends.
        if offset < self.start(0)? || offset >= self.start(self.functions)? {
            return None;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.start(middle)? <= offset {
                low = middle;
            } else {
                high = middle;
            }
        }
        let function = word(self.bytes, self.entry(low)?.checked_add(4)?)? as usize;
        let start = self.text_start + u64::from(self.start(low)?);
        Some((self.entries.checked_add(function)?, start))
    }

    fn start(&self, index: usize) -> Option<u32> {
        word(self.bytes, self.entry(index)?)
    }

    fn entry(&self, index: usize) -> Option<usize> {
        self.entries.checked_add(index.checked_mul(8)?)
    }
}

/// A number of as many bytes as it needs: 7 bits in each, the lowest first.
fn variable_length(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let number = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_ne_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions, of 0x20 and 0x10 bytes. The first uses 0x18 bytes of the stack from its fifth byte on.
    fn table(text_start: u64) -> Vec<u8> {
        let names = b"main.main\0main.work\0";
        // From -1 to 0, for 4 bytes; to 0x18, for 0x1c; the end. From -1 to 0, for 0x10.
        let changes = [2, 4, 0x30, 0x1c, 0, 2, 0x10, 0];
        let names_at = 72;
        let changes_at = names_at + names.len() as u64;
        let entries_at = changes_at + changes.len() as u64;
        let mut bytes = MAGICS[1].to_ne_bytes().to_vec();
        bytes.extend([0, 0, 1, 8]);
        for field in [2, 0, text_start, names_at, 0, 0, changes_at, entries_at] {
            bytes.extend(u64::to_ne_bytes(field));
        }
        bytes.extend(names);
        bytes.extend(changes);
        // Starts and places of the functions, then the end; then each function's start, name, two others and changes.
        for word in [0, 20, 0x20, 40, 0x30, 0, 0, 0, 0, 0, 0x20, 10, 0, 0, 5] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes
    }

    #[test]
    fn functions_are_found_by_address() {
        for (stated, text) in [(0x1000, 0x5000), (0, 0x1000)] {
            let bytes = table(stated);
            let table = FunctionTable::read(&bytes, text).unwrap();
            let names = [0xfff, 0x1000, 0x101f, 0x1020, 0x102f, 0x1030].map(|at| table.name(at));
            let names = names.each_ref().map(Option::as_deref);
            let (main, work) = (Some("main.main"), Some("main.work"));
            assert_eq!(names, [None, main, main, work, work, None]);
        }
    }

    #[test]
    fn the_use_of_the_stack_changes_within_a_function() {
        let bytes = table(0x1000);
        let table = FunctionTable::read(&bytes, 0).unwrap();
        let used = [0x1000, 0x1003, 0x1004, 0x101f, 0x1020, 0x102f, 0x1030];
        let used = used.map(|at| table.stack_bytes(at));
        let (none, some) = (Some(0), Some(0x18));
        assert_eq!(used, [none, none, some, some, none, none, None]);
    }

    #[test]
    fn a_table_that_is_cut_off_anywhere_names_nothing_wrong() {
        let bytes = table(0x1000);
        for length in 0..bytes.len() {
            let Some(table) = FunctionTable::read(&bytes[..length], 0) else {
                continue;
            };
            assert!(matches!(
                table.name(0x1025).as_deref(),
                None | Some("main.work")
            ));
        }
        assert!(FunctionTable::read(b"no table", 0).is_none());
    }
}
