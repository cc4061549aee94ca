//! A line on standard error that changes while something goes on, if standard error is a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use console::{Term, measure_text_width};
use indicatif::{ProgressBar, ProgressStyle};

use super::fitted;

/// How many steps the bar has.
pub const STEPS: u64 = 10_000;
/// From this width on there is room for a long bar.
const WIDE: usize = 110;
/// The columns of the elapsed time and the spaces beside the bar.
const BESIDE_THE_BAR: usize = 6;

/// The line. It fits the terminal: parts without room are left out, and none is cut.
pub struct LiveLine {
    bar: ProgressBar,
    /// How many columns the terminal has, and how many the text of the line; `None` if there is no terminal.
    columns: Option<(usize, usize)>,
}

impl LiveLine {
    pub fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::plain();
        }
        let columns = usize::from(Term::stderr().size().1);
        let line = Self::on(ProgressBar::new(STEPS), columns);
        line.bar.enable_steady_tick(Duration::from_millis(200));
        line
    }

    /// No line that changes: only those that stay.
    pub fn plain() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            columns: None,
        }
    }

    /// One on a terminal with this many columns.
    pub fn on(bar: ProgressBar, columns: usize) -> Self {
        let bar_columns = if columns < WIDE { 12 } else { 24 };
        let template = format!("{{elapsed:>4}} {{bar:{bar_columns}}} {{wide_msg}}");
        let style = ProgressStyle::with_template(&template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self {
            bar: bar.with_style(style),
            columns: Some((
                columns,
                columns.saturating_sub(bar_columns + BESIDE_THE_BAR),
            )),
        }
    }

    pub fn is_on_terminal(&self) -> bool {
        self.columns.is_some()
    }

    /// Prints a line that stays, above the one that changes.
    pub fn print(&self, line: &str) {
        match self.columns {
            Some((columns, _)) => self.bar.println(fitted(line, columns).trim_end()),
            None => errln!("{line}"),
        }
    }

    /// Prints a line that stays, however long it is.
    pub fn print_whole(&self, line: &str) {
        self.bar.suspend(|| errln!("{line}"));
    }

    /// Shows these parts, the most important first.
    pub fn show(&self, parts: &[String]) {
        if let Some((_, columns)) = self.columns {
            self.bar.set_message(fit(parts, columns));
        }
    }

    /// Moves the bar to this share (0 to 1) of the whole.
    pub fn move_to(&self, share: f64) {
        self.bar
            .set_position((share.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Clears the line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The first part, and as many of the others as fit.
fn fit(parts: &[String], columns: usize) -> String {
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let longer = match line.is_empty() {
            true => part.clone(),
            false => format!("{line}  {part}"),
        };
        if line.is_empty() || measure_text_width(&longer) <= columns {
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
