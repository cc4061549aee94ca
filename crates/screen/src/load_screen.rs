//! The screen of a load: its rate, its latencies over time, its errors, and how busy generator and server are.

mod columns;
mod figures;
mod head;
mod heat_map;
mod help;
mod history;
mod keys;
mod model;
mod rate_chart;
mod rows;
mod schedule;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crossterm::event::KeyEvent;
use prony_present::terminal::cut;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};

pub use self::model::{LoadOutline, LoadUpdate, ServerUse};

use self::columns::TimeColumns;
use self::heat_map::{Density, LABELS};
use self::history::RECENT_S;
use self::model::LoadModel;
use self::rows::{Panel, rows};
use crate::screen::{Action, Screen};
use crate::style::Styles;

/// The screen of a load.
#[derive(Debug)]
pub struct LoadScreen {
    model: LoadModel,
    /// What is shown instead while the view is paused, and since when.
    paused: Option<(Box<LoadModel>, Duration)>,
    /// Whether the whole load is shown, and not its last seconds.
    is_whole: bool,
    density: Density,
    is_help_shown: bool,
    styles: Styles,
}

impl LoadScreen {
    /// A screen without any report yet. Colours only stress what symbols say; without `colour` there are none.
    pub fn new(outline: LoadOutline, colour: bool) -> Self {
        let model = LoadModel::new(outline);
        Self {
            // A load that fits is shown whole.
            is_whole: model.whole().is_some_and(|whole| whole <= RECENT_S),
            model,
            paused: None,
            density: Density::Logarithmic,
            is_help_shown: false,
            styles: Styles::new(colour),
        }
    }

    fn draw_panel(
        &self,
        frame: &mut Frame<'_>,
        panel: Panel,
        area: Rect,
        model: &LoadModel,
        at: Duration,
        columns: &TimeColumns,
    ) {
        let styles = &self.styles;
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
            Panel::Keys => self.draw_keys(frame, area, styles),
        }
    }
}

impl Screen for LoadScreen {
    type Update = LoadUpdate;

    fn update(&mut self, update: LoadUpdate, _at: Duration) {
        self.model.update(update);
    }

    fn key(&mut self, key: KeyEvent, at: Duration) -> Action {
        self.pressed(key, at)
    }

    fn draw(&mut self, frame: &mut Frame<'_>, at: Duration) {
        let (model, at) = match &self.paused {
            Some((model, at)) => (&**model, *at),
            None => (&self.model, at),
        };
        let area = frame.area();
        let width = usize::from(area.width).saturating_sub(LABELS + 1);
        let columns = TimeColumns::of(model, self.is_whole, width);
        for (panel, panel_area) in rows(model, area) {
            self.draw_panel(frame, panel, panel_area, model, at, &columns);
        }
        if self.is_help_shown {
            crate::help::draw(frame, area, &help::LINES, &self.styles);
        }
    }
}
