//! What is wrong with a Hurl file.

use std::borrow::Cow;

use crate::position::Position;

/// What is wrong in a text, or what Prony does not run of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {reason}", position.line, position.column)]
pub struct Fault {
    pub(crate) title: &'static str,
    pub position: Position,
    /// What is wrong, and what is right.
    pub reason: Cow<'static, str>,
}

impl Fault {
    pub(crate) fn invalid(position: Position, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: "Invalid Hurl file",
            position,
            reason: reason.into(),
        }
    }

    /// The fault with its place, the line in question and a caret, as Hurl and compilers print it, without a newline
    /// at its end. A tab is shown as four spaces.
    pub fn render(&self, file: &str, text: &str) -> String {
        let Position { line, column } = self.position;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let width = text.lines().count().to_string().len().max(2);
        let margin = " ".repeat(width);
        let source = text.lines().nth(line - 1).unwrap_or_default();
        let is_tab = |character: &char| *character == '\t';
        let tabs = source.chars().take(column - 1).filter(is_tab).count();
        let caret = " ".repeat(column + tabs * 3);
        let source = source.replace('\t', "    ");
        let Self { title, reason, .. } = self;
        format!(
            "{title}\n{margin}--> {file}:{line}:{column}\n{margin} |\n{line:>width$} | {source}\n\
             {margin} |{caret}^ {reason}\n{margin} |"
        )
    }
}

/// The first valid value that is at most one edit away from `actual`, or all of them.
pub(crate) fn suggest(actual: &str, valid: &[&str]) -> String {
    const LONGEST: usize = 256;
    let near =
        |value: &&&str| strsim::levenshtein(&value.to_lowercase(), &actual.to_lowercase()) < 2;
    match valid
        .iter()
        .find(|value| actual.len() <= LONGEST && near(value))
    {
        Some(value) => format!("Did you mean {value}?"),
        None => format!("Valid values are {}", valid.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_place_and_shows_its_line() {
        let error = |line, column| {
            Fault::invalid(Position { line, column }, "HTTP status code is not valid")
        };
        let of_status = error(2, 3);
        let expected = "\
Invalid Hurl file
  --> a.hurl:2:3
   |
 2 |     HTTP ten
   |      ^ HTTP status code is not valid
   |";
        assert_eq!(of_status.render("a.hurl", "GET x\n\tHTTP ten\n"), expected);
        let expected = "2:3: HTTP status code is not valid";
        assert_eq!(of_status.to_string(), expected);
        // Behind the last line, an empty one is shown.
        let behind = error(9, 1).render("a", "GET x");
        assert!(
            behind.contains("\n 9 | \n   | ^ HTTP status code is not valid\n"),
            "{behind}"
        );
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_lists_all() {
        let valid = &["Captures", "Asserts"];
        assert_eq!(suggest("Assert", valid), "Did you mean Asserts?");
        assert_eq!(suggest("x", valid), "Valid values are Captures, Asserts");
    }
}
