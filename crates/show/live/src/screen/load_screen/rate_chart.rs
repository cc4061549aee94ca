//! The rate over time, as bars; a line shows the scheduled rate where the bars do not reach it.

use prony_present::number;
use ratatui::text::{Line, Span};

use super::columns::TimeColumns;
use super::heat_map::LABELS;
use super::model::Look;

const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

pub(super) fn bars<'a>(look: &Look<'_>, columns: &TimeColumns, height: u16) -> Vec<Line<'a>> {
    let (model, styles) = (look.model, look.styles);
    let rows = usize::from(height);
    let bars: Vec<(Option<f64>, Option<f64>)> = columns
        .columns
        .iter()
        .map(|one| (one.rate(), model.scheduled(one.middle_s)))
        .collect();
    let all = bars.iter().flat_map(|(rate, due)| [*rate, *due]).flatten();
    let most = all.fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
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
    lines
}
