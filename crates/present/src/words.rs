//! Plurals and lists.

use crate::number::exact;

/// A count and its noun: `1 connection`, `1,000 connections`.
///
/// ```
/// use prony_present::words::plural;
/// assert_eq!(plural(1, "trial"), "1 trial");
/// assert_eq!(plural(1_000, "connection"), "1,000 connections");
/// ```
pub fn plural(count: usize, noun: &str) -> String {
    counted(count as u64, noun, &format!("{noun}s"))
}

/// A count and words that agree with it: `1 request was`, `1,204 requests were`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        n => format!("{} {many}", exact(n)),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Capitalizes the first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
