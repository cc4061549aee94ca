//! The top of the screen: what is loaded, how, and how far the load has come.

use std::time::Duration;

use prony_present::number::minutes;
use prony_present::terminal::cut;
use prony_present::words::plural;
use ratatui::text::{Line, Span};

use super::model::{LoadModel, Look};
use crate::screen::view::bar;

pub(super) fn title<'a>(look: &Look<'_>, width: usize) -> Line<'a> {
    let times = times(look.model, look.at, width < NARROW);
    let room = width.saturating_sub(times.chars().count() + 1).max(1);
    let title = format!("{:<room$} ", cut(&look.model.outline.title, room));
    Line::from(vec![
        Span::styled(title, look.styles.strong()),
        Span::raw(times),
    ])
}

/// With fewer columns than this only the time left is shown, if it is known.
const NARROW: usize = 60;

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
pub(super) fn progress<'a>(look: &Look<'_>, width: u16) -> Line<'a> {
    let (model, at) = (look.model, look.at);
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
        return Line::raw(doing);
    };
    let text = format!(" {:>3.0} %  {doing}", share * 100.0);
    bar(share, text, width, look.styles)
}
