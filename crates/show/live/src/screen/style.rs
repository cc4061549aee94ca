//! The styles of the screens. A colour never says anything that a symbol or a word does not.

use ratatui::style::{Color, Modifier, Style};

/// Which styles there are: all, or those without colours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Styles {
    colour: bool,
}

impl Styles {
    pub(crate) fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub(crate) fn coloured(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
        }
    }

    pub(crate) fn soft(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The selected column.
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    pub(crate) fn accent(self) -> Style {
        self.coloured(Color::Cyan)
    }

    pub(crate) fn warning(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }
}
