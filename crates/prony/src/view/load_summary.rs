//! What a load gave, in the order that wrk's users know.

use std::fmt::Write;

use prony_record::{LatencySummary, LoadResult, Outcome, Outcomes};
use prony_report::format;

/// The summary; with the latency distribution where asked for.
pub fn text(result: &LoadResult, with_distribution: bool) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_summary(&mut text, result, with_distribution);
    text
}

fn write_summary(out: &mut String, result: &LoadResult, distribution: bool) -> std::fmt::Result {
    let load = &result.load;
    writeln!(
        out,
        "{} {} ({})",
        result.target.method, result.target.url, result.target.address
    )?;
    writeln!(
        out,
        "  {} and {}, closed loop",
        plural(load.threads as u64, "thread"),
        plural(load.connections as u64, "connection"),
    )?;
    if let Some(warmup) = &result.warmup {
        writeln!(
            out,
            "  warm-up: {} in {}, not counted below",
            plural(warmup.outcomes.total(), "request"),
            format::seconds(warmup.duration_s),
        )?;
    }
    match &result.latency_ns {
        Some(latency) => write_latency(out, latency, result.within_stdev, distribution)?,
        None => writeln!(out, "  Latency: no answer was ok")?,
    }
    writeln!(
        out,
        "  {} in {}, {} read",
        plural(result.requests, "request"),
        format::seconds(result.duration_s),
        format::bytes(result.bytes_read as f64),
    )?;
    write_outcomes(out, result)?;
    writeln!(
        out,
        "  {} opened, {}",
        plural(result.connections_opened, "connection"),
        plural(result.reconnects, "reconnect"),
    )?;
    write_detours(out, result)?;
    writeln!(out, "Requests/sec: {:>12.2}", result.rate_per_s)?;
    writeln!(
        out,
        "Transfer/sec: {:>12}",
        format::bytes(result.bytes_read_per_s())
    )?;
    write_generator(out, result)
}

fn write_latency(
    out: &mut String,
    latency: &LatencySummary,
    within_stdev: f64,
    distribution: bool,
) -> std::fmt::Result {
    let time = |nanoseconds: f64| format::duration(nanoseconds);
    writeln!(
        out,
        "  Latency (closed loop)  {:>9} {:>9} {:>9}  +/- Stdev",
        "Avg", "Stdev", "Max"
    )?;
    writeln!(
        out,
        "  {:21}  {:>9} {:>9} {:>9}  {:>8.2} %",
        "",
        time(latency.mean),
        time(latency.stdev),
        time(latency.max as f64),
        within_stdev * 100.0,
    )?;
    if distribution {
        let rows = [
            ("50", latency.p50),
            ("75", latency.p75),
            ("90", latency.p90),
            ("95", latency.p95),
            ("99", latency.p99),
            ("99.9", latency.p999),
            ("99.99", latency.p9999),
        ];
        for (percentile, nanoseconds) in rows {
            writeln!(out, "  {percentile:>7} %  {:>9}", time(nanoseconds as f64))?;
        }
    }
    Ok(())
}

/// Everything that was not ok, by kind, and what was wrong first.
fn write_outcomes(out: &mut String, result: &LoadResult) -> std::fmt::Result {
    let kinds = not_ok(&result.outcomes);
    if !kinds.is_empty() {
        writeln!(out, "  Not ok: {}", kinds.join(", "))?;
    }
    let unfinished = result.outcomes[Outcome::Unfinished];
    if unfinished > 0 {
        writeln!(
            out,
            "  On their way when the load ended: {}",
            format::exact(unfinished)
        )?;
    }
    if let Some(wrong) = &result.first_wrong {
        writeln!(
            out,
            "  First error ({}): {}",
            words(&wrong.outcome),
            wrong.detail
        )?;
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

/// What kept requests from going straight, without being an error.
fn write_detours(out: &mut String, result: &LoadResult) -> std::fmt::Result {
    if result.resent > 0 {
        writeln!(
            out,
            "  {} sent again, because the server had closed the connection after an answer",
            plural(result.resent, "request"),
        )?;
    }
    if result.port_waits > 0 {
        writeln!(
            out,
            "  {} for a free local port: the system has no more for so many connections",
            plural(result.port_waits, "wait"),
        )?;
    }
    Ok(())
}

fn not_ok(outcomes: &Outcomes) -> Vec<String> {
    outcomes
        .iter()
        .filter(|&(outcome, count)| outcome.is_error() && count > 0)
        .map(|(outcome, count)| format!("{} {}", format::exact(count), words(outcome.name())))
        .collect()
}

fn write_generator(out: &mut String, result: &LoadResult) -> std::fmt::Result {
    let generator = &result.generator;
    let cpu_s = generator.cpu_user_s + generator.cpu_system_s;
    let each = if result.requests > 0 {
        cpu_s * 1e9 / result.requests as f64
    } else {
        0.0
    };
    writeln!(
        out,
        "Generator:    busiest thread {:.0} % busy, {} CPU a request",
        generator.busy_max * 100.0,
        format::duration(each),
    )?;
    if generator.client_limited {
        writeln!(
            out,
            "  CLIENT-LIMITED: the generator may have been the limit, not the server. Give it more \
             threads (-t) or CPUs, or read these figures as a lower bound."
        )?;
    }
    Ok(())
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn plural(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", format::exact(count))
}
