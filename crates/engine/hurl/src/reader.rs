//! A text that is read character by character, with the position of each.

use crate::position::Position;

/// A place to which a reader can return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    index: usize,
    pub(crate) position: Position,
}

#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    text: &'a str,
    cursor: Cursor,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self::starting_at(text, Position::START)
    }

    /// A reader of a part of a file, which begins at `position`.
    pub(crate) fn starting_at(text: &'a str, position: Position) -> Self {
        Self {
            text,
            cursor: Cursor { index: 0, position },
        }
    }

    pub(crate) fn cursor(&self) -> Cursor {
        self.cursor
    }

    pub(crate) fn position(&self) -> Position {
        self.cursor.position
    }

    pub(crate) fn seek(&mut self, cursor: Cursor) {
        self.cursor = cursor;
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.cursor.index == self.text.len()
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.cursor.index..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn read(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.cursor.index += character.len_utf8();
        self.cursor.position = self.cursor.position.after(character);
        Some(character)
    }

    pub(crate) fn read_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let start = self.cursor;
        while self.peek().is_some_and(&accept) {
            self.read();
        }
        self.since(start)
    }

    pub(crate) fn since(&self, start: Cursor) -> &'a str {
        &self.text[start.index..self.cursor.index]
    }

    pub(crate) fn skip(&mut self, literal: &str) -> bool {
        let is_next = self.rest().starts_with(literal);
        if is_next {
            for _ in literal.chars() {
                self.read();
            }
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters_without_combining_ones() {
        let mut reader = Reader::new("e\u{301}é\nb");
        assert_eq!(
            reader.read_while(|character| character != '\n'),
            "e\u{301}é"
        );
        assert_eq!(reader.position(), Position { line: 1, column: 3 });
        reader.read();
        assert_eq!(reader.position(), Position { line: 2, column: 1 });
        assert!(!reader.skip("bc"));
        assert!(reader.skip("b"));
        assert!(reader.is_at_end());
        assert_eq!(reader.read(), None);
    }
}
