//! Which parts the screen shows, and where: the fewer lines it has, the fewer parts.

use ratatui::layout::Rect;

use super::{Look, figures};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panel {
    Title,
    Load,
    Progress,
    Space,
    Rate,
    Flows,
    Chart,
    Percentiles,
    Map,
    Errors,
    Generator,
    Server,
    Silent,
    Keys,
}

const LEAST_MAP: u16 = 2;

/// The parts with their areas, from top to bottom.
pub(super) fn rows(look: &Look<'_>, area: Rect) -> Vec<(Panel, Rect)> {
    let (model, height) = (look.model, area.height);
    let lines_of_errors = |most: u16| {
        let lines = figures::errors(look, usize::from(area.width));
        u16::try_from(lines.len()).unwrap_or(most).min(most)
    };
    let is_warned = figures::is_generator_busy(model);
    let has_errors = model.last.errors > 0;
    let if_high = |least: u16, lines: u16| if height >= least { lines } else { 0 };
    let wanted = [
        (Panel::Title, 1),
        (Panel::Load, if_high(14, 1)),
        (Panel::Progress, if_high(5, 1)),
        (Panel::Space, if_high(28, 1)),
        (Panel::Rate, if_high(3, 1)),
        (Panel::Flows, if_high(4, u16::from(model.outline.has_flows))),
        (
            Panel::Chart,
            if_high(20, 2) + if_high(28, 2) + if_high(36, 2),
        ),
        (Panel::Space, if_high(28, 1)),
        (Panel::Percentiles, if_high(6, 1) + if_high(16, 2)),
        (Panel::Space, if_high(32, 1)),
        (Panel::Map, 0),
        (
            Panel::Errors,
            match (height, has_errors) {
                (..4, _) | (..12, false) => 0,
                (..20, _) => 1,
                (20..30, _) => lines_of_errors(2),
                (_, _) => lines_of_errors(4),
            },
        ),
        (Panel::Generator, if_high(if is_warned { 8 } else { 12 }, 1)),
        (
            Panel::Server,
            if_high(16, u16::from(model.server.is_some())),
        ),
        (Panel::Silent, if_high(5, u16::from(model.silent.is_some()))),
        (Panel::Keys, if_high(2, 1)),
    ];
    let taken: u16 = wanted.iter().map(|(_, lines)| *lines).sum();
    let left = height.saturating_sub(taken);
    let map = if left < LEAST_MAP { 0 } else { left };
    let mut at = area.y;
    let mut parts = Vec::new();
    for (part, lines) in wanted {
        let lines = if part == Panel::Map { map } else { lines };
        // The keys are at the bottom.
        if part == Panel::Keys && lines > 0 {
            at = at.max(area.bottom().saturating_sub(1));
        }
        let height = lines.min(area.bottom().saturating_sub(at));
        if height > 0 {
            let area = Rect {
                y: at,
                height,
                ..area
            };
            parts.push((part, area));
        }
        at += height;
    }
    parts
}
