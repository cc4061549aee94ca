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
use crate::screen::view::{Look, Screen, View};

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
        model: &LoadModel,
        look: &Look,
        columns: &TimeColumns,
    ) {
        let (styles, at) = (&look.styles, look.at);
        match panel {
            Panel::Title => head::title(frame, area, model, at, styles),
            Panel::Load => {
                let load = cut(&model.outline.load, usize::from(area.width));
                let load = Line::styled(load, styles.soft());
                frame.render_widget(load, area);
            }
            Panel::Progress => head::progress(frame, area, model, at, styles),
            Panel::Space => {}
            Panel::Rate => frame.render_widget(figures::rate(model, styles), area),
            Panel::Flows => frame.render_widget(figures::flows(model, styles), area),
            Panel::Chart => rate_chart::draw(frame, area, model, columns, styles),
            Panel::Percentiles => {
                let lines = match area.height {
                    1 => vec![figures::short_percentiles(model, usize::from(area.width))],
                    _ => figures::percentiles(model, styles),
                };
                frame.render_widget(Text::from(lines), area);
            }
            Panel::Map => heat_map::draw(frame, area, model, columns, self.density, styles),
            Panel::Errors => {
                let lines = figures::errors(model, usize::from(area.width), styles);
                frame.render_widget(Text::from(lines), area);
            }
            Panel::Generator => frame.render_widget(figures::generator(model, styles), area),
            Panel::Server => {
                let line = model.server.map(|used| figures::server(&used, styles));
                frame.render_widget(line.unwrap_or_default(), area);
            }
            Panel::Silent => {
                let line = model.silent.as_deref();
                let line = line.map(|agent| figures::silent(agent, styles));
                frame.render_widget(line.unwrap_or_default(), area);
            }
            Panel::Keys => frame.render_widget(&look.keys, area),
        }
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

    fn draw(&mut self, frame: &mut Frame<'_>, model: &LoadModel, look: &Look) {
        let area = frame.area();
        let width = usize::from(area.width).saturating_sub(LABELS + 1);
        let columns = TimeColumns::of(model, self.is_whole, width);
        for (panel, panel_area) in rows(model, area) {
            self.draw_panel(frame, panel, panel_area, model, look, &columns);
        }
    }
}
