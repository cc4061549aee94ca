//! The rate over time, as bars; a line shows the scheduled rate where the bars do not reach it.

use prony_present::number;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span, Text};

use super::columns::TimeColumns;
use super::heat_map::LABELS;
use super::model::LoadModel;
use crate::screen::style::Styles;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

pub(super) fn draw(
    frame: &mut Frame<'_>,
    area: Rect,
    model: &LoadModel,
    columns: &TimeColumns,
    styles: &Styles,
) {
    let rows = usize::from(area.height);
    let bars: Vec<(Option<f64>, Option<f64>)> = columns
        .columns
        .iter()
        .map(|one| (one.rate(), model.scheduled(one.middle_s)))
        .collect();
    let all = bars.iter().flat_map(|(rate, due)| [*rate, *due]).flatten();
    let most = all.fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let mut lines = Vec::new();
    for row in (0..rows).rev() {
        let label = if row + 1 == rows {
            number::count(most.round())
        } else {
            String::new()
        };
        let mut spans = vec![Span::styled(format!("{label:>LABELS$} "), styles.soft())];
        for (rate, due) in &bars {
            let height = |value: f64| value / most * rows as f64;
            let filled = rate.map_or(0.0, height) - row as f64;
            let eighths = (filled * 8.0).round().clamp(0.0, 8.0) as usize;
            let is_due_here = due
                .filter(|due| *due > 0.0)
                .is_some_and(|due| ((height(due) - 1e-9).max(0.0) as usize) == row);
            spans.push(match (eighths, is_due_here) {
                (0, true) => Span::styled("─", styles.soft()),
                _ => Span::styled(EIGHTHS[eighths], styles.accent()),
            });
        }
        lines.push(Line::from(spans));
    }
    frame.render_widget(Text::from(lines), area);
}
