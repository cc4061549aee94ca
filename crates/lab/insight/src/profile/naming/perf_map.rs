//! Perf maps: files in which runtimes write down the names of what they compile, a line each: start, length and name.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The paths at which a process may have written its perf map: as its own mount namespace shows it, and as this one does.
pub(crate) fn paths(pid: i32) -> Vec<PathBuf> {
    let own = innermost_pid(pid).unwrap_or(pid);
    vec![
        PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{own}.map")),
        PathBuf::from(format!("/tmp/perf-{pid}.map")),
    ]
}

/// The id of a process in its own PID namespace.
fn innermost_pid(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ids = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    ids.split_whitespace().next_back()?.parse().ok()
}

pub(crate) fn open(pid: i32) -> io::Result<File> {
    // Anyone may write to /tmp: a pipe there would block, and a link could lead anywhere.
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|file| file.is_file());
    let paths = paths(pid);
    let path = paths.iter().find(|path| is_file(path));
    File::open(path.ok_or(io::ErrorKind::NotFound)?)
}

/// With more bytes, the rest is not read. A runtime that runs for days writes about 100 MB.
const MOST_BYTES: u64 = 1 << 30;
const MOST_NAME_BYTES: usize = 1024;

/// The name at each address, by a perf map. Runtimes use memory again, so later lines count more than earlier ones.
pub(crate) fn names(map: impl Read, addresses: &[u64]) -> io::Result<Vec<Option<String>>> {
    let mut order: Vec<usize> = (0..addresses.len()).collect();
    order.sort_by_key(|&index| addresses[index]);
    let mut names = vec![None; addresses.len()];
    let mut lines = BufReader::new(map.take(MOST_BYTES));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        if let Some(entry) = Entry::parse(&line) {
            let first = order.partition_point(|&index| addresses[index] < entry.start);
            let covered = order[first..]
                .iter()
                .take_while(|&&index| addresses[index] - entry.start < entry.length);
            for &index in covered {
                names[index] = Some(entry.name.to_owned());
            }
        }
        line.clear();
    }
    Ok(names)
}

struct Entry<'a> {
    start: u64,
    length: u64,
    name: &'a str,
}

impl<'a> Entry<'a> {
    /// `None` for a line that is not whole, such as the last one while the runtime writes it.
    fn parse(line: &'a [u8]) -> Option<Entry<'a>> {
        let line = line.strip_suffix(b"\n")?;
        let line = line.get(..MOST_NAME_BYTES).unwrap_or(line);
        let line = match str::from_utf8(line) {
            Ok(line) => line,
            Err(error) => str::from_utf8(line.get(..error.valid_up_to())?).ok()?,
        };
        let mut fields = line.splitn(3, ' ');
        let mut number = || {
            let digits = fields.next()?;
            u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
        };
        let (start, length) = (number()?, number()?);
        let name = fields.next()?.trim();
        (!name.is_empty()).then_some(Entry {
            start,
            length,
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_count_more_and_broken_ones_not_at_all() {
        let map = b"1000 100 JS:*first /a.js:1:1\n\
            not a line\n\
            zz 10 x\n\
            0x1040 0x10 second of two\n\
            2000 10\n\
            3000 10 \xff\n\
            2000 10 cut off";
        let addresses = [0x1050, 0x1040, 0x0fff, 0x10ff, 0x1100, 0x2000, 0x104f];
        let names = names(&map[..], &addresses).unwrap();
        let names: Vec<_> = names.iter().map(Option::as_deref).collect();
        let (first, second) = (Some("JS:*first /a.js:1:1"), Some("second of two"));
        assert_eq!(names, [first, second, None, first, None, None, second]);
    }
}
