//! The times that a load measured: latency, first byte, the schedule's, and those of events.

use std::fmt::{Result, Write};

use prony_model::{
    Events, HeldStreams, LatencySummary, LoadResult, OpenLoop, Outcome, SHORTEST_TIMEOUT_NS,
};
use prony_report::format;

use super::load_shape;
use super::plural;

/// The latency in wrk's columns; with its distribution where asked for.
pub fn write_latency(out: &mut String, result: &LoadResult, distribution: bool) -> Result {
    let Some(latency) = &result.latency_ns else {
        return writeln!(out, "  Latency: no response was ok");
    };
    let label = format!("Latency ({})", load_shape::latency(&result.load));
    let width = label.len();
    writeln!(
        out,
        "  {label}  {:>9} {:>9} {:>9}  +/- Stdev",
        "Avg", "Stdev", "Max"
    )?;
    writeln!(
        out,
        "  {:width$}  {:>9} {:>9} {:>9}  {:>8.2} %",
        "",
        format::duration(latency.mean),
        format::duration(latency.stdev),
        time(latency.max),
        result.within_stdev * 100.0,
    )?;
    if distribution {
        write_distribution(out, latency)?;
    }
    match &result.first_byte_ns {
        Some(first) => writeln!(out, "  First byte: {}", quantiles(first)),
        None => Ok(()),
    }
}

/// Why requests were slow, if the kernel's TCP counters tell.
pub fn write_slow(out: &mut String, result: &LoadResult) -> Result {
    let Some(because) = &result.slow_because else {
        return Ok(());
    };
    match result.latency_ns.as_ref().and_then(slowest_figure) {
        Some((name, ns)) => writeln!(out, "  {name} of {}: {because}", time(ns)),
        None => writeln!(out, "  Timed out: {because}"),
    }
}

/// The lowest percentile that a retransmission timeout may have reached.
fn slowest_figure(latency: &LatencySummary) -> Option<(&'static str, u64)> {
    [
        ("p50", latency.p50),
        ("p90", latency.p90),
        ("p99", latency.p99),
        ("p99.9", latency.p999),
        ("max", latency.max),
    ]
    .into_iter()
    .find(|(_, ns)| *ns >= SHORTEST_TIMEOUT_NS)
}

fn write_distribution(out: &mut String, latency: &LatencySummary) -> Result {
    for (percentile, nanoseconds) in [
        ("50", latency.p50),
        ("75", latency.p75),
        ("90", latency.p90),
        ("95", latency.p95),
        ("99", latency.p99),
        ("99.9", latency.p999),
        ("99.99", latency.p9999),
    ] {
        writeln!(out, "  {percentile:>7} %  {:>9}", time(nanoseconds))?;
    }
    Ok(())
}

/// How the schedule of an open loop was kept.
pub fn write_schedule(out: &mut String, result: &LoadResult) -> Result {
    let Some(open) = &result.open else {
        return Ok(());
    };
    let late = format!("{} late", format::exact(open.queued));
    match open.asked {
        // Nothing was due.
        0 => writeln!(out, "  Schedule: {late}")?,
        asked => writeln!(
            out,
            "  Schedule: {} due, {}, {late}",
            plural(asked as usize, "request"),
            sent(open),
        )?,
    }
    if let Some(lag) = &open.schedule_lag_ns {
        writeln!(
            out,
            "  Schedule lag (the generator's own): {}",
            quantiles(lag)
        )?;
    }
    write_bound(out, result, open)
}

fn sent(open: &OpenLoop) -> String {
    match open.sent == open.asked {
        true => "all sent".to_owned(),
        // Rounded down: what is not all must not look like it.
        false => format!(
            "{} sent ({:.2} %)",
            format::exact(open.sent),
            (open.rate_ratio * 10_000.0).floor() / 100.0
        ),
    }
}

/// What the bound on connections did to a rate.
fn write_bound(out: &mut String, result: &LoadResult, open: &OpenLoop) -> Result {
    let Some(bound) = result.load.max_connections else {
        return Ok(());
    };
    if open.most_connections > 0 {
        writeln!(
            out,
            "  At most {} open at a time, of {} allowed",
            plural(open.most_connections as usize, "connection"),
            format::exact(bound as u64),
        )?;
    }
    if open.bound_hits > 0 {
        writeln!(
            out,
            "  {} due when all of these were busy: their wait is in the latency (--max-connections, \
             --pipeline)",
            plural(open.bound_hits as usize, "request"),
        )?;
    }
    Ok(())
}

/// What event streams brought: those of the load, and those held open beside it.
pub fn write_streams(out: &mut String, result: &LoadResult) -> Result {
    if let Some(events) = &result.events {
        write_events(out, "  ", events)?;
    }
    match &result.streams {
        Some(held) => write_held(out, held),
        None => Ok(()),
    }
}

fn write_events(out: &mut String, indent: &str, events: &Events) -> Result {
    let counted = plural(events.count as usize, "event");
    writeln!(out, "{indent}{counted}, {}/s", format::count(events.per_s))?;
    if let Some(first) = &events.first_ns {
        writeln!(out, "{indent}First event: {}", quantiles(first))?;
    }
    if let Some(gap) = &events.gap_ns {
        writeln!(out, "{indent}Between events: {}", quantiles(gap))?;
    }
    Ok(())
}

fn write_held(out: &mut String, held: &HeldStreams) -> Result {
    let ended: Vec<String> = held
        .outcomes
        .iter()
        .filter(|&(outcome, count)| outcome != Outcome::Unfinished && count > 0)
        .map(|(outcome, count)| format!("{} {}", format::exact(count), outcome_words(outcome)))
        .collect();
    let ended = match ended.is_empty() {
        true => String::new(),
        false => format!("; ended: {}", ended.join(", ")),
    };
    writeln!(
        out,
        "  Held open: {} of {} when the load ended{ended}",
        format::exact(held.open_at_end),
        plural(held.asked as usize, "stream"),
    )?;
    write_events(out, "    ", &held.events)
}

/// The name of an outcome as it stands in a sentence.
pub fn outcome_words(outcome: Outcome) -> String {
    outcome.name().replace('_', " ")
}

fn quantiles(times: &LatencySummary) -> String {
    format!(
        "p50 {}, p99 {}, max {}",
        time(times.p50),
        time(times.p99),
        time(times.max)
    )
}

fn time(nanoseconds: u64) -> String {
    format::duration(nanoseconds as f64)
}
