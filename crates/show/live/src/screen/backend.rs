//! How ratatui writes to the terminal: with crossterm's commands.
//!
//! The crate `ratatui-crossterm` does the same with all features of crossterm, which bring ten packages more.

use std::io::{self, Write};

use anstyle::{Reset, Style};
use crossterm::cursor::{Hide, MoveTo, Show, position};
use crossterm::terminal::{self, Clear};
use crossterm::{execute, queue};
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Color;

pub(super) struct TerminalBackend<W: Write>(pub W);

impl<W: Write> Backend for TerminalBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, cells: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut set = Style::new();
        let mut cursor = None;
        for (x, y, cell) in cells {
            if cursor != Some((x, y)) {
                queue!(self.0, MoveTo(x, y))?;
            }
            cursor = Some((x + 1, y));
            let style = style(cell);
            if style != set {
                write!(self.0, "{Reset}{style}")?;
                set = style;
            }
            self.0.write_all(cell.symbol().as_bytes())?;
        }
        write!(self.0, "{Reset}")
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        execute!(self.0, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        execute!(self.0, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        position().map(Position::from)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        execute!(self.0, MoveTo(x, y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let region = match region {
            ClearType::All => terminal::ClearType::All,
            ClearType::AfterCursor => terminal::ClearType::FromCursorDown,
            ClearType::BeforeCursor => terminal::ClearType::FromCursorUp,
            ClearType::CurrentLine => terminal::ClearType::CurrentLine,
            ClearType::UntilNewLine => terminal::ClearType::UntilNewLine,
        };
        execute!(self.0, Clear(region))
    }

    fn size(&self) -> io::Result<Size> {
        terminal::size().map(Size::from)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn style(cell: &Cell) -> Style {
    let colour = |colour: Color| (colour != Color::Reset).then(|| colour.into());
    Style::new()
        .fg_color(colour(cell.fg))
        .bg_color(colour(cell.bg))
        .effects(cell.modifier.into())
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Modifier, Style};

    use super::*;

    #[test]
    fn cells_are_written_where_they_are_and_as_they_look() {
        let cell = |symbol: &'static str, style: Style| {
            let mut cell = Cell::new(symbol);
            cell.set_style(style);
            cell
        };
        let bad = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        let shade = Style::new().fg(Color::Indexed(184)).bg(Color::Blue);
        let cells = [
            (2, 0, cell("a", bad)),
            (3, 0, cell("b", bad)),
            (4, 0, cell("c", Style::new())),
            (0, 1, cell("█", shade)),
        ];
        let mut backend = TerminalBackend(Vec::new());
        let drawn = cells.iter().map(|(x, y, cell)| (*x, *y, cell));
        backend.draw(drawn).unwrap();
        assert_eq!(
            String::from_utf8(backend.0).unwrap(),
            "\x1b[1;3H\x1b[0m\x1b[1m\x1b[31mab\x1b[0mc\x1b[2;1H\x1b[0m\x1b[38;5;184m\x1b[44m█\x1b[0m"
        );
    }
}
