//! The summary of a load, in the order that users of wrk know.

use std::fmt::{Result, Write};

use prony_model::{
    Ended, Events, HeldStreams, LatencySummary, LoadResult, OpenLoop, Outcome, SHORTEST_TIMEOUT_NS,
};
use prony_present::words::plural;
use prony_present::{load, number};
use prony_stats::supports_percentile;

use super::fitted;

/// What the summary shows in addition.
pub struct Shown {
    /// The whole latency distribution, not only its main percentiles.
    pub distribution: bool,
    /// The seed, because random numbers were drawn from it.
    pub seed: bool,
    /// How several requests were chosen, if there are several.
    pub requests: Option<String>,
}

/// The summary, without what was not measured, in lines of at most `width` characters.
pub fn text(result: &LoadResult, shown: &Shown, width: usize) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_summary(&mut text, result, shown);
    fitted(&text, width)
}

fn write_summary(out: &mut String, result: &LoadResult, shown: &Shown) -> Result {
    write_load(out, result, shown)?;
    write_latency(out, result, shown.distribution)?;
    write_slow(out, result)?;
    write_schedule(out, result)?;
    writeln!(
        out,
        "  {} in {}, {} received",
        counted(result.requests, "request"),
        number::seconds(result.duration_s),
        number::bytes(result.bytes_read as f64),
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
        number::bytes(result.bytes_read_per_s())
    )?;
    write_generator(out, result)?;
    match result.ended {
        Ended::Interrupted => writeln!(
            out,
            "Interrupted after {}: the figures cover only that time.",
            number::seconds(result.duration_s)
        ),
        _ => Ok(()),
    }
}

/// The load, and the warm-up.
fn write_load(out: &mut String, result: &LoadResult, shown: &Shown) -> Result {
    let (target, load) = (&result.target, &result.load);
    writeln!(out, "{} {} ({})", target.method, target.url, target.address)?;
    if let Some(requests) = &shown.requests {
        writeln!(out, "  {requests}")?;
    }
    writeln!(out, "  {}", load::shape(load))?;
    let traits = load::traits(load);
    if !traits.is_empty() {
        writeln!(out, "  {}", traits.join(", "))?;
    }
    if shown.seed {
        writeln!(out, "  seed {}", load.seed)?;
    }
    match &result.warmup {
        Some(warmup) => writeln!(
            out,
            "  warm-up: {} in {}, not counted below",
            counted(warmup.outcomes.total(), "request"),
            number::seconds(warmup.duration_s),
        ),
        None => Ok(()),
    }
}

/// Everything that was not ok, by kind, and the first error.
fn write_outcomes(out: &mut String, result: &LoadResult) -> Result {
    let kinds = not_ok(result);
    if !kinds.is_empty() {
        writeln!(out, "  Not ok: {}", kinds.join(", "))?;
    }
    let unfinished = result.outcomes[Outcome::Unfinished];
    if unfinished > 0 {
        writeln!(out, "  In flight at the end: {}", number::exact(unfinished))?;
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
            .map(|(status, count)| format!("{status}: {}", number::exact(*count)))
            .collect();
        writeln!(out, "  Statuses: {}", statuses.join(", "))?;
    }
    Ok(())
}

/// An estimate of the wrong responses, if only a sample was compared, so that the count is too low.
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
                    let deadline = number::seconds(deadline);
                    format!(" (not sent within {deadline} of their scheduled arrival)")
                }
                _ => String::new(),
            };
            format!("{} {}{why}", number::exact(count), outcome_words(outcome))
        })
        .collect()
}

/// What delayed requests without being an error.
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
            "  {} for a free local port: the system has too few for this many connections",
            counted(result.port_waits, "wait"),
        )?;
    }
    Ok(())
}

fn counted(count: u64, thing: &str) -> String {
    plural(count as usize, thing)
}

/// The latency in wrk's columns, with its main percentiles or its distribution.
fn write_latency(out: &mut String, result: &LoadResult, distribution: bool) -> Result {
    let Some(latency) = &result.latency_ns else {
        return writeln!(out, "  Latency: no response was ok");
    };
    let label = format!("Latency ({})", load::latency(&result.load));
    let width = label.len();
    writeln!(
        out,
        "  {label}  {:>9} {:>9} {:>9}  +/- Stdev",
        "Avg", "Stdev", "Max"
    )?;
    writeln!(
        out,
        "  {:width$}  {:>9} {:>9} {:>9}  {:>7.2} %",
        "",
        number::duration(latency.mean),
        number::duration(latency.stdev),
        time(latency.max),
        result.within_stdev * 100.0,
    )?;
    match distribution {
        true => write_distribution(out, latency)?,
        false => write_percentiles(out, latency, result.outcomes[Outcome::Ok])?,
    }
    match &result.first_byte_ns {
        Some(first) => writeln!(out, "  First byte: {}", quantiles(first)),
        None => Ok(()),
    }
}

/// Why requests were slow, if the kernel's TCP counters show it.
fn write_slow(out: &mut String, result: &LoadResult) -> Result {
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

/// The main percentiles, as far as `responses` support them.
fn write_percentiles(out: &mut String, latency: &LatencySummary, responses: u64) -> Result {
    let percentiles = [
        ("p50", 0.5, latency.p50),
        ("p90", 0.1, latency.p90),
        ("p99", 0.01, latency.p99),
        ("p99.9", 0.001, latency.p999),
    ];
    let shown = percentiles
        .into_iter()
        .filter(|(name, beyond, _)| *name == "p50" || supports_percentile(responses, *beyond))
        .map(|(name, _, ns)| format!("{name} {}", time(ns)));
    let shown: Vec<String> = shown.collect();
    writeln!(out, "  Percentiles: {}", shown.join(", "))
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

/// How well an open loop kept its schedule.
fn write_schedule(out: &mut String, result: &LoadResult) -> Result {
    let Some(open) = &result.open else {
        return Ok(());
    };
    let queued = format!("{} queued", number::exact(open.queued));
    match open.asked {
        // Nothing was due.
        0 => writeln!(out, "  Schedule: {queued}")?,
        asked => writeln!(
            out,
            "  Schedule: {} due, {}, {queued}",
            plural(asked as usize, "request"),
            sent(open),
        )?,
    }
    if let Some(lag) = &open.schedule_lag_ns {
        writeln!(out, "  Schedule lag (of the generator): {}", quantiles(lag))?;
    }
    write_bound(out, result, open)
}

fn sent(open: &OpenLoop) -> String {
    match open.sent == open.asked {
        true => "all sent".to_owned(),
        // Rounded down: 99.999 % must not look like 100 %.
        false => format!(
            "{} sent ({:.2} %)",
            number::exact(open.sent),
            (open.rate_ratio * 10_000.0).floor() / 100.0
        ),
    }
}

/// How the limit on connections affected a rate.
fn write_bound(out: &mut String, result: &LoadResult, open: &OpenLoop) -> Result {
    let Some(bound) = result.load.max_connections else {
        return Ok(());
    };
    if open.most_connections > 0 {
        writeln!(
            out,
            "  At most {} open at a time, of {} allowed",
            plural(open.most_connections as usize, "connection"),
            number::exact(bound as u64),
        )?;
    }
    if open.bound_hits > 0 {
        writeln!(
            out,
            "  {} due while all of them were busy: the wait is part of the latency (--max-connections, --pipeline)",
            plural(open.bound_hits as usize, "request"),
        )?;
    }
    Ok(())
}

/// The events of the load's own streams, and of those held open beside it.
fn write_streams(out: &mut String, result: &LoadResult) -> Result {
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
    writeln!(out, "{indent}{counted}, {}/s", number::count(events.per_s))?;
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
        .map(|(outcome, count)| format!("{} {}", number::exact(count), outcome_words(outcome)))
        .collect();
    let ended = match ended.is_empty() {
        true => String::new(),
        false => format!("; ended: {}", ended.join(", ")),
    };
    writeln!(
        out,
        "  Held open: {} of {} at the end{ended}",
        number::exact(held.open_at_end),
        plural(held.asked as usize, "stream"),
    )?;
    write_events(out, "    ", &held.events)
}

/// The name of an outcome in a sentence.
fn outcome_words(outcome: Outcome) -> String {
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
    number::duration(nanoseconds as f64)
}

/// The generator's own figures, as far as they were counted.
fn write_generator(out: &mut String, result: &LoadResult) -> Result {
    let generator = &result.generator;
    let mut parts = vec![generator.event_loop.clone()];
    parts.push(format!(
        "busiest thread {:.0} % busy",
        generator.busy_max * 100.0
    ));
    parts.extend(cpu(result));
    if generator.spin_s > 0.0 {
        parts.push(format!(
            "{} of busy-waiting",
            number::duration(generator.spin_s * 1e9)
        ));
    }
    writeln!(out, "Generator:    {}", parts.join(", "))?;
    let counts = per_request(result);
    if !counts.is_empty() {
        writeln!(out, "              {} per request", counts.join(", "))?;
    }
    if generator.client_limited {
        let evidence = generator.client_limited_by.as_deref();
        let evidence = evidence.map_or(String::new(), |evidence| format!(" ({evidence})"));
        writeln!(
            out,
            "  CLIENT-LIMITED{evidence}: the generator may have been the bottleneck, not the server. Give it more \
             threads (-t) or CPUs, or read these figures as lower bounds."
        )?;
    }
    Ok(())
}

/// CPU time per request, and the kernel's share of it.
fn cpu(result: &LoadResult) -> Option<String> {
    let generator = &result.generator;
    let used = generator.cpu_user_s + generator.cpu_system_s;
    // Busy-waiting is not work for a request.
    let working = used - generator.spin_s;
    let requests = sent_and_ended(result);
    (requests > 0 && working > 0.0).then(|| {
        format!(
            "{} of CPU per request ({} in the kernel)",
            number::duration(working * 1e9 / requests as f64),
            number::share((generator.cpu_system_s / working).min(1.0)),
        )
    })
}

/// System calls, cycles and instructions per request, as far as they were counted.
fn per_request(result: &LoadResult) -> Vec<String> {
    let generator = &result.generator;
    let requests = sent_and_ended(result);
    let each = |count: u64| number::count(count as f64 / requests as f64);
    if requests == 0 {
        return Vec::new();
    }
    let calls = (generator.system_calls > 0).then_some(generator.system_calls);
    [
        calls.map(|count| format!("{} system calls", each(count))),
        generator
            .cycles
            .map(|count| format!("{} cycles", each(count))),
        generator
            .instructions
            .map(|count| format!("{} instructions", each(count))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The requests that cost something. In an open loop many may never have been sent.
fn sent_and_ended(result: &LoadResult) -> u64 {
    let outcomes = &result.outcomes;
    outcomes.total() - outcomes[Outcome::Shed] - outcomes[Outcome::Unfinished]
}

#[cfg(test)]
pub(super) mod tests;
