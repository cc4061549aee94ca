//! The screen of a run: its plan as a grid that fills, the estimates, what runs now, and what was noteworthy.

mod grid;
mod head;
mod help;
mod interval_bar;
mod legend;
mod line;
mod log;
mod model;
mod preparing;
mod style;
#[cfg(test)]
mod tests;

use crossterm::event::KeyCode;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Text;

pub use self::model::{
    AttemptCounts, CellId, Column, FigureUnit, Left, Now, Readiness, RoundState, RunModel,
    RunNoteKind, ServerState,
};

use self::model::Look;
use crate::screen::view::{Screen, View};

/// The fewest lines of the log that are shown below the grid.
const LEAST_LOG: u16 = 3;
/// With fewer lines than this for both, the grid gets them all.
const ROOM_FOR_BOTH: u16 = 9;

pub type RunScreen = Screen<RunPanels>;

/// How the screen of a run looks.
#[derive(Debug, Default)]
pub struct RunPanels {
    /// The column that was chosen; `None` shows the one that runs.
    chosen: Option<usize>,
    /// The first server that is shown.
    first_row: usize,
    /// How far the first row could be scrolled when the screen was last drawn.
    last_first_row: usize,
}

impl RunScreen {
    pub fn new(model: RunModel, colour: bool) -> Self {
        Self::of(model, RunPanels::default(), colour)
    }
}

impl View for RunPanels {
    type Model = RunModel;
    type Update = RunModel;
    const NAME: &'static str = "run";
    const HELP: &'static [&'static str] = &help::LINES;

    fn update(model: &mut RunModel, update: RunModel) {
        *model = update;
    }

    fn key(&mut self, key: KeyCode, model: &RunModel) {
        match key {
            KeyCode::Char('f') => self.chosen = None,
            KeyCode::Tab | KeyCode::Right => self.choose(1, model),
            KeyCode::BackTab | KeyCode::Left => self.choose(-1, model),
            KeyCode::Down => self.scroll(1),
            KeyCode::Up => self.scroll(-1),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::PageUp => self.scroll(-10),
            _ => {}
        }
    }

    fn keys(&self, _: u16) -> String {
        "  tab workload  ↑↓ scroll".to_owned()
    }

    fn draw(&mut self, frame: &mut Frame<'_>, look: &Look<'_>) {
        let model = look.model;
        let [top, middle, legend, keys] = Layout::vertical([
            Constraint::Length(head::HEIGHT),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        head::draw(frame, top, look);
        let rows = model.servers.len();
        let heading = if model.is_planned {
            grid::HEADING
        } else {
            preparing::HEADING
        };
        let [table, notes] = split(middle, heading, rows);
        let shown = usize::from(table.height.saturating_sub(heading));
        self.last_first_row = rows.saturating_sub(shown);
        self.first_row = self.first_row.min(self.last_first_row);
        let rows = self.first_row..rows.min(self.first_row + shown);
        let lines = if model.is_planned {
            frame.render_widget(legend::line(look.styles), legend);
            grid::lines(look, table.width, model.shown_column(self.chosen), rows)
        } else {
            preparing::lines(look, table.width, rows)
        };
        frame.render_widget(Text::from(lines), table);
        frame.render_widget(Text::from(log::lines(look, notes)), notes);
        frame.render_widget(&look.keys, keys);
    }
}

impl RunPanels {
    fn choose(&mut self, by: isize, model: &RunModel) {
        let count = model.columns.len();
        if count > 0 {
            let shown = model.shown_column(self.chosen) as isize;
            self.chosen = Some((shown + by).rem_euclid(count as isize) as usize);
        }
    }

    fn scroll(&mut self, by: isize) {
        let row = self.first_row.saturating_add_signed(by);
        self.first_row = row.min(self.last_first_row);
    }
}

/// The table gets the lines that it needs, if the log keeps a few.
fn split(area: Rect, heading: u16, rows: usize) -> [Rect; 2] {
    let needed = u16::try_from(rows)
        .unwrap_or(u16::MAX)
        .saturating_add(heading);
    let most = match area.height {
        ..ROOM_FOR_BOTH => area.height,
        height => (height - LEAST_LOG - 1).max(height / 2),
    };
    let table = Constraint::Length(needed.min(most));
    Layout::vertical([table, Constraint::Fill(1)]).areas(area)
}
