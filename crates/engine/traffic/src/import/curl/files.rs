//! What values of options are: texts, and names of files that are read.

use crate::import::ImportError;

/// Reads the files that a command names with `@`.
pub trait Files {
    /// What is in a file, or why it cannot be read.
    fn read(&mut self, name: &str) -> Result<Vec<u8>, String>;
}

/// No file can be read.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, _name: &str) -> Result<Vec<u8>, String> {
        Err("files cannot be read here".into())
    }
}

pub(super) fn text(bytes: &[u8]) -> Result<String, ImportError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        let text = String::from_utf8_lossy(bytes);
        format!("`{text}` is not UTF-8; only bodies may be other bytes").into()
    })
}
