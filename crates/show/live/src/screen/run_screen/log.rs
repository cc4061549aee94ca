//! The log: what was noisy, what was re-run and why, what failed; the newest line first.

use prony_present::terminal::wrapped;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::model::Look;

/// The columns of the time and the symbol.
const HEAD: usize = 8;

pub(super) fn lines<'a>(look: &Look<'_>, area: Rect) -> Vec<Line<'a>> {
    let styles = look.styles;
    let rule = "─".repeat(usize::from(area.width).saturating_sub(15));
    let mut lines = vec![Line::styled(format!("newest first ─{rule}"), styles.soft())];
    let width = usize::from(area.width).saturating_sub(HEAD).max(1);
    for (at, kind, note) in &look.model.notes {
        if lines.len() >= usize::from(area.height) {
            break;
        }
        let (symbol, style) = styles.note(*kind);
        let seconds = at.as_secs();
        let clock = format!("{:>2}:{:02}", seconds / 60, seconds % 60);
        // Only the first line of a failure: the rest is printed after the run.
        let text = note.lines().next().unwrap_or_default();
        for (i, part) in wrapped(text, width).into_iter().enumerate() {
            let head = if i == 0 {
                vec![
                    Span::styled(format!("{clock} "), styles.soft()),
                    Span::styled(format!("{symbol} "), style),
                ]
            } else {
                vec![Span::raw(" ".repeat(HEAD))]
            };
            lines.push(Line::from([head, vec![Span::raw(part)]].concat()));
        }
    }
    lines
}
