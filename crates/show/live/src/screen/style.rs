//! The styles of the screens. A colour never says anything that a symbol or a word does not.

use ratatui::style::{Color, Modifier, Style};

/// Which styles there are: all, or those without colours.
#[derive(Clone, Copy, Debug)]
pub struct Styles {
    colour: bool,
}

impl Styles {
    pub fn new(colour: bool) -> Self {
        Self { colour }
    }

    pub fn coloured(self, colour: Color) -> Style {
        if self.colour {
            Style::new().fg(colour)
        } else {
            Style::new()
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

    pub fn warning(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }
}
