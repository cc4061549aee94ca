//! The servers while they are built and verified.

use std::ops::Range;
use std::time::Duration;

use prony_present::number::minutes;
use ratatui::text::{Line, Span};

use super::grid::{name_width, padded};
use super::model::{Look, Readiness, ServerState};

pub(super) const HEADING: u16 = 1;

pub(super) fn lines<'a>(look: &Look<'_>, width: u16, rows: Range<usize>) -> Vec<Line<'a>> {
    let (model, styles) = (look.model, look.styles);
    let names = name_width(model, width.into());
    let heading = format!("{} state", padded("server", names));
    let mut lines = vec![Line::styled(heading, styles.soft())];
    for server in &model.servers[rows] {
        let (symbol, style) = styles.readiness(&server.readiness);
        lines.push(Line::from(vec![
            Span::raw(format!("{} ", padded(&server.id, names))),
            Span::styled(format!("{symbol} "), style),
            Span::raw(state(server, look.at)),
        ]));
    }
    lines
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
