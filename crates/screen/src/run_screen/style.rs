//! The symbols and colours of the screen. A colour never says anything that a symbol or a word does not.

use ratatui::style::{Color, Modifier, Style};

use super::model::{Readiness, RoundState, RunNoteKind};

/// Which styles there are: all, or those without colours.
#[derive(Clone, Copy, Debug)]
pub struct Styles {
    colour: bool,
}

impl Styles {
    pub fn new(colour: bool) -> Self {
        Self { colour }
    }

    fn coloured(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    pub fn soft(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The selected column.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    pub fn accent(self) -> Style {
        self.coloured(Color::Cyan)
    }

    pub fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub fn round(self, state: RoundState) -> (char, Style) {
        match state {
            RoundState::Pending => ('·', self.soft()),
            RoundState::Running => ('▶', self.accent().add_modifier(Modifier::BOLD)),
            RoundState::Done => ('■', self.coloured(Color::Green)),
            RoundState::Noisy => ('~', self.coloured(Color::Yellow)),
            RoundState::ReRun => ('↻', self.coloured(Color::Yellow)),
            RoundState::Failed => ('✗', self.bad()),
        }
    }

    pub fn note(self, kind: RunNoteKind) -> (char, Style) {
        match kind {
            RunNoteKind::Plain => (' ', Style::new()),
            RunNoteKind::Noisy => ('~', self.coloured(Color::Yellow)),
            RunNoteKind::WarmUp => ('↗', self.accent()),
            RunNoteKind::Failed => ('✗', self.bad()),
        }
    }

    pub fn readiness(self, readiness: &Readiness) -> (char, Style) {
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
