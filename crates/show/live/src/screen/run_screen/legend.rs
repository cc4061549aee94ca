//! The symbols of the grid and their words.

use ratatui::text::{Line, Span};

use super::model::RoundState;
use crate::screen::style::Styles;

/// `· pending  ▶ runs  ■ measured …`.
pub(super) fn line<'a>(styles: Styles) -> Line<'a> {
    let mut spans = Vec::new();
    for (state, word) in [
        (RoundState::Pending, "pending"),
        (RoundState::Running, "runs"),
        (RoundState::Done, "measured"),
        (RoundState::Noisy, "noisy"),
        (RoundState::ReRun, "to be re-run"),
        (RoundState::Failed, "failed"),
    ] {
        let (symbol, style) = styles.round(state);
        spans.push(Span::styled(symbol.to_string(), style));
        spans.push(Span::styled(format!(" {word}   "), styles.soft()));
    }
    Line::from(spans)
}
