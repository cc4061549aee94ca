//! Keys, and the line at the bottom that names them.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::LoadScreen;
use super::heat_map::Density;
use crate::screen::Action;
use crate::style::Styles;

impl LoadScreen {
    /// Takes a key; `at` is the time since the load began.
    pub(super) fn pressed(&mut self, key: KeyEvent, at: Duration) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::None;
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::End;
            }
            KeyCode::Char('q') => return Action::End,
            KeyCode::Char('p' | ' ') => {
                self.paused = match self.paused {
                    Some(_) => None,
                    None => Some((Box::new(self.model.clone()), at)),
                };
            }
            KeyCode::Char('s') => self.is_whole = !self.is_whole,
            KeyCode::Char('d') => {
                self.density = match self.density {
                    Density::Linear => Density::Logarithmic,
                    Density::Logarithmic => Density::Linear,
                };
            }
            KeyCode::Char('?' | 'h') => self.is_help_shown = !self.is_help_shown,
            KeyCode::Esc => self.is_help_shown = false,
            _ => {}
        }
        Action::None
    }

    pub(super) fn draw_keys(&self, frame: &mut Frame<'_>, area: Rect, styles: &Styles) {
        let scale = match self.is_whole {
            true => "last 30 s",
            false => "whole load",
        };
        let density = match self.density {
            Density::Linear => "log shades",
            Density::Logarithmic => "linear shades",
        };
        let line = match self.paused {
            Some(_) => Line::from(vec![
                Span::styled("VIEW PAUSED, the load goes on", styles.selected()),
                Span::raw("  p go on  q end, keep results  ? help"),
            ]),
            None if area.width < 75 => {
                Line::styled("q end, keep results  p pause  ? help", styles.soft())
            }
            None => Line::styled(
                format!("q end, keep results  p pause  s {scale}  d {density}  ? help"),
                styles.soft(),
            ),
        };
        frame.render_widget(line, area);
    }
}
