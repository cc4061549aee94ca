//! A figure and its interval on an axis that all servers share: `     ├──●──┤`.

use prony_stats::Estimate;
use ratatui::text::Span;

use crate::screen::style::Styles;

/// Wide intervals of the first rounds are cut here, as a multiple of the largest figure, so that the figures stay apart.
const BEYOND: f64 = 1.25;

/// An axis from 0 to some figure; nowhere if there is no figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis(Option<f64>);

impl Axis {
    pub(super) fn of(figures: impl Iterator<Item = Estimate>) -> Self {
        let (mut median, mut high) = (0.0_f64, 0.0_f64);
        for figure in figures {
            median = median.max(figure.median);
            high = high.max(figure.high);
        }
        Self((median > 0.0).then(|| high.clamp(median, median * BEYOND)))
    }

    pub(super) fn end(self) -> Option<f64> {
        self.0
    }

    /// The column of a value on an axis of `width` columns; `None` if it is beyond the end.
    fn column(self, value: f64, width: usize) -> Option<usize> {
        let share = value / self.0?;
        let last = width.checked_sub(1)?;
        (0.0..=1.0 + 1e-9)
            .contains(&share)
            .then(|| ((share * last as f64).round() as usize).min(last))
    }
}

pub(super) fn spans<'a>(
    figure: Estimate,
    axis: Axis,
    width: usize,
    styles: Styles,
) -> Vec<Span<'a>> {
    let Some(middle) = axis.column(figure.median, width) else {
        return Vec::new();
    };
    let low = axis.column(figure.low.max(0.0), width).unwrap_or(middle);
    let high = axis.column(figure.high, width);
    let mut columns = vec![' '; width];
    let end = high.unwrap_or(width - 1);
    // An interval that is hardly wider than the dot would look lopsided.
    if figure.half_width_share().is_some() && end > low + 1 {
        columns[low..=end].fill('─');
        columns[low] = '├';
        // An interval that goes on beyond the axis has no end mark.
        columns[end] = if high.is_some() { '┤' } else { '→' };
    }
    columns[middle] = '●';
    let text = |part: &[char]| part.iter().collect::<String>();
    vec![
        Span::raw(text(&columns[..middle])),
        Span::styled(text(&columns[middle..=middle]), styles.accent()),
        Span::raw(text(&columns[middle + 1..])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(figure: Estimate, axis: Axis, width: usize) -> String {
        let spans = spans(figure, axis, width, Styles::new(false));
        spans.iter().map(|span| span.content.as_ref()).collect()
    }

    fn figure(median: f64, low: f64, high: f64) -> Estimate {
        Estimate {
            median,
            low,
            high,
            coverage: 0.95,
            n: if low < high { 3 } else { 1 },
        }
    }

    #[test]
    fn a_bar_shows_figure_and_interval_and_what_is_beyond_the_axis() {
        let (slow, fast) = (figure(40.0, 20.0, 60.0), figure(100.0, 80.0, 500.0));
        let axis = Axis::of([slow, fast].into_iter());
        assert_eq!(axis.end(), Some(125.0));
        assert_eq!(drawn(slow, axis, 26), "    ├───●───┤             ");
        assert_eq!(drawn(fast, axis, 26), "                ├───●────→");
        assert_eq!(drawn(figure(40.0, 40.0, 40.0), axis, 11), "   ●       ");
        assert_eq!(drawn(slow, Axis::of([].into_iter()), 10), "");
    }

    proptest! {
        #[test]
        fn a_bar_is_as_wide_as_its_room(
            median in 1e-9..1e12_f64, below in 0.0..1.0_f64, above in 1.0..1e6_f64, width in 0usize..200,
        ) {
            let one = figure(median, median * below, median * above);
            let bar = drawn(one, Axis::of([one].into_iter()), width);
            prop_assert_eq!(bar.chars().count(), width);
        }
    }
}
