//! Where two byte strings differ, said so that one sees it.

use crate::response::Mismatch;

/// How much of each is shown, in bytes.
const SHOWN: usize = 40;

/// How much is shown of what is the same before a difference, in bytes.
const SHOWN_BEFORE: usize = 20;

/// # Errors
/// The lengths and the first difference, where they are not the same.
pub fn same_bytes(expected: &[u8], came: &[u8]) -> Result<(), Mismatch> {
    if expected == came {
        return Ok(());
    }
    let at = first_difference(expected, came);
    let said = |bytes: &[u8]| format!("{} bytes, {}", bytes.len(), difference_at(bytes, at));
    Err(Mismatch {
        expected: said(expected),
        came: said(came),
    })
}

/// The index of the first byte that differs; the length of the shorter if the other begins with it.
pub fn first_difference(a: &[u8], b: &[u8]) -> usize {
    let differs = a.iter().zip(b).position(|(a, b)| a != b);
    differs.unwrap_or(a.len().min(b.len()))
}

/// The bytes from the first one that differs, and if that is late those before it, which are the same in both.
pub fn difference_at(bytes: &[u8], at: usize) -> String {
    let text = format!("at byte {at}: {}", excerpt(bytes, at));
    let before = &bytes[..at.min(bytes.len())];
    // An early difference is found without them.
    match before.len().checked_sub(SHOWN_BEFORE) {
        None => text,
        Some(from) => format!("{text}, after `…{}`", before[from..].escape_ascii()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_difference_is_shown_with_its_place_and_what_is_around_it() {
        let (mut expected, mut came) = (vec![b'a'; 3000], vec![b'a'; 3000]);
        expected[2000] = b'\n';
        came[2000] = b'\r';
        let mismatch = same_bytes(&expected, &came).unwrap_err();
        assert!(
            mismatch
                .came
                .starts_with("3000 bytes, at byte 2000: `\\raaa"),
            "{}",
            mismatch.came
        );
        let after = format!(", after `…{}`", "a".repeat(SHOWN_BEFORE));
        assert!(mismatch.expected.ends_with(&after), "{}", mismatch.expected);
        let short = same_bytes(b"hello", b"hel").unwrap_err();
        assert_eq!(short.expected, "5 bytes, at byte 3: `lo`");
        assert_eq!(short.came, "3 bytes, at byte 3: its end");
    }
}
