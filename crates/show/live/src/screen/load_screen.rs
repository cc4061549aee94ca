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
use prony_present::terminal::cut;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};

pub use self::model::{LoadModel, LoadOutline, LoadUpdate, ServerUse};

use self::columns::TimeColumns;
use self::heat_map::{Density, LABELS};
use self::history::RECENT_S;
use self::rows::{Panel, rows};
use crate::screen::view::{self, Screen, View};

type Look<'m> = view::Look<'m, LoadModel>;

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

impl LoadPanels {
    fn draw_panel(
        &self,
        frame: &mut Frame<'_>,
        panel: Panel,
        area: Rect,
        look: &Look<'_>,
        columns: &TimeColumns,
    ) {
        let (model, styles) = (look.model, look.styles);
        let width = usize::from(area.width);
        let text: Text<'_> = match panel {
            Panel::Title => return head::title(frame, area, look),
            Panel::Load => Line::styled(cut(&model.outline.load, width), styles.soft()).into(),
            Panel::Progress => head::progress(look, area.width).into(),
            Panel::Space => return,
            Panel::Rate => figures::rate(look).into(),
            Panel::Flows => figures::flows(look).into(),
            Panel::Chart => rate_chart::bars(look, columns, area.height).into(),
            Panel::Percentiles if area.height == 1 => {
                figures::short_percentiles(model, width).into()
            }
            Panel::Percentiles => figures::percentiles(look).into(),
            Panel::Map => heat_map::lines(look, columns, self.density, area.height).into(),
            Panel::Errors => figures::errors(look, width).into(),
            Panel::Generator => figures::generator(look).into(),
            Panel::Server => figures::server(look).into(),
            Panel::Silent => {
                Line::styled(model.silent.clone().unwrap_or_default(), styles.warning()).into()
            }
            Panel::Keys => look.keys.clone().into(),
        };
        frame.render_widget(text, area);
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
        let area = frame.area();
        let width = usize::from(area.width).saturating_sub(LABELS + 1);
        let columns = TimeColumns::of(look.model, self.is_whole, width);
        for (panel, panel_area) in rows(look, area) {
            self.draw_panel(frame, panel, panel_area, look, &columns);
        }
    }
}
