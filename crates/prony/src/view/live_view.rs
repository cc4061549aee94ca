//! Where a command shows how far it has come: a live screen, lines, or nowhere.

use prony_live::screen::{Screen, View};

use super::live_line::LiveLine;
use super::screen_thread::{LiveMode, ScreenSettings, ScreenThread};
use crate::output;

pub(crate) enum LiveView<Update: Send + 'static> {
    Lines(LiveLine),
    Quiet,
    /// The screen, in a thread of its own.
    Screen(ScreenThread<Update>),
}

impl<Update: Send + 'static> LiveView<Update> {
    /// Starts to show something. A terminal that cannot show the screen gets lines. The screen hears whether the terminal
    /// shows colours.
    pub(crate) fn start<V: View<Update = Update>>(
        mode: LiveMode,
        screen: impl FnOnce(bool) -> Screen<V>,
        settings: impl FnOnce() -> ScreenSettings<Update>,
    ) -> Self {
        if mode.is_quiet() {
            return Self::Quiet;
        }
        if mode == LiveMode::Screen && LiveMode::has_screen() {
            let screen = screen(output::shows_colours(&std::io::stderr()));
            if let Ok(screen) = ScreenThread::start(screen, settings()) {
                return Self::Screen(screen);
            }
        }
        Self::Lines(mode.line())
    }

    /// Whether lines are all that is shown, without one that changes.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Lines(line) if !line.is_on_terminal())
    }

    /// A line that stays behind.
    pub(crate) fn keep(&self, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet => {}
            Self::Screen(screen) => screen.keep(line),
        }
    }

    /// A line about something that happened; the screen has it in its log.
    pub(crate) fn print(&self, line: &str) {
        if let Self::Lines(lines) = self {
            lines.print(line);
        }
    }

    pub(crate) fn warn(&self, line: &str) {
        match self {
            Self::Quiet => errln!("{line}"),
            _ => self.keep(line),
        }
    }
}
