//! The top of the screen: which suite, how far it has come, how long it still takes, and what runs now.

use std::time::Duration;

use prony_present::number::{self, minutes};
use prony_present::words::{Joined, plural};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};

use super::model::{FigureUnit, Left, Look, Now, Readiness, RunModel};
use crate::screen::style::Styles;
use crate::screen::view;

/// How many lines it has.
pub(super) const HEIGHT: u16 = 4;

/// From this width on the plan is shown beside the title.
const WIDE: u16 = 100;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, look: &Look<'_>) {
    let (model, styles, at) = (look.model, look.styles, look.at);
    let [title, bar, now, _] = Layout::vertical([Constraint::Length(1); 4]).areas(area);
    let left = at_right(frame, title, times(model, at));
    let mut heading = vec![Span::styled(model.title.clone(), styles.strong())];
    if area.width >= WIDE {
        heading.push(Span::styled(format!("  {}", model.plan), styles.soft()));
    }
    frame.render_widget(Line::from(heading), left);
    frame.render_widget(progress(model, bar.width, styles), bar);
    frame.render_widget(what_runs(model, at, styles), now);
}

/// Draws words at the right, and returns the area that is left beside them.
fn at_right(frame: &mut Frame<'_>, area: Rect, text: String) -> Rect {
    let width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
    let sides = Layout::horizontal([Constraint::Fill(1), Constraint::Length(width)]).spacing(1);
    let [left, right] = sides.areas(area);
    frame.render_widget(Line::from(text), right);
    left
}

/// `elapsed 1 min 05 s, left 3 min 10 s`.
fn times(model: &RunModel, at: Duration) -> String {
    let elapsed = format!("elapsed {}", minutes(at));
    let left = match model.left(at) {
        None => return elapsed,
        Some(Left { least, most }) if least >= most => minutes(most),
        Some(Left { least, most }) => format!("{} to {}", minutes(least), minutes(most)),
    };
    format!("{elapsed}, left {left}")
}

/// A bar with the round, the trials and what was noisy.
fn progress<'a>(model: &RunModel, width: u16, styles: Styles) -> Line<'a> {
    if !model.is_planned {
        let is_ready = |readiness: &Readiness| {
            !matches!(readiness, Readiness::Waiting | Readiness::Preparing(_))
        };
        let ready = model.servers.iter().filter(|one| is_ready(&one.readiness));
        let all = plural(model.servers.len(), "server");
        return Line::from(format!("preparing: {} of {all} done", ready.count()));
    }
    let attempts = model.attempts;
    let mut text = format!(" {:>3.0} %  ", model.share * 100.0);
    text += &match &model.now {
        Some(Now::Explaining { done, steps, .. }) => format!("{done} of {steps} done"),
        _ => format!(
            "{}  {}/{} trials",
            model.round, attempts.done, attempts.expected
        ),
    };
    if attempts.noisy > 0 {
        text += &format!("  {} noisy, {} re-run", attempts.noisy, attempts.re_run);
    }
    if !model.precision.is_empty() {
        text += &format!("  {}", model.precision);
    }
    view::bar(model.share, text, width, styles)
}

/// `▶ go-nethttp × hello, round 2: 45.3 k req/s, p99 3.40 ms`.
fn what_runs<'a>(model: &RunModel, at: Duration, styles: Styles) -> Line<'a> {
    let text = match (model.running(), &model.now) {
        (_, Some(Now::Explaining { what, .. })) => what.clone(),
        (Some((cell, round)), now) => {
            let unit = model.columns.get(cell.column).map(|one| one.unit);
            let now = now.as_ref().map(|now| now_text(now, unit));
            let named = model.named(cell);
            format!("{named}, round {round}{}", now.unwrap_or_default())
        }
        (None, _) if model.is_planned => "between two rounds".to_owned(),
        (None, _) => in_preparation(model, at),
    };
    if text.is_empty() {
        return Line::default();
    }
    let style = styles.accent().patch(styles.strong());
    Line::from(vec![Span::styled("▶ ", style), Span::raw(text)])
}

fn now_text(now: &Now, unit: Option<FigureUnit>) -> String {
    match now {
        Now::Starting => ": starts".to_owned(),
        Now::Explaining { .. } => String::new(),
        Now::WarmingUp { so_far, limit } => format!(
            ": warming up, {} of at most {} s",
            so_far.as_secs(),
            limit.as_secs()
        ),
        Now::Loading {
            is_warm_up,
            rate_per_s,
            p99_ns,
            errors,
        } => {
            let mut parts = Vec::new();
            if *is_warm_up {
                parts.push("warm-up".to_owned());
            }
            // What is counted while a load runs are responses, also those of flows.
            parts.extend(rate_per_s.map(number::rate));
            let of = match unit {
                Some(FigureUnit::FlowsPerSecond) => "p99 of a request",
                _ => "p99",
            };
            if *p99_ns > 0 {
                parts.push(format!("{of} {}", number::duration(*p99_ns as f64)));
            }
            if *errors > 0 {
                parts.push(plural(*errors as usize, "error"));
            }
            if parts.is_empty() {
                ": the load runs".to_owned()
            } else {
                format!(": {}", parts.join(", "))
            }
        }
    }
}

/// `building go-nethttp (12 s), java-jdk (3 s)`.
fn in_preparation(model: &RunModel, at: Duration) -> String {
    let busy = model.servers.iter().filter_map(|one| {
        let step = match &one.readiness {
            Readiness::Preparing(step) => step.as_str(),
            Readiness::Verifying => "verifying",
            _ => return None,
        };
        let time = minutes(at.saturating_sub(one.since));
        Some(format!("{}: {step}, {time}", one.id))
    });
    busy.joined("; ")
}
