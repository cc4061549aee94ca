//! The help, over the middle of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Block, Clear};

use super::style::Styles;

const LINES: [&str; 13] = [
    "q, Ctrl-C  end the run; what was measured is kept and reported;",
    "           Ctrl-C once more ends at once, without a report",
    "p, space   pause the view and go on; the run itself never pauses",
    "tab, ← →   show the figures of another workload",
    "f          follow the workload that runs",
    "↑ ↓        scroll the servers",
    "?          close this help",
    "",
    "Each symbol of the grid is a round of a server with a workload:",
    "· pending   ▶ runs   ■ measured   ~ measured, but noisy",
    "↻ noisy, re-run at the end of the round   ✗ failed",
    "Figures are medians over rounds; ├─●─┤ is the 95 % interval,",
    "as in the report. Time left counts on as many re-runs as so far.",
];

pub fn draw(frame: &mut Frame<'_>, area: Rect, styles: &Styles) {
    let width = LINES.iter().map(|line| line.chars().count()).max();
    let width = u16::try_from(width.unwrap_or(0) + 4).unwrap_or(u16::MAX);
    let height = LINES.len() as u16 + 2;
    let area = area.centered(Constraint::Length(width), Constraint::Length(height));
    let block = Block::bordered().title(Line::styled(" Help ", styles.strong()));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    let lines = LINES.map(|line| Line::raw(format!(" {line}")));
    frame.render_widget(Text::from_iter(lines), inner);
}
