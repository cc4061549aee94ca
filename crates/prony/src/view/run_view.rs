//! Where a run shows how far it has come: a live screen, lines, or nowhere.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use prony_screen::{
    Input, RunAction, RunModel, RunNote, RunNoteKind, RunScreen, RunUpdate, Session,
};
use prony_suite::run::RunRequest;

use super::live_line::LiveLine;
use super::run_progress::planned_text;

/// How often the screen is drawn.
const EVERY: Duration = Duration::from_millis(200);

/// How a command shows its progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveMode {
    /// A live screen, if standard error and standard input are a terminal that can show it.
    Screen,
    /// Lines, and on a terminal one that changes.
    Line,
    /// Lines only.
    Plain,
    /// Only warnings.
    Quiet,
}

impl LiveMode {
    /// Whether this terminal can show a screen.
    fn has_screen() -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        std::io::stderr().is_terminal() && std::io::stdin().is_terminal() && !is_dumb
    }
}

/// Where a run is shown.
pub enum RunView {
    /// Lines on standard error.
    Lines(LiveLine),
    /// Only warnings.
    Quiet,
    /// The screen, in a thread of its own.
    Screen(ScreenThread),
}

impl RunView {
    /// Starts to show a run. A terminal that cannot show the screen gets lines.
    pub fn start(mode: LiveMode, request: &RunRequest<'_>) -> Self {
        match mode {
            LiveMode::Quiet => Self::Quiet,
            LiveMode::Plain => Self::Lines(LiveLine::plain()),
            LiveMode::Screen if LiveMode::has_screen() => match ScreenThread::start(request) {
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
            Self::Screen(screen) => screen.note(kind, line),
        }
    }

    /// A line that the user must not miss.
    pub fn warn(&self, kind: RunNoteKind, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet => errln!("{line}"),
            Self::Screen(screen) => {
                screen.note(kind, line);
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

/// The thread that draws the screen and reads its keys. It ends when the run is over or interrupted: from then on Ctrl-C is
/// a signal again.
pub struct ScreenThread {
    updates: Option<Sender<RunUpdate>>,
    thread: Option<JoinHandle<()>>,
    /// Lines that are printed when the screen is gone.
    kept: RefCell<Vec<String>>,
}

impl ScreenThread {
    fn start(request: &RunRequest<'_>) -> std::io::Result<Self> {
        let servers = request.servers.iter().map(|one| one.id.clone());
        let title = format!("{} ({})", request.suite.title, request.suite.id);
        let model = RunModel::new(title, planned_text(request), servers);
        let screen = RunScreen::new(model, console::colors_enabled_stderr());
        let session = Session::open()?;
        let (updates, received) = channel();
        let shown = Shown {
            screen,
            session,
            begun: Instant::now(),
            interrupt: request.bench.interrupt.clone(),
        };
        // Not on the CPUs of the servers. Where it cannot be pinned, the run's notes say so.
        let cpus = request.bench.cpus.load.clone();
        let thread = Builder::new().name("screen".into()).spawn(move || {
            let _ = prony_system::pin_current_thread(&cpus);
            shown.run(&received);
        })?;
        Ok(Self {
            updates: Some(updates),
            thread: Some(thread),
            kept: RefCell::default(),
        })
    }

    fn send(&self, update: RunUpdate) {
        // The screen is gone after an interrupt.
        let _ = self.updates.as_ref().map(|updates| updates.send(update));
    }

    fn note(&self, kind: RunNoteKind, line: &str) {
        let text = line.to_owned();
        self.send(RunUpdate::Note(RunNote { kind, text }));
    }

    fn keep(&self, line: &str) {
        self.kept.borrow_mut().push(line.to_owned());
    }

    /// Closes the screen and prints the lines that stay.
    fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        drop(self.updates.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
            for line in self.kept.take() {
                errln!("{line}");
            }
        }
    }
}

impl Drop for ScreenThread {
    /// Also if the run ends with an error.
    fn drop(&mut self) {
        self.stop();
    }
}

/// The screen on its terminal.
struct Shown {
    screen: RunScreen,
    session: Session,
    begun: Instant,
    interrupt: Arc<AtomicBool>,
}

impl Shown {
    fn run(mut self, updates: &Receiver<RunUpdate>) {
        let mut drawn: Option<Instant> = None;
        loop {
            if self.interrupt.load(Relaxed) {
                drop(self.session);
                errln!(
                    "ending: the trial that runs is dropped, what was measured is kept; Ctrl-C ends at once"
                );
                return;
            }
            if !self.take(updates) {
                return;
            }
            if drawn.is_none_or(|at| at.elapsed() >= EVERY) {
                let at = self.begun.elapsed();
                let screen = &mut self.screen;
                if self.session.draw(|frame| screen.draw(frame, at)).is_err() {
                    return;
                }
                drawn = Some(Instant::now());
            }
            match self.session.input(EVERY / 2) {
                Ok(None) => {}
                Ok(Some(input)) => {
                    drawn = None;
                    self.input(&input);
                }
                // The terminal is gone; the run goes on.
                Err(_) => return,
            }
        }
    }

    /// Takes what has happened; false when the run is over.
    fn take(&mut self, updates: &Receiver<RunUpdate>) -> bool {
        loop {
            match updates.try_recv() {
                Ok(update) => self.screen.update(update, self.begun.elapsed()),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn input(&mut self, input: &Input) {
        let Input::Key(key) = input else { return };
        if self.screen.key(*key, self.begun.elapsed()) == RunAction::End {
            self.interrupt.store(true, Relaxed);
        }
    }
}
