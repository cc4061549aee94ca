//! Keys, and the lines at the bottom that name them.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::RunScreen;
use super::model::{RoundState, RunModel};
use crate::screen::Action;
use crate::style::Styles;

/// How many lines they have.
pub const HEIGHT: u16 = 2;

impl RunScreen {
    pub(super) fn pressed(&mut self, key: KeyEvent, at: Duration) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::End;
            }
            KeyCode::Char('q') => return Action::End,
            KeyCode::Char('p' | ' ') => self.pause(at),
            KeyCode::Char('?' | 'h') => self.is_help_shown = !self.is_help_shown,
            KeyCode::Esc => self.is_help_shown = false,
            KeyCode::Char('f') => self.chosen = None,
            KeyCode::Tab | KeyCode::Right => self.choose(1),
            KeyCode::BackTab | KeyCode::Left => self.choose(-1),
            KeyCode::Down => self.scroll(1),
            KeyCode::Up => self.scroll(-1),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::PageUp => self.scroll(-10),
            _ => {}
        }
        Action::None
    }

    fn pause(&mut self, at: Duration) {
        self.paused = match self.paused {
            Some(_) => None,
            None => Some((Box::new(self.model.clone()), at)),
        };
    }

    fn choose(&mut self, by: isize) {
        let count = self.model.columns.len();
        if count > 0 {
            let shown = self.model.shown_column(self.chosen) as isize;
            self.chosen = Some((shown + by).rem_euclid(count as isize) as usize);
        }
    }

    fn scroll(&mut self, by: isize) {
        let row = self.first_row.saturating_add_signed(by);
        self.first_row = row.min(self.last_first_row);
    }
}

pub fn draw(frame: &mut Frame<'_>, area: Rect, model: &RunModel, is_paused: bool, styles: &Styles) {
    let [legend, keys] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    if model.is_planned {
        frame.render_widget(states(styles), legend);
    }
    let hint = "q end, keep results  p pause  tab workload  ↑↓ scroll  ? help";
    let line = match is_paused {
        true => Line::from(vec![
            Span::styled("VIEW PAUSED, the run goes on", styles.selected()),
            Span::raw("  p go on  q end, keep results  ? help"),
        ]),
        false => Line::styled(hint, styles.soft()),
    };
    frame.render_widget(line, keys);
}

/// `· pending  ▶ runs  ■ measured …`.
fn states<'a>(styles: &Styles) -> Line<'a> {
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
