//! The last lines of a log file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// At most this much of a log is read for its last lines.
const TAIL_BYTES: u64 = 64 * 1024;

/// The last `lines` lines of a file, of its last 64 KiB.
///
/// # Errors
/// Where the file cannot be read.
pub fn tail(path: &Path, lines: usize) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    let all: Vec<&str> = text.lines().collect();
    Ok(all[all.len().saturating_sub(lines)..].join("\n"))
}

/// The same, with a note in its place where the log cannot be read: for error texts.
pub(crate) fn tail_or_note(path: &Path, lines: usize) -> String {
    match tail(path, lines) {
        Ok(text) if text.is_empty() => format!("(nothing in {})", path.display()),
        Ok(text) => text,
        Err(error) => format!("({} cannot be read: {error})", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_long_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let text: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
        std::fs::write(&path, text).unwrap();
        assert_eq!(tail(&path, 2).unwrap(), "line 19998\nline 19999");
        std::fs::write(&path, "only").unwrap();
        assert_eq!(tail(&path, 5).unwrap(), "only");
    }
}
