//! Escaping for Markdown.

/// The text with everything escaped that Markdown or HTML would interpret; it stays within its line or cell.
///
/// ```
/// assert_eq!(prony_present::markdown::escaped("a|b\n<i>*x*"), r"a\|b &lt;i&gt;\*x\*");
/// ```
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '`' | '\\' | '[' | ']' | '_' | '#' | '~' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}

/// A code block, indented so that it can belong to a list item. Its fence is longer than any in the code.
pub(crate) fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let lines: String = code.lines().map(|line| format!("  {line}\n")).collect();
    format!("  {fence}\n{lines}  {fence}\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_fence_is_longer_than_any_in_the_code() {
        assert!(super::fenced("a\n```\nb").contains("````\n"));
    }
}
