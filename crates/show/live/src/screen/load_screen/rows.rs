//! The parts of the screen from top to bottom: the fewer lines it has, the fewer parts.

use prony_present::terminal::cut;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Text};

use super::columns::TimeColumns;
use super::heat_map::{self, Density};
use super::model::Look;
use super::{figures, head, rate_chart};

const LEAST_MAP: u16 = 2;

pub(super) fn draw(
    frame: &mut Frame<'_>,
    look: &Look<'_>,
    columns: &TimeColumns,
    density: Density,
) {
    let (model, styles, area) = (look.model, look.styles, frame.area());
    let (width, height) = (usize::from(area.width), area.height);
    let if_high = |least: u16, lines: u16| if height >= least { lines } else { 0 };
    let space = Text::default;
    let load = cut(&model.outline.load, width);
    let chart = if_high(20, 2) + if_high(28, 2) + if_high(36, 2);
    let percentiles = if_high(6, 1) + if_high(16, 2);
    let above: [(u16, Text<'_>); 10] = [
        (1, head::title(look, width).into()),
        (if_high(14, 1), Line::styled(load, styles.soft()).into()),
        (if_high(5, 1), head::progress(look, area.width).into()),
        (if_high(28, 1), space()),
        (if_high(3, 1), figures::rate(look).into()),
        (
            if_high(4, model.outline.has_flows.into()),
            figures::flows(look).into(),
        ),
        (chart, rate_chart::bars(look, columns, chart).into()),
        (if_high(28, 1), space()),
        (
            percentiles,
            match percentiles {
                1 => figures::short_percentiles(model, width).into(),
                _ => figures::percentiles(look).into(),
            },
        ),
        (if_high(32, 1), space()),
    ];
    let errors = figures::errors(look, width);
    let most_errors = match (height, model.last.errors) {
        (..4, _) | (..12, 0) => 0,
        (..20, _) => 1,
        (20..30, _) => 2,
        _ => 4,
    };
    let generator = if_high(
        if figures::is_generator_busy(model) {
            8
        } else {
            12
        },
        1,
    );
    let silent = model.silent.clone();
    let below: [(u16, Text<'_>); 4] = [
        (
            most_errors.min(u16::try_from(errors.len()).unwrap_or(most_errors)),
            errors.into(),
        ),
        (generator, figures::generator(look).into()),
        (
            if_high(16, model.server.is_some().into()),
            figures::server(look).into(),
        ),
        (
            if_high(5, silent.is_some().into()),
            Line::styled(silent.unwrap_or_default(), styles.warning()).into(),
        ),
    ];
    let keys = if_high(2, 1);
    let taken: u16 = above.iter().chain(&below).map(|(lines, _)| lines).sum();
    let left = height.saturating_sub(taken + keys);
    let map = if left < LEAST_MAP { 0 } else { left };
    let map = (map, heat_map::lines(look, columns, density, map).into());
    let mut at = area.y;
    let mut draw = |lines: u16, text: Text<'_>, from: u16| {
        at = at.max(from);
        let height = lines.min(area.bottom().saturating_sub(at));
        frame.render_widget(
            text,
            Rect {
                y: at,
                height,
                ..area
            },
        );
        at += height;
    };
    for (lines, text) in above.into_iter().chain([map]).chain(below) {
        draw(lines, text, area.y);
    }
    // The keys are at the bottom.
    draw(
        keys,
        look.keys.clone().into(),
        area.bottom().saturating_sub(1),
    );
}
