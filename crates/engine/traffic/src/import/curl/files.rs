//! What values of options are: texts, and names of files that are read.

use crate::import::ImportError;

/// Reads a file that a command names with `@`: what is in it, or why it cannot be read.
pub type Files<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;

pub(super) fn text(bytes: &[u8]) -> Result<String, ImportError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        let text = String::from_utf8_lossy(bytes);
        format!("`{text}` is not UTF-8; only bodies may be other bytes").into()
    })
}
