//! The figures: rate, percentiles, errors, and how busy generator and server are.

use prony_load::LatencyBands;
use prony_present::number::{self, NONE};
use prony_present::terminal::wrapped;
use prony_present::words::{Joined, non_empty, outcome};
use prony_stats::supports_percentile;
use ratatui::text::{Line, Span};

use super::model::{LoadModel, Look, ServerUse, per_second};
use crate::screen::style::Styles;

/// From this share of a CPU on the generator may be what limits the load.
const BUSY: f64 = 0.9;
/// The columns of a heading before figures, with the space after it.
const HEAD: usize = 10;

const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// `rate      45.3 k req/s of 50.0 k scheduled, mean 44.1 k`.
pub(super) fn rate<'a>(look: &Look<'_>) -> Line<'a> {
    let (model, styles) = (look.model, look.styles);
    let second = model.history.last_second().unwrap_or_default();
    let [now, errors] =
        [second.ok, second.errors].map(|count| per_second(count as f64, second.seconds()));
    let mut spans = vec![
        head("rate", styles),
        Span::styled(number::rate(now), styles.strong()),
    ];
    if let Some(due) = model.due() {
        spans.push(Span::raw(format!(" of {} scheduled", number::count(due))));
    }
    if !model.is_warming_up() && model.last.ok > 0 {
        let mean = number::count(model.mean_rate());
        spans.push(Span::styled(format!(", mean {mean}"), styles.soft()));
    }
    if errors > 0.0 {
        let errors = number::rate_of("errors", errors);
        spans.push(Span::styled(format!(", {errors}"), styles.bad()));
    }
    Line::from(spans)
}

/// `flows     120 flows/s, 3,456 ok, 2 failed`.
pub(super) fn flows<'a>(look: &Look<'_>) -> Line<'a> {
    let (model, styles) = (look.model, look.styles);
    let second = model.history.last_second().unwrap_or_default();
    let now = per_second(second.ok_flows as f64, second.seconds());
    let mut spans = vec![
        head("flows", styles),
        Span::styled(number::rate_of("flows", now), styles.strong()),
        Span::raw(format!(", {} ok", number::exact(model.last.ok_flows))),
    ];
    if model.last.failed_flows > 0 {
        let failed = format!(", {} failed", number::exact(model.last.failed_flows));
        spans.push(Span::styled(failed, styles.bad()));
    }
    Line::from(spans)
}

/// Three lines: a title, the percentiles of the phase so far, and those of the last second.
pub(super) fn percentiles<'a>(look: &Look<'_>) -> Vec<Line<'a>> {
    let (model, styles) = (look.model, look.styles);
    let titles = PERCENTILES.map(|(title, _)| format!("{title:>9}"));
    let second = model.history.last_second().map(|it| it.latency);
    let phase = if model.is_warming_up() {
        "warm-up"
    } else {
        "so far"
    };
    let heading = format!("{:<HEAD$}{}", "latency", titles.concat());
    vec![
        Line::styled(heading, styles.soft()),
        values(phase, Some(&model.last.latency), styles),
        values("last 1 s", second.as_ref(), styles),
    ]
}

fn values<'a>(title: &'a str, latency: Option<&LatencyBands>, styles: Styles) -> Line<'a> {
    let mut spans = vec![head(title, styles)];
    let values = PERCENTILES.map(|(_, share)| quantile(latency, share));
    spans.extend(values.map(|value| Span::raw(format!("{value:>9}"))));
    Line::from(spans)
}

/// One line of at most `width` columns with the percentiles of the phase so far, for little room.
pub(super) fn short_percentiles<'a>(model: &LoadModel, width: usize) -> Line<'a> {
    let mut line = String::new();
    for (title, share) in PERCENTILES {
        let value = quantile(Some(&model.last.latency), share);
        let longer = format!("{line}{title} {value}  ");
        if longer.trim_end().chars().count() <= width {
            line = longer;
        }
    }
    Line::from(line)
}

/// A percentile, if enough responses were slower for it to mean anything.
fn quantile(latency: Option<&LatencyBands>, share: f64) -> String {
    let latency = latency.filter(|all| supports_percentile(all.total(), 1.0 - share));
    let value = latency.and_then(|all| all.quantile(share));
    value.map_or(NONE.to_owned(), number::duration)
}

/// The errors by kind, in lines of at most `width` columns.
pub(super) fn errors<'a>(look: &Look<'_>, width: usize) -> Vec<Line<'a>> {
    let (model, styles) = (look.model, look.styles);
    let all = model.last.errors;
    if all == 0 {
        return vec![Line::from(vec![head("errors", styles), Span::raw("none")])];
    }
    let kinds = model.errors().into_iter();
    let kinds = kinds.map(|(of, count)| format!("{} {}", number::exact(count), outcome(of)));
    let share = all as f64 / (all + model.last.ok) as f64;
    let mut text = format!("{} ({})", number::exact(all), number::share(share));
    if let Some(kinds) = non_empty(kinds.joined(", ")) {
        text += &format!(": {kinds}");
    }
    let parts = wrapped(&text, width.saturating_sub(HEAD).max(1));
    let line = |(at, part): (usize, String)| {
        let title = if at == 0 { "errors" } else { "" };
        Line::from(vec![head(title, styles), Span::styled(part, styles.bad())])
    };
    parts.into_iter().enumerate().map(line).collect()
}

/// Whether the generator is so busy that it may limit the load.
pub(super) fn is_generator_busy(model: &LoadModel) -> bool {
    model.last.busy > BUSY
}

/// `generator 42 % busy  lag p50 12 µs, p99 120 µs  received 12 MiB/s`.
pub(super) fn generator<'a>(look: &Look<'_>) -> Line<'a> {
    let (model, styles) = (look.model, look.styles);
    let busy = format!("{:.0} % busy", model.last.busy * 100.0);
    let mut spans = vec![head("generator", styles)];
    spans.push(if is_generator_busy(model) {
        Span::styled(format!("{busy}: may limit the load"), styles.warning())
    } else {
        Span::raw(busy)
    });
    let Some(second) = model.history.last_second() else {
        return Line::from(spans);
    };
    if model.last.lag.total() > 0 {
        let [p50, p99] = [0.5, 0.99].map(|share| quantile(Some(&second.lag), share));
        spans.push(Span::raw(format!("  lag p50 {p50}, p99 {p99}")));
    }
    let [received, sent] = [second.bytes_read, second.bytes_written]
        .map(|bytes| number::transfer(per_second(bytes as f64, second.seconds()).round()));
    spans.push(Span::raw(format!("  {received} in, {sent} out")));
    Line::from(spans)
}

/// `server    132 % of a CPU  45.1 MiB  3 processes`.
pub(super) fn server<'a>(look: &Look<'_>) -> Line<'a> {
    let styles = look.styles;
    let used = match look.model.server {
        None => return Line::default(),
        Some(ServerUse::Ended) => Span::styled("its process has ended", styles.bad()),
        Some(ServerUse::Running {
            cpus,
            memory_bytes,
            processes,
        }) => {
            let memory = number::bytes(memory_bytes as f64);
            let mut text = format!("{:.0} % of a CPU  {memory} of memory", cpus * 100.0);
            if processes > 1 {
                text += &format!("  {processes} processes");
            }
            Span::raw(text)
        }
    };
    Line::from(vec![head("server", styles), used])
}

fn head<'a>(title: &str, styles: Styles) -> Span<'a> {
    Span::styled(format!("{title:<HEAD$}"), styles.soft())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_ten_slower_responses() {
        let shown = |count, share| {
            let mut latency = LatencyBands::default();
            latency.add(1_000_000, count);
            quantile(Some(&latency), share) != NONE
        };
        assert!(shown(100, 0.9) && !shown(99, 0.9));
        assert!(shown(10_000, 0.999) && !shown(9_999, 0.999));
    }
}
