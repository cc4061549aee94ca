//! Where a run shows how far it has come: a live screen, lines, or nowhere.

use std::time::Instant;

use prony_screen::{RunModel, RunNote, RunNoteKind, RunScreen, RunUpdate};
use prony_suite::run::RunRequest;

use super::live_line::LiveLine;
use super::run_progress::planned_text;
use super::screen_thread::{LiveMode, ScreenSettings, ScreenThread};
use crate::output;

/// Where a run is shown.
pub enum RunView {
    /// Lines on standard error.
    Lines(LiveLine),
    /// Only warnings.
    Quiet,
    /// The screen, in a thread of its own.
    Screen(ScreenThread<RunUpdate>),
}

impl RunView {
    /// Starts to show a run. A terminal that cannot show the screen gets lines.
    pub fn start(mode: LiveMode, request: &RunRequest<'_>) -> Self {
        match mode {
            LiveMode::Quiet => Self::Quiet,
            LiveMode::Plain => Self::Lines(LiveLine::plain()),
            LiveMode::Screen if LiveMode::has_screen() => match start_screen(request) {
                Ok(screen) => Self::Screen(screen),
                Err(_) => Self::Lines(LiveLine::start()),
            },
            LiveMode::Screen | LiveMode::Line => Self::Lines(LiveLine::start()),
        }
    }

    /// Whether lines are all that is shown, without one that changes.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Lines(line) if !line.is_on_terminal())
    }

    pub fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// A line about the run as a whole, which stays behind.
    pub fn head(&self, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet => {}
            Self::Screen(screen) => screen.keep(line),
        }
    }

    /// A line about something that happened.
    pub fn print(&self, kind: RunNoteKind, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet => {}
            Self::Screen(screen) => note(screen, kind, line),
        }
    }

    /// A line that the user must not miss.
    pub fn warn(&self, kind: RunNoteKind, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet => errln!("{line}"),
            Self::Screen(screen) => {
                note(screen, kind, line);
                screen.keep(line);
            }
        }
    }

    /// A line that sums up the run.
    pub fn summary(&self, line: &str) {
        self.head(line);
    }

    /// Shows these parts in the line that changes, the most important first.
    pub fn show(&self, parts: &[String]) {
        if let Self::Lines(lines) = self {
            lines.show(parts);
        }
    }

    /// Moves the bar of that line.
    pub fn move_to(&self, share: f64) {
        if let Self::Lines(lines) = self {
            lines.move_to(share);
        }
    }

    /// Tells the screen what happened; without one, nothing is worked out.
    pub fn update(&self, update: impl FnOnce() -> RunUpdate) {
        if let Self::Screen(screen) = self {
            screen.send(update());
        }
    }

    /// Clears what changes, and prints what stays.
    pub fn finish(self) {
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

fn start_screen(request: &RunRequest<'_>) -> std::io::Result<ScreenThread<RunUpdate>> {
    let servers = request.servers.iter().map(|one| one.id.clone());
    let title = format!("{} ({})", request.suite.title, request.suite.id);
    let model = RunModel::new(title, planned_text(request), servers);
    let screen = RunScreen::new(model, output::shows_colours(&std::io::stderr()));
    let settings = ScreenSettings {
        begun: Instant::now(),
        // Not on the CPUs of the servers. Where it cannot be pinned, the run's notes say so.
        cpus: request.bench.cpus.load.clone(),
        interrupt: request.bench.interrupt.clone(),
        ending: "ending: the trial that runs is dropped, what was measured is kept; Ctrl-C ends at once",
        look: Box::new(|| None),
    };
    ScreenThread::start(screen, settings)
}

fn note(screen: &ScreenThread<RunUpdate>, kind: RunNoteKind, line: &str) {
    let text = line.to_owned();
    screen.send(RunUpdate::Note(RunNote { kind, text }));
}
