//! A help, over the middle of a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear};

use crate::screen::style::Styles;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, lines: &[&str], styles: Styles) {
    let width = lines.iter().map(|line| line.chars().count()).max();
    let width = u16::try_from(width.unwrap_or(0) + 4).unwrap_or(u16::MAX);
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    let area = area.centered(Constraint::Length(width), Constraint::Length(height));
    let block = Block::bordered().title(Line::styled(" Help ", styles.strong()));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    let lines = lines.iter().map(|line| Line::raw(format!(" {line}")));
    frame.render_widget(Text::from_iter(lines), inner);
}
