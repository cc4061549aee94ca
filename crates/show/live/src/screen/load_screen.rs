//! The screen of a load: its rate, its latencies over time, its errors, and how busy generator and server are.

mod columns;
mod figures;
mod head;
mod heat_map;
mod help;
mod history;
mod line;
mod model;
mod rate_chart;
mod rows;
mod schedule;
#[cfg(test)]
mod tests;

use crossterm::event::KeyCode;
use ratatui::Frame;

pub use self::model::{LoadModel, LoadOutline, LoadUpdate, ServerUse};

use self::columns::TimeColumns;
use self::heat_map::{Density, LABELS};
use self::history::RECENT_S;
use self::model::Look;
use crate::screen::view::{Screen, View};

pub type LoadScreen = Screen<LoadPanels>;

/// How the screen of a load looks.
#[derive(Debug)]
pub struct LoadPanels {
    /// Whether the whole load is shown, and not its last seconds.
    is_whole: bool,
    density: Density,
}

impl LoadScreen {
    /// A screen without any report yet.
    pub fn new(outline: LoadOutline, colour: bool) -> Self {
        let model = LoadModel::new(outline);
        let panels = LoadPanels {
            // A load that fits is shown whole.
            is_whole: model.whole().is_some_and(|whole| whole <= RECENT_S),
            density: Density::Logarithmic,
        };
        Self::of(model, panels, colour)
    }
}

impl View for LoadPanels {
    type Model = LoadModel;
    type Update = LoadUpdate;
    const NAME: &'static str = "load";
    const HELP: &'static [&'static str] = &help::LINES;

    fn update(model: &mut LoadModel, update: LoadUpdate) {
        model.update(update);
    }

    fn key(&mut self, key: KeyCode, _: &LoadModel) {
        match key {
            KeyCode::Char('s') => self.is_whole = !self.is_whole,
            KeyCode::Char('d') => self.density = self.density.other(),
            _ => {}
        }
    }

    fn keys(&self, width: u16) -> String {
        if width < 75 {
            return String::new();
        }
        let scale = if self.is_whole {
            "last 30 s"
        } else {
            "whole load"
        };
        let density = match self.density.other() {
            Density::Linear => "linear shades",
            Density::Logarithmic => "log shades",
        };
        format!("  s {scale}  d {density}")
    }

    fn draw(&mut self, frame: &mut Frame<'_>, look: &Look<'_>) {
        let width = usize::from(frame.area().width).saturating_sub(LABELS + 1);
        let columns = TimeColumns::of(look.model, self.is_whole, width);
        rows::draw(frame, look, &columns, self.density);
    }
}
