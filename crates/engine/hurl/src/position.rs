//! Places in the text of a file.

/// A line and a column, both from 1, as Hurl counts them: combining characters take no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub const START: Position = Position { line: 1, column: 1 };

    /// The position after `character` at this one.
    #[must_use]
    pub(crate) fn after(self, character: char) -> Position {
        match character {
            '\n' => Position {
                line: self.line + 1,
                column: 1,
            },
            '\u{301}'..='\u{36e}' => self,
            _ => self.right(1),
        }
    }

    /// The position `columns` further to the right.
    #[must_use]
    pub(crate) fn right(self, columns: usize) -> Position {
        Position {
            column: self.column + columns,
            ..self
        }
    }
}
