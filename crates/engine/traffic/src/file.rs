//! Reading of files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The most bytes of a Hurl file.
const LONGEST_HURL_FILE: u64 = prony_hurl::MAX_FILE_BYTES as u64;

/// Reads a file of at most `longest` bytes.
///
/// # Errors
///
/// If it cannot be read, is longer, or is a device or a pipe, reading which may never end.
pub fn read_file(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    must_be_file(path)?;
    let mut content = Vec::new();
    // It may grow while it is read.
    File::open(path)?
        .take(longest + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > longest {
        Err(io::Error::other(format!(
            "it is longer than {} MiB",
            longest >> 20
        )))
    } else {
        Ok(content)
    }
}

/// Reads a Hurl file.
///
/// # Errors
///
/// As for [`read_file`], or if it is not text.
pub fn read_hurl_file(path: &Path) -> io::Result<String> {
    String::from_utf8(read_file(path, LONGEST_HURL_FILE)?)
        .map_err(|_| io::Error::other("it is not text in UTF-8"))
}

/// Refuses folders, devices and pipes.
///
/// # Errors
///
/// If there is no file.
pub fn must_be_file(path: &Path) -> io::Result<()> {
    if path.metadata()?.is_file() {
        Ok(())
    } else {
        Err(io::Error::other("it is not a file"))
    }
}
