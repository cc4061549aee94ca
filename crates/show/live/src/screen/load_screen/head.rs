//! The top of the screen: what is loaded, how, and how far the load has come.

use std::time::Duration;

use prony_present::number::minutes;
use prony_present::terminal::cut;
use prony_present::words::plural;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::model::LoadModel;
use crate::screen::style::Styles;

pub fn title(frame: &mut Frame<'_>, area: Rect, model: &LoadModel, at: Duration, styles: &Styles) {
    let times = times(model, at, area.width < NARROW);
    let width = u16::try_from(times.chars().count()).unwrap_or(u16::MAX);
    let sides = Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]).spacing(1);
    let [left, right] = sides.areas(area);
    let title = cut(&model.outline.title, usize::from(left.width).max(1));
    let title = Line::styled(title, styles.strong());
    frame.render_widget(title, left);
    frame.render_widget(Line::from(times), right);
}

/// With fewer columns than this only the time left is shown, if it is known.
const NARROW: u16 = 60;

/// `elapsed 12 s, left 18 s`.
fn times(model: &LoadModel, at: Duration, is_narrow: bool) -> String {
    let elapsed = format!("elapsed {}", minutes(at));
    let left = match model.left(at) {
        None => return elapsed,
        Some((left, false)) => format!("left {}", minutes(left)),
        Some((left, true)) => format!("left about {}", minutes(left)),
    };
    if is_narrow {
        left
    } else {
        format!("{elapsed}, {left}")
    }
}

/// A bar, and what the load is doing.
pub fn progress(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &LoadModel,
    at: Duration,
    styles: &Styles,
) {
    let is_over = model.whole().is_some_and(|whole| at.as_secs_f64() > whole);
    let doing = if model.is_warming_up() {
        "warming up"
    } else if is_over {
        "waiting for responses"
    } else {
        "measuring"
    };
    let doing = match model.last.events {
        0 => doing.to_owned(),
        events => format!("{doing}, {} so far", plural(events as usize, "event")),
    };
    let Some(share) = model.share(at) else {
        frame.render_widget(Line::raw(doing), area);
        return;
    };
    let text = format!(" {:>3.0} %  {doing}", share * 100.0);
    let room = usize::from(area.width).saturating_sub(text.chars().count());
    let columns = room.min(40);
    let filled = (share * columns as f64).round() as usize;
    let line = Line::from(vec![
        Span::styled("█".repeat(filled), styles.accent()),
        Span::styled("░".repeat(columns.saturating_sub(filled)), styles.soft()),
        Span::raw(text),
    ]);
    frame.render_widget(line, area);
}
