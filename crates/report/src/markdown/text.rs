//! Text that stays text in Markdown.

use std::fmt::Write;

/// A code block inside of a list, with a fence longer than any in the text.
pub(super) fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let mut text = format!("\n  {fence}\n");
    for line in code.lines() {
        let _ = writeln!(text, "  {line}"); // Writing to a string does not fail.
    }
    text + "  " + &fence + "\n"
}

/// A line more.
pub(super) fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The text as text: nothing in it is Markdown or HTML, and it stays in its line or cell.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' | '*' | '`' | '\\' | '[' | ']' | '_' | '#' | '~' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A line of a table; the cells are escaped already.
pub(super) fn cells(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_stays_in_its_cell() {
        assert_eq!(escaped("a|b\n<i>*x*"), "a\\|b &lt;i&gt;\\*x\\*");
        assert!(fenced("a\n```\nb").contains("````\n"));
    }
}
