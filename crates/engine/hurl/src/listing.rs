//! Errors with the line in question, a caret and the reason, as Hurl and compilers print them.

use crate::position::Position;

/// An error as text, without a newline at its end; `text` is the file's. A tab is shown as four spaces.
pub(crate) fn listing(
    title: &str,
    file: &str,
    text: &str,
    position: Position,
    reason: &str,
) -> String {
    let Position { line, column } = position;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let width = text.lines().count().to_string().len().max(2);
    let margin = " ".repeat(width);
    let source = text.lines().nth(line - 1).unwrap_or_default();
    let is_tab = |character: &char| *character == '\t';
    let tabs = source.chars().take(column - 1).filter(is_tab).count();
    let caret = " ".repeat(column + tabs * 3);
    let source = source.replace('\t', "    ");
    format!(
        "{title}\n{margin}--> {file}:{line}:{column}\n{margin} |\n{line:>width$} | {source}\n\
         {margin} |{caret}^ {reason}\n{margin} |"
    )
}
