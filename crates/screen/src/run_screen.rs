//! The screen of a run: its plan as a grid that fills, the estimates, what runs now, and what was noteworthy.

mod grid;
mod head;
mod help;
mod interval_bar;
mod keys;
mod line;
mod log;
mod model;
mod preparing;
mod style;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

pub use self::model::{
    AttemptCounts, CellId, Column, FigureUnit, Left, Now, Readiness, RoundState, RunModel,
    RunNoteKind, ServerState,
};

use crate::screen::{Action, Screen};
use crate::style::Styles;

/// The fewest lines of the log that are shown below the grid.
const LEAST_LOG: u16 = 3;
/// With fewer lines than this for both, the grid gets them all.
const ROOM_FOR_BOTH: u16 = 9;

/// The screen of a run. It is fed with updates and keys, and draws itself when its owner says so.
#[derive(Debug)]
pub struct RunScreen {
    model: RunModel,
    /// What is shown instead while the view is paused, and since when.
    paused: Option<(Box<RunModel>, Duration)>,
    /// The column that was chosen; `None` shows the one that runs.
    chosen: Option<usize>,
    /// The first server that is shown.
    first_row: usize,
    /// How far the first row could be scrolled when the screen was last drawn.
    last_first_row: usize,
    is_help_shown: bool,
    styles: Styles,
}

impl RunScreen {
    /// A screen without any event yet. Colours only stress what symbols say; without `colour` there are none.
    pub fn new(model: RunModel, colour: bool) -> Self {
        Self {
            model,
            paused: None,
            chosen: None,
            first_row: 0,
            last_first_row: 0,
            is_help_shown: false,
            styles: Styles::new(colour),
        }
    }
}

impl Screen for RunScreen {
    type Update = RunModel;

    fn update(&mut self, update: RunModel, _at: Duration) {
        self.model = update;
    }

    fn key(&mut self, key: KeyEvent, at: Duration) -> Action {
        self.pressed(key, at)
    }

    fn draw(&mut self, frame: &mut Frame<'_>, at: Duration) {
        let (model, at, is_paused) = match &self.paused {
            Some((model, at)) => (&**model, *at, true),
            None => (&self.model, at, false),
        };
        let area = frame.area();
        let [top, middle, bottom] = Layout::vertical([
            Constraint::Length(head::HEIGHT),
            Constraint::Fill(1),
            Constraint::Length(keys::HEIGHT),
        ])
        .areas(area);
        head::draw(frame, top, model, at, &self.styles);
        let rows = model.servers.len();
        let heading = match model.is_planned {
            true => grid::HEADING,
            false => preparing::HEADING,
        };
        let [table, notes] = split(middle, heading, rows);
        let shown = usize::from(table.height.saturating_sub(heading));
        self.last_first_row = rows.saturating_sub(shown);
        self.first_row = self.first_row.min(self.last_first_row);
        let rows = self.first_row..rows.min(self.first_row + shown);
        match model.is_planned {
            true => {
                let selected = model.shown_column(self.chosen);
                grid::draw(frame, table, model, selected, rows, &self.styles);
            }
            false => preparing::draw(frame, table, model, rows, at, &self.styles),
        }
        log::draw(frame, notes, model, &self.styles);
        keys::draw(frame, bottom, model, is_paused, &self.styles);
        if self.is_help_shown {
            crate::help::draw(frame, middle, &help::LINES, &self.styles);
        }
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
