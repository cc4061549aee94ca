//! A line on standard error that changes while something goes on, if standard error is a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use prony_present::number::clock;
use terminal_size::terminal_size_of;

use super::fitted;

const EVERY: Duration = Duration::from_millis(200);
/// From this width on there is room for a long bar.
const WIDE: usize = 110;
/// A terminal that does not know its width has this one.
const USUAL_WIDTH: usize = 80;
/// The columns of the elapsed time and the spaces beside the bar.
const BESIDE_THE_BAR: usize = 6;
/// Back to the first column, and clear the line.
pub(super) const CLEAR: &str = "\r\x1b[2K";

/// The line. It fits the terminal: parts without room are left out, and none is cut.
pub(crate) struct LiveLine {
    /// `None` if there is no terminal.
    drawn: Option<Arc<Mutex<Drawn>>>,
}

/// The line on a terminal.
struct Drawn {
    terminal: Box<dyn Write + Send>,
    columns: usize,
    begun: Instant,
    /// The share of the whole that is done.
    share: f64,
    message: String,
    finished: bool,
}

impl LiveLine {
    pub(crate) fn start() -> Self {
        if !io::stderr().is_terminal() {
            return Self::plain();
        }
        let columns = terminal_size_of(io::stderr());
        let columns = columns.map_or(USUAL_WIDTH, |(width, _)| width.0.into());
        let line = Self::on(Box::new(io::stderr()), columns);
        if let Some(drawn) = &line.drawn {
            let drawn = Arc::downgrade(drawn);
            // Without the thread, the time moves when the figures do.
            let _ = thread::Builder::new()
                .name("live line".into())
                .spawn(move || keep_time(&drawn));
        }
        line
    }

    /// No line that changes: only those that stay.
    pub(crate) fn plain() -> Self {
        Self { drawn: None }
    }

    /// One on a terminal with this many columns.
    pub(crate) fn on(terminal: Box<dyn Write + Send>, columns: usize) -> Self {
        let drawn = Drawn {
            terminal,
            columns,
            begun: Instant::now(),
            share: 0.0,
            message: String::new(),
            finished: false,
        };
        Self {
            drawn: Some(Arc::new(Mutex::new(drawn))),
        }
    }

    pub(crate) fn is_on_terminal(&self) -> bool {
        self.drawn.is_some()
    }

    /// Prints a line that stays, above the one that changes.
    pub(crate) fn print(&self, line: &str) {
        match self.drawn() {
            Some(mut drawn) => {
                let line = fitted(line, drawn.columns);
                drawn.print(line.trim_end());
            }
            None => errln!("{line}"),
        }
    }

    /// Shows these parts, the most important first, and moves the bar to this share (0 to 1) of the whole, if it is known.
    pub(crate) fn show(&self, parts: &[String], share: Option<f64>) {
        if let Some(mut drawn) = self.drawn() {
            drawn.message = fit(parts, drawn.message_columns());
            drawn.share = share.map_or(drawn.share, |share| share.clamp(0.0, 1.0));
            drawn.draw();
        }
    }

    fn drawn(&self) -> Option<MutexGuard<'_, Drawn>> {
        self.drawn.as_deref().map(lock)
    }
}

impl Drop for LiveLine {
    /// Clears the line, also if what it shows ends with an error.
    fn drop(&mut self) {
        if let Some(mut drawn) = self.drawn() {
            drawn.finished = true;
            drawn.write(CLEAR);
        }
    }
}

impl Drawn {
    fn bar_columns(&self) -> usize {
        if self.columns < WIDE { 12 } else { 24 }
    }

    fn message_columns(&self) -> usize {
        let bar = self.bar_columns() + BESIDE_THE_BAR;
        self.columns.saturating_sub(bar)
    }

    fn draw(&mut self) {
        if self.finished {
            return;
        }
        let columns = self.bar_columns();
        let full = (self.share * columns as f64) as usize;
        let bar = "█".repeat(full) + &"░".repeat(columns - full);
        let clock = clock(self.begun.elapsed());
        let message = self.message.chars().take(self.message_columns());
        let message: String = message.collect();
        self.write(&format!("{CLEAR}{clock:>4} {bar} {message}"));
    }

    fn print(&mut self, line: &str) {
        self.write(&format!("{CLEAR}{line}\n"));
        self.draw();
    }

    fn write(&mut self, text: &str) {
        // There is nowhere left to report a failure.
        let _ = self.terminal.write_all(text.as_bytes());
        let _ = self.terminal.flush();
    }
}

fn lock(drawn: &Mutex<Drawn>) -> MutexGuard<'_, Drawn> {
    drawn.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws the line again and again, until it is gone.
fn keep_time(drawn: &Weak<Mutex<Drawn>>) {
    while let Some(drawn) = drawn.upgrade() {
        lock(&drawn).draw();
        drop(drawn);
        thread::sleep(EVERY);
    }
}

/// The first part, and as many of the others as fit.
fn fit(parts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let longer = if line.is_empty() {
            part.clone()
        } else {
            format!("{line}  {part}")
        };
        if line.is_empty() || longer.chars().count() <= columns {
            line = longer;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_whole_or_left_out() {
        let parts = ["3/45", "40 s left", "", "round 2 of 6"].map(str::to_owned);
        assert_eq!(fit(&parts, 80), "3/45  40 s left  round 2 of 6");
        assert_eq!(fit(&parts, 28), "3/45  40 s left");
        assert_eq!(fit(&parts, 2), "3/45");
    }
}
