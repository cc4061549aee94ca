//! The servers while they are built and verified.

use std::ops::Range;
use std::time::Duration;

use prony_present::number::minutes;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::grid::{name_width, padded};
use super::model::{Readiness, RunModel, ServerState};
use crate::screen::style::Styles;

/// The lines above the servers.
pub(super) const HEADING: u16 = 1;

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &RunModel,
    rows: Range<usize>,
    at: Duration,
    styles: &Styles,
) {
    let names = name_width(model, area.width);
    let mut lines = vec![Line::styled(
        format!("{} state", padded("server", names)),
        styles.soft(),
    )];
    for server in &model.servers[rows] {
        let (symbol, style) = styles.readiness(&server.readiness);
        lines.push(Line::from(vec![
            Span::raw(format!("{} ", padded(&server.id, names))),
            Span::styled(format!("{symbol} "), style),
            Span::raw(state(server, at)),
        ]));
    }
    frame.render_widget(Text::from(lines), area);
}

fn state(server: &ServerState, at: Duration) -> String {
    let time = || minutes(at.saturating_sub(server.since));
    let one_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match &server.readiness {
        Readiness::Waiting => "waiting".to_owned(),
        Readiness::Preparing(step) => format!("{step}, {}", time()),
        Readiness::Verifying => format!("verifying, {}", time()),
        Readiness::Prepared(text) => text.clone(),
        Readiness::Verified => "ready".to_owned(),
        Readiness::Wrong(why) => format!("WRONG: {}", one_line(why)),
        Readiness::Skipped(why) => format!("SKIPPED: {}", one_line(why)),
        Readiness::Failed(why) => format!("FAILED: {}", one_line(why)),
    }
}
