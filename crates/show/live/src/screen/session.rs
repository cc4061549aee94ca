//! The terminal while it shows a screen: raw mode and the alternate screen, on standard error.

use std::io::{self, BufWriter, Stderr};
use std::panic;
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{self, Event, KeyEvent};
use crossterm::execute;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::screen::backend::TerminalBackend;

/// A terminal that shows a screen. Dropping it, or a panic, restores what the terminal showed before.
pub struct Session {
    terminal: Terminal<TerminalBackend<BufWriter<Stderr>>>,
}

#[derive(Debug)]
pub enum Input {
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
}

impl Session {
    /// Takes over the terminal. Standard error and standard input must be terminals.
    ///
    /// # Errors
    /// If the terminal refuses raw mode or cannot be written.
    pub fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        restore_after_panic();
        let opened = execute!(io::stderr(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(TerminalBackend(BufWriter::new(io::stderr()))));
        match opened {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Draws a frame, in the terminal's present size.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// What the user does within this time; `None` if nothing.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn input(&self, within: Duration) -> io::Result<Option<Input>> {
        wait_for_input(within)?;
        if !event::poll(Duration::ZERO)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) => Some(Input::Key(key)),
            Event::Resize(..) => Some(Input::Resized),
            _ => None,
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        restore();
    }
}

/// Waits until there is input or the time is over. crossterm does not wait here, because it would read a terminal that was
/// closed again and again, for ever.
fn wait_for_input(within: Duration) -> io::Result<()> {
    let input = io::stdin();
    let mut watched = [PollFd::new(&input, PollFlags::IN)];
    let within = Timespec::try_from(within).map_err(io::Error::other)?;
    match poll(&mut watched, Some(&within)) {
        // A signal: the size may have changed.
        Err(Errno::INTR) => return Ok(()),
        other => other?,
    };
    match watched[0].revents() {
        events if events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) => {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
        _ => Ok(()),
    }
}

/// Leaves the alternate screen; a terminal that is gone needs nothing.
fn restore() {
    let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// A panic's message must be seen on the terminal that the user had before.
fn restore_after_panic() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        before(panic);
    }));
}
