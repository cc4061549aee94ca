//! What a load gave, in the order that wrk's users know.

use std::fmt::{Result, Write};

use prony_model::{LoadResult, Outcome};
use prony_report::format;

use super::load_generator::write_generator;
use super::load_times::{outcome_words, write_latency, write_schedule, write_slow, write_streams};
use super::{load_shape, plural};

/// What is shown besides what always is.
pub struct Shown {
    /// The latency distribution.
    pub distribution: bool,
    /// The seed, because something was drawn from it.
    pub seed: bool,
    /// Which of how many requests came when, where there are several.
    pub requests: Option<String>,
}

/// The summary. What was not measured is not in it.
pub fn text(result: &LoadResult, shown: &Shown) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_summary(&mut text, result, shown);
    text
}

fn write_summary(out: &mut String, result: &LoadResult, shown: &Shown) -> Result {
    write_load(out, result, shown)?;
    write_latency(out, result, shown.distribution)?;
    write_slow(out, result)?;
    write_schedule(out, result)?;
    writeln!(
        out,
        "  {} in {}, {} read",
        counted(result.requests, "request"),
        format::seconds(result.duration_s),
        format::bytes(result.bytes_read as f64),
    )?;
    write_outcomes(out, result)?;
    writeln!(
        out,
        "  {} opened, {}",
        counted(result.connections_opened, "connection"),
        counted(result.reconnects, "reconnect"),
    )?;
    write_detours(out, result)?;
    write_streams(out, result)?;
    writeln!(out, "Requests/sec: {:>12.2}", result.rate_per_s)?;
    writeln!(
        out,
        "Transfer/sec: {:>12}",
        format::bytes(result.bytes_read_per_s())
    )?;
    write_generator(out, result)
}

/// What was asked for, and the warm-up.
fn write_load(out: &mut String, result: &LoadResult, shown: &Shown) -> Result {
    let (target, load) = (&result.target, &result.load);
    writeln!(out, "{} {} ({})", target.method, target.url, target.address)?;
    if let Some(requests) = &shown.requests {
        writeln!(out, "  {requests}")?;
    }
    writeln!(out, "  {}", load_shape::shape(load))?;
    let besides = load_shape::besides(load);
    if !besides.is_empty() {
        writeln!(out, "  {}", besides.join("; "))?;
    }
    if shown.seed {
        writeln!(out, "  seed {}", load.seed)?;
    }
    match &result.warmup {
        Some(warmup) => writeln!(
            out,
            "  warm-up: {} in {}, not counted below",
            counted(warmup.outcomes.total(), "request"),
            format::seconds(warmup.duration_s),
        ),
        None => Ok(()),
    }
}

/// Everything that was not ok, by kind, and what was wrong first.
fn write_outcomes(out: &mut String, result: &LoadResult) -> Result {
    let kinds = not_ok(result);
    if !kinds.is_empty() {
        writeln!(out, "  Not ok: {}", kinds.join(", "))?;
    }
    let unfinished = result.outcomes[Outcome::Unfinished];
    if unfinished > 0 {
        writeln!(
            out,
            "  In flight when the load ended: {}",
            format::exact(unfinished)
        )?;
    }
    if let Some(wrong) = &result.first_wrong {
        writeln!(
            out,
            "  First error ({}): {}",
            wrong.outcome.replace('_', " "),
            wrong.detail
        )?;
    }
    if let Some(finding) = estimated_wrong(result) {
        writeln!(out, "  Sampled: {finding}")?;
    }
    if result.outcomes[Outcome::WrongStatus] > 0 {
        let statuses: Vec<String> = result
            .statuses
            .iter()
            .map(|(status, count)| format!("{status}: {}", format::exact(*count)))
            .collect();
        writeln!(out, "  Statuses: {}", statuses.join(", "))?;
    }
    Ok(())
}

/// How many responses were wrong, if only some were compared, so that more were wrong than were counted.
fn estimated_wrong(result: &LoadResult) -> Option<String> {
    let checked = result.checked.filter(|checked| !checked.every_body)?;
    checked.finding()
}

fn not_ok(result: &LoadResult) -> Vec<String> {
    result
        .outcomes
        .iter()
        .filter(|&(outcome, count)| outcome.is_error() && count > 0)
        .map(|(outcome, count)| {
            let why = match (outcome, result.load.deadline_s) {
                (Outcome::Shed, Some(deadline)) => {
                    let deadline = format::seconds(deadline);
                    format!(" (not sent within {deadline} of their scheduled arrival)")
                }
                _ => String::new(),
            };
            format!("{} {}{why}", format::exact(count), outcome_words(outcome))
        })
        .collect()
}

/// What kept requests from going straight, without being an error.
fn write_detours(out: &mut String, result: &LoadResult) -> Result {
    if result.resent > 0 {
        writeln!(
            out,
            "  {} sent again, because the server had closed the connection after a response",
            counted(result.resent, "request"),
        )?;
    }
    if result.port_waits > 0 {
        writeln!(
            out,
            "  {} for a free local port: the system has no more for so many connections",
            counted(result.port_waits, "wait"),
        )?;
    }
    Ok(())
}

fn counted(count: u64, thing: &str) -> String {
    plural(count as usize, thing)
}

#[cfg(test)]
pub(super) mod tests;
