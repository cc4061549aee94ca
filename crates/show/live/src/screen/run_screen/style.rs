//! The symbols and colours of the screen of a run.

use ratatui::style::{Color, Modifier, Style};

use super::model::{Readiness, RoundState, RunNoteKind};
use crate::screen::style::Styles;

impl Styles {
    pub(crate) fn round(self, state: RoundState) -> (char, Style) {
        match state {
            RoundState::Pending => ('·', self.soft()),
            RoundState::Running => ('▶', self.accent().add_modifier(Modifier::BOLD)),
            RoundState::Done => ('■', self.coloured(Color::Green)),
            RoundState::Noisy => ('~', self.coloured(Color::Yellow)),
            RoundState::ReRun => ('↻', self.coloured(Color::Yellow)),
            RoundState::Failed => ('✗', self.bad()),
        }
    }

    pub(crate) fn note(self, kind: RunNoteKind) -> (char, Style) {
        match kind {
            RunNoteKind::Plain => (' ', Style::new()),
            RunNoteKind::Noisy => ('~', self.coloured(Color::Yellow)),
            RunNoteKind::WarmUp => ('↗', self.accent()),
            RunNoteKind::Failed => ('✗', self.bad()),
        }
    }

    pub(crate) fn readiness(self, readiness: &Readiness) -> (char, Style) {
        match readiness {
            Readiness::Waiting => ('·', self.soft()),
            Readiness::Preparing(_) | Readiness::Verifying => ('▶', self.accent()),
            Readiness::Prepared(_) => ('□', Style::new()),
            Readiness::Verified => ('■', self.coloured(Color::Green)),
            Readiness::Skipped(_) => ('–', self.coloured(Color::Yellow)),
            Readiness::Wrong(_) | Readiness::Failed(_) => ('✗', self.bad()),
        }
    }
}
