//! The last lines of a server's logs.

use std::iter::Peekable;
use std::str::Chars;

use serde::{Deserialize, Serialize};

/// The last lines that a server's process had written when a trial ended, with `***` for the workload's secrets and without
/// control characters; anything else that the server writes is there, paths and hostnames too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogTail {
    /// The last lines of standard output.
    pub output: Vec<String>,
    /// The last lines of standard error.
    pub errors: Vec<String>,
}

impl LogTail {
    /// How many lines of each log are kept.
    pub(crate) const MOST_LINES: usize = 10;
    /// How long they may be together, in bytes.
    pub const MOST_BYTES: usize = 1000;

    /// The last lines of both logs; `hide` replaces secrets. `None` if the server wrote nothing.
    pub fn of(output: &str, errors: &str, hide: impl Fn(&str) -> String) -> Option<Self> {
        // A secret may contain control characters, and be written with control characters in it.
        let lines = |text: &str| last_lines(&hide(&plain(&hide(text))));
        let tail = Self {
            output: lines(output),
            errors: lines(errors),
        };
        (tail != Self::default()).then_some(tail)
    }
}

/// The mark that replaces the rest of a line that was cut.
const CUT: char = '…';

/// What follows a line that was written several times in a row: it is kept once.
const REPEATED: &str = " (repeated)";

/// The last lines that fit; a line that does not fit alone is cut.
fn last_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let mut last: Vec<String> = Vec::new();
    let mut room = LogTail::MOST_BYTES;
    for same in lines.chunk_by(|one, next| one == next).rev() {
        let mark = if same.len() > 1 { REPEATED } else { "" };
        let length = same[0].len() + mark.len();
        if last.len() == LogTail::MOST_LINES || (length > room && !last.is_empty()) {
            break;
        }
        let line = shortened(same[0], room - mark.len()) + mark;
        room -= line.len();
        last.push(line);
    }
    last.reverse();
    last
}

fn shortened(line: &str, most: usize) -> String {
    if line.len() <= most {
        return line.to_owned();
    }
    let end = line.floor_char_boundary(most - CUT.len_utf8());
    format!("{}{CUT}", &line[..end])
}

/// The text without escape sequences and invisible characters, except for line breaks.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' => plain.push('\n'),
            // A program that returns to the start of the line writes it once more.
            '\r' if characters.peek() != Some(&'\n') => plain.push('\n'),
            '\t' => plain.push(' '),
            '\u{1b}' => skip_escape(&mut characters),
            character if character.is_control() || turns_text(character) => {}
            character => plain.push(character),
        }
    }
    plain
}

/// Skips the rest of an escape sequence of a terminal: `[31m`, or a title up to its end.
fn skip_escape(characters: &mut Peekable<Chars<'_>>) {
    match characters.peek() {
        Some('[') => {
            characters.next();
            while characters.next_if(|it| matches!(it, ' '..='?')).is_some() {}
            characters.next_if(|it| matches!(it, '@'..='~'));
        }
        Some(']') => {
            while characters
                .next_if(|it| !matches!(it, '\u{7}' | '\u{1b}' | '\n'))
                .is_some()
            {}
            if characters.next_if_eq(&'\u{1b}').is_some() {
                characters.next_if_eq(&'\\');
            }
        }
        _ => {}
    }
}

/// Whether it changes the direction of the text after it.
fn turns_text(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(output: &str) -> Vec<String> {
        let tail = LogTail::of(output, "", str::to_owned);
        tail.map_or_else(Vec::new, |tail| tail.output)
    }

    #[test]
    fn only_the_last_lines_are_kept_and_they_are_short() {
        let many: String = (0..50).map(|n| format!("line {n}\n\n")).collect();
        let lines = tail(&many);
        assert_eq!(
            (lines.len(), &*lines[0], &*lines[9]),
            (10, "line 40", "line 49")
        );
        let wide = format!("first\n{}\nlast\n", "ä".repeat(600));
        assert_eq!(tail(&wide), ["last"]);
        let [only] = &tail(&"ä".repeat(600))[..] else {
            panic!("it is one line");
        };
        assert!(only.len() <= LogTail::MOST_BYTES && only.ends_with('…'));
        assert_eq!(tail("a\nb\n\nb\nb\na\n"), ["a", "b (repeated)", "a"]);
        let twice = format!("{0}\n{0}\n", "x".repeat(2000));
        assert_eq!(tail(&twice)[0].len(), LogTail::MOST_BYTES);
        assert_eq!(LogTail::of("\n \n", "\r\n", str::to_owned), None);
    }

    #[test]
    fn control_characters_are_left_out() {
        let coloured =
            "\u{1b}[1;31mfailed\u{1b}[0m\tto open\r\n\u{1b}]0;title\u{7}ready\u{0}\u{202e}!";
        assert_eq!(tail(coloured), ["failed to open", "ready!"]);
        assert_eq!(tail("\u{1b}]0;title\u{1b}\\10 %\r20 %\r"), ["10 %", "20 %"]);
    }

    #[test]
    fn no_secret_is_kept() {
        let hide = |text: &str| text.replace("s3cret", "***").replace("two\nlines", "***");
        let coloured = "a s3\u{1b}[1mcret\u{1b}[0m b\ntwo\nlines";
        let tail = LogTail::of(coloured, "s3cret", hide).unwrap();
        assert_eq!(tail.output, ["a *** b", "***"]);
        assert_eq!(tail.errors, ["***"]);
        // It is hidden before a line is cut, so no part of it is left at the end.
        let long = format!("{}s3cret", "x".repeat(LogTail::MOST_BYTES - 5));
        let tail = LogTail::of(&long, "", hide).unwrap();
        assert!(!tail.output[0].contains("s3"), "{tail:?}");
    }
}
