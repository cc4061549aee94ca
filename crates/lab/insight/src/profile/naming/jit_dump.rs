//! Jitdump files: what a runtime compiled, with names and the code itself, in the format of perf. Bun writes them.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

/// The files at which a process may have written what it compiled: `jit-PID.dump`, or with other numbers before the id.
pub(crate) fn paths(pid: i32) -> Vec<PathBuf> {
    let folders = [format!("/proc/{pid}/root/tmp"), "/tmp".to_owned()];
    let files = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(Result::ok);
    let is_its = |name: &str| {
        let numbers = name.strip_prefix("jit-")?.strip_suffix(".dump")?;
        (numbers.rsplit('-').next()? == pid.to_string()).then_some(())
    };
    files
        .filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|file| file.file_name().to_str().and_then(is_its).is_some())
        .map(|file| file.path())
        .collect()
}

const MAGIC: u32 = 0x4a69_5444;
const CODE_LOADED: u32 = 0;
const CODE_MOVED: u32 = 1;
/// With more bytes, the rest is not read.
const MOST_BYTES: u64 = 1 << 30;
/// What comes before the name: the process and the thread, two addresses, the length and a number.
const BEFORE_NAME: usize = 8 + 4 * 8;
const MOST_NAME_BYTES: u64 = 1024;

/// The name at each address. Runtimes use memory again, so later records count more than earlier ones.
pub(crate) fn names(dump: impl Read, addresses: &[u64]) -> io::Result<Vec<Option<String>>> {
    let mut names = vec![None; addresses.len()];
    let mut dump = BufReader::new(dump.take(MOST_BYTES));
    skip_header(&mut dump)?;
    // A record that is not whole is one that the runtime is writing.
    while let Ok(record) = Record::read(&mut dump) {
        match record {
            Record::Loaded {
                start,
                length,
                name,
            } => {
                let covered = |address: u64| address >= start && address - start < length;
                for slot in slots(&mut names, addresses, covered) {
                    *slot = Some(name.clone());
                }
            }
            Record::Moved { from, to, length } => {
                // The name of the old place is known only if it was sampled there.
                let old = addresses
                    .iter()
                    .position(|&address| address >= from && address - from < length);
                let name = old.and_then(|index| names[index].clone());
                let covered = |address: u64| address >= to && address - to < length;
                for slot in slots(&mut names, addresses, covered) {
                    slot.clone_from(&name);
                }
            }
            Record::Other => (),
        }
    }
    Ok(names)
}

pub(crate) fn open(pid: i32) -> io::Result<File> {
    let path = paths(pid).into_iter().next();
    File::open(path.ok_or(io::ErrorKind::NotFound)?)
}

fn slots<'a>(
    names: &'a mut [Option<String>],
    addresses: &'a [u64],
    covered: impl Fn(u64) -> bool + 'a,
) -> impl Iterator<Item = &'a mut Option<String>> {
    let pairs = names.iter_mut().zip(addresses.iter().copied());
    pairs
        .filter(move |(_, address)| covered(*address))
        .map(|(slot, _)| slot)
}

enum Record {
    Loaded {
        start: u64,
        length: u64,
        name: String,
    },
    Moved {
        from: u64,
        to: u64,
        length: u64,
    },
    Other,
}

impl Record {
    fn read(dump: &mut impl Read) -> io::Result<Record> {
        let mut header = [0; 16];
        dump.read_exact(&mut header)?;
        let (kind, length) = (word(&header, 0), u64::from(word(&header, 4)));
        let length = length.checked_sub(16).ok_or(io::ErrorKind::InvalidData)?;
        let mut body = dump.take(length);
        let record = match kind {
            CODE_LOADED => Record::loaded(&mut body)?,
            CODE_MOVED => Record::moved(&mut body)?,
            _ => Record::Other,
        };
        io::copy(&mut body, &mut io::sink())?;
        Ok(record)
    }

    fn loaded(body: &mut impl Read) -> io::Result<Record> {
        let mut fields = [0; BEFORE_NAME];
        body.read_exact(&mut fields)?;
        let mut name = Vec::new();
        body.take(MOST_NAME_BYTES).read_to_end(&mut name)?;
        let end = name.iter().position(|&byte| byte == 0);
        name.truncate(end.unwrap_or(name.len()));
        Ok(Record::Loaded {
            start: number(&fields, 16),
            length: number(&fields, 24),
            name: String::from_utf8_lossy(&name).into_owned(),
        })
    }

    fn moved(body: &mut impl Read) -> io::Result<Record> {
        let mut fields = [0; 40];
        body.read_exact(&mut fields)?;
        Ok(Record::Moved {
            from: number(&fields, 16),
            to: number(&fields, 24),
            length: number(&fields, 32),
        })
    }
}

/// The header says how long it is.
fn skip_header(dump: &mut impl Read) -> io::Result<()> {
    let mut start = [0; 12];
    dump.read_exact(&mut start)?;
    if word(&start, 0) != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let rest = u64::from(word(&start, 8)).saturating_sub(start.len() as u64);
    io::copy(&mut dump.take(rest), &mut io::sink())?;
    Ok(())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_ne_bytes(*word))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(<[u8]>::first_chunk);
    number.map_or(0, |number| u64::from_ne_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, fields: &[u64], text: &[u8]) -> Vec<u8> {
        let mut body: Vec<u8> = fields
            .iter()
            .flat_map(|field| field.to_ne_bytes())
            .collect();
        body.extend(text);
        let length = body.len() as u32 + 16;
        let mut bytes = [kind.to_ne_bytes(), length.to_ne_bytes()].concat();
        bytes.extend(0_u64.to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn code_is_loaded_moved_and_replaced() {
        let mut dump: Vec<u8> = [MAGIC, 1, 40]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        dump.resize(40, 0);
        dump.extend(record(0, &[7, 0x1000, 0x1000, 0x20, 1], b"first\0code"));
        dump.extend(record(2, &[], b"debug information"));
        dump.extend(record(0, &[7, 0x2000, 0x2000, 0x20, 2], b"second\0code"));
        dump.extend(record(1, &[7, 0, 0x2000, 0x3000, 0x20, 2], b""));
        dump.extend(record(0, &[7, 0x2000, 0x2000, 0x20, 3], b"third\0code"));
        let whole = dump.len();
        dump.extend(record(0, &[7, 0x1000, 0x1000, 0x20, 4], b"cut off"));
        let addresses = [0x1000, 0x101f, 0x1020, 0x2010, 0x3004];
        let found = names(&dump[..whole + 30], &addresses).unwrap();
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        let (first, second, third) = (Some("first"), Some("second"), Some("third"));
        assert_eq!(found, [first, first, None, third, second]);
        assert!(names(&b"something else"[..], &addresses).is_err());
    }
}
