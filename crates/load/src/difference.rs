//! Where two byte strings differ, said so that one sees it.

use crate::answer::Mismatch;

/// How much of each is shown, in bytes.
const SHOWN: usize = 40;

/// # Errors
/// The lengths and the first difference, where they are not the same.
pub fn same_bytes(expected: &[u8], came: &[u8]) -> Result<(), Mismatch> {
    if expected == came {
        return Ok(());
    }
    let at = expected
        .iter()
        .zip(came)
        .position(|(a, b)| a != b)
        .unwrap_or(expected.len().min(came.len()));
    let said = |bytes: &[u8]| {
        let length = bytes.len();
        format!("{length} bytes, at byte {at}: {}", excerpt(bytes, at))
    };
    Err(Mismatch {
        expected: said(expected),
        came: said(came),
    })
}

/// The bytes from `at`, shortened.
pub fn excerpt(bytes: &[u8], at: usize) -> String {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.len() {
        0 if at == 0 => "nothing".to_owned(),
        0 => "its end".to_owned(),
        1..=SHOWN => format!("`{}`", rest.escape_ascii()),
        _ => format!("`{}…`", rest[..SHOWN].escape_ascii()),
    }
}
