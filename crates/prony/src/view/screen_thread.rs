//! A live screen, in a thread of its own.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use prony_live::screen::{Action, Input, Screen, Session, View};

use super::live_line::LiveLine;

const EVERY: Duration = Duration::from_millis(200);
/// How long the end of a screen may take.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveMode {
    /// A live screen, if standard error and standard input are a terminal that can show it.
    Screen,
    /// Lines, and on a terminal one that changes.
    Line,
    /// Lines only.
    Plain,
    Quiet,
}

impl LiveMode {
    /// Whether this terminal can show a screen.
    pub(crate) fn has_screen() -> bool {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        std::io::stderr().is_terminal() && std::io::stdin().is_terminal() && !is_dumb
    }

    pub(crate) fn is_quiet(self) -> bool {
        self == Self::Quiet
    }

    /// The line of a command that has no screen, or no terminal that can show it.
    pub(crate) fn line(self) -> LiveLine {
        match self {
            Self::Screen | Self::Line => LiveLine::start(),
            Self::Plain | Self::Quiet => LiveLine::plain(),
        }
    }
}

pub(crate) struct ScreenSettings<Update> {
    pub(crate) begun: Instant,
    /// The CPUs on which it runs; empty for any.
    pub(crate) cpus: Vec<usize>,
    /// Set to end what the screen shows, by the user's keys or a signal.
    pub(crate) interrupt: Arc<AtomicBool>,
    /// What is printed when that happens.
    pub(crate) ending: &'static str,
    /// Called before each frame, for what the thread looks up itself.
    pub(crate) look: Box<dyn FnMut() -> Option<Update> + Send>,
}

/// The thread that draws a screen and reads its keys. It ends when what it shows is over or interrupted: from then on Ctrl-C
/// is a signal again.
pub(crate) struct ScreenThread<Update> {
    updates: Option<Sender<Update>>,
    thread: Option<JoinHandle<()>>,
    kept: RefCell<Vec<String>>,
}

impl<Update: Send + 'static> ScreenThread<Update> {
    pub(crate) fn start(
        screen: Screen<impl View<Update = Update>>,
        settings: ScreenSettings<Update>,
    ) -> std::io::Result<Self> {
        let session = Session::open()?;
        let (updates, received) = channel();
        let shown = Shown {
            screen,
            session,
            settings,
        };
        let thread = Builder::new().name("screen".into()).spawn(move || {
            // Where it cannot be pinned, it runs where the system puts it.
            let _ = prony_kernel::pin_current_thread(&shown.settings.cpus);
            shown.run(&received);
        })?;
        Ok(Self {
            updates: Some(updates),
            thread: Some(thread),
            kept: RefCell::default(),
        })
    }

    pub(crate) fn send(&self, update: Update) {
        // The screen is gone after an interrupt.
        let _ = self.updates.as_ref().map(|updates| updates.send(update));
    }
}

impl<Update> ScreenThread<Update> {
    pub(crate) fn keep(&self, line: &str) {
        self.kept.borrow_mut().push(line.to_owned());
    }
}

impl<Update> Drop for ScreenThread<Update> {
    /// Closes the screen and prints the lines that stay, also if what it shows ends with an error.
    fn drop(&mut self) {
        drop(self.updates.take());
        if let Some(thread) = self.thread.take() {
            join_within(thread, PATIENCE);
        }
        for line in self.kept.take() {
            errln!("{line}");
        }
    }
}

/// Waits for a thread, but not for one that a closed terminal holds.
fn join_within(thread: JoinHandle<()>, patience: Duration) {
    let end = Instant::now() + patience;
    while !thread.is_finished() {
        if Instant::now() >= end {
            return;
        }
        sleep(Duration::from_millis(2));
    }
    let _ = thread.join();
}

struct Shown<V: View> {
    screen: Screen<V>,
    session: Session,
    settings: ScreenSettings<V::Update>,
}

impl<V: View> Shown<V> {
    fn run(mut self, updates: &Receiver<V::Update>) {
        let mut drawn: Option<Instant> = None;
        loop {
            if self.settings.interrupt.load(Relaxed) {
                drop(self.session);
                errln!("{}", self.settings.ending);
                return;
            }
            if !self.take(updates) {
                return;
            }
            if drawn.is_none_or(|at| at.elapsed() >= EVERY) {
                if let Some(update) = (self.settings.look)() {
                    self.screen.update(update);
                }
                let at = self.settings.begun.elapsed();
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
                // The terminal is gone; what it showed goes on.
                Err(_) => return,
            }
        }
    }

    /// Takes what has happened; false when what it shows is over.
    fn take(&mut self, updates: &Receiver<V::Update>) -> bool {
        loop {
            match updates.try_recv() {
                Ok(update) => self.screen.update(update),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn input(&mut self, input: &Input) {
        let Input::Key(key) = input else { return };
        if self.screen.key(*key, self.settings.begun.elapsed()) == Action::End {
            self.settings.interrupt.store(true, Relaxed);
        }
    }
}
