//! The log: what was noisy, what was re-run and why, what failed; the newest line first.

use prony_present::terminal::wrapped;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::model::RunModel;
use crate::screen::style::Styles;

/// The columns of the time and the symbol.
const HEAD: usize = 8;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, model: &RunModel, styles: &Styles) {
    let rule = "─".repeat(usize::from(area.width).saturating_sub(15));
    let mut lines = vec![Line::styled(format!("newest first ─{rule}"), styles.soft())];
    let width = usize::from(area.width).saturating_sub(HEAD).max(1);
    for (at, note) in &model.notes {
        if lines.len() >= usize::from(area.height) {
            break;
        }
        let (symbol, style) = styles.note(note.kind);
        let seconds = at.as_secs();
        let clock = format!("{:>2}:{:02}", seconds / 60, seconds % 60);
        // Only the first line of a failure: the rest is printed after the run.
        let text = note.text.lines().next().unwrap_or_default();
        for (i, part) in wrapped(text, width).into_iter().enumerate() {
            let head = match i {
                0 => Span::styled(format!("{clock} "), styles.soft()),
                _ => Span::raw(" ".repeat(HEAD - 2)),
            };
            let symbol = if i == 0 { symbol } else { ' ' };
            lines.push(Line::from(vec![
                head,
                Span::styled(format!("{symbol} "), style),
                Span::raw(part),
            ]));
        }
    }
    frame.render_widget(Text::from(lines), area);
}
