//! Why a text is not a Hurl file.

use std::borrow::Cow;

use crate::listing::listing;
use crate::position::Position;

/// A text that is not a Hurl file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {reason}", position.line, position.column)]
pub struct ParseError {
    /// The place that is wrong.
    pub position: Position,
    /// What is wrong, and what is right.
    pub reason: Cow<'static, str>,
}

impl ParseError {
    /// The error with its place, the line in question and a caret.
    pub fn render(&self, file: &str, text: &str) -> String {
        listing("Invalid Hurl file", file, text, self.position, &self.reason)
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
        let error = |line, column| ParseError {
            position: Position { line, column },
            reason: "HTTP status code is not valid".into(),
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
