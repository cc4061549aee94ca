//! Where a run shows how far it has come: a live screen, lines, or nowhere.

use std::time::{Duration, Instant};

use prony_live::screen::{RunModel, RunScreen};
use prony_run::run::Testbed;

use super::live_line::LiveLine;
use super::screen_thread::{LiveMode, ScreenSettings, ScreenThread};
use crate::output;

/// Where a run is shown.
pub(crate) enum RunView {
    /// Lines on standard error.
    Lines(LiveLine),
    /// Only warnings.
    Quiet,
    /// The screen, in a thread of its own.
    Screen(ScreenThread<RunModel>),
}

impl RunView {
    /// Starts to show a run. A terminal that cannot show the screen gets lines.
    pub(crate) fn start(
        mode: LiveMode,
        model: &RunModel,
        testbed: &Testbed,
        begun: Instant,
    ) -> Self {
        match mode {
            LiveMode::Quiet => Self::Quiet,
            LiveMode::Plain => Self::Lines(LiveLine::plain()),
            LiveMode::Screen if LiveMode::has_screen() => match start_screen(model, testbed, begun)
            {
                Ok(screen) => Self::Screen(screen),
                Err(_) => Self::Lines(LiveLine::start()),
            },
            LiveMode::Screen | LiveMode::Line => Self::Lines(LiveLine::start()),
        }
    }

    /// Whether lines are all that is shown, without one that changes.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self, Self::Lines(line) if !line.is_on_terminal())
    }

    pub(crate) fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// A line about the run as a whole, which stays behind.
    pub(crate) fn head(&self, line: &str) {
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

    /// A line that the user must not miss.
    pub(crate) fn warn(&self, line: &str) {
        match self {
            Self::Quiet => errln!("{line}"),
            _ => self.head(line),
        }
    }

    /// Shows how far the run has come.
    pub(crate) fn show(&self, model: &RunModel, at: Duration) {
        match self {
            Self::Lines(lines) => {
                lines.move_to(model.share);
                lines.show(&model.line(at));
            }
            Self::Quiet => {}
            Self::Screen(screen) => screen.send(model.clone()),
        }
    }

    /// Clears what changes, and prints what stays.
    pub(crate) fn finish(self) {
        match self {
            Self::Lines(lines) => {
                lines.finish();
                errln!();
            }
            Self::Quiet => {}
            Self::Screen(screen) => {
                screen.close();
                errln!();
            }
        }
    }
}

fn start_screen(
    model: &RunModel,
    testbed: &Testbed,
    begun: Instant,
) -> std::io::Result<ScreenThread<RunModel>> {
    let screen = RunScreen::new(model.clone(), output::shows_colours(&std::io::stderr()));
    let settings = ScreenSettings {
        begun,
        // Not on the CPUs of the servers. Where it cannot be pinned, the run's notes say so.
        cpus: testbed.cpus.load.clone(),
        interrupt: testbed.interrupt.clone(),
        ending: "ending: the trial that runs is dropped, what was measured is kept; Ctrl-C ends at once",
        look: Box::new(|| None),
    };
    ScreenThread::start(screen, settings)
}
