//! What every screen can do.

use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::Frame;

/// A screen. It is fed with updates and keys, and draws itself when its owner says so. All times count from its beginning.
pub trait Screen {
    /// Something that happened.
    type Update;

    /// Takes what happened.
    fn update(&mut self, update: Self::Update, at: Duration);

    /// Takes a key that was pressed. Returns what it means for what the screen shows.
    fn key(&mut self, key: KeyEvent, at: Duration) -> Action;

    /// Draws the whole screen.
    fn draw(&mut self, frame: &mut Frame<'_>, at: Duration);
}

/// What a key means for the run or the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// End it, and keep what was measured.
    End,
}
