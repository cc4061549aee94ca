//! The summary of a load, in the order that users of wrk know.

use prony_load::wire::grpc::Status;
use prony_model::objective::Judged;
use prony_model::{
    Ended, Events, FlowEntry, Flows, HeldStreams, LatencySummary, LoadResult, LoadShape, LoadSpec,
    OpenLoop, Outcome, Outcomes, Protocol, SHORTEST_TIMEOUT_NS, StageResult, WrongResponse,
};
use prony_present::number::{bytes, duration, exact, seconds};
use prony_present::table::{Cell, Column, Row, Table, Weight};
use prony_present::words::{self, Joined, non_empty};
use prony_present::{load, number};
use prony_stats::supports_percentile;

use super::{agents, figure, fitted, indented, objectives, or_more_streams, requested};

#[derive(Clone)]
pub(crate) struct Shown {
    /// The whole latency distribution, not only its main percentiles.
    pub(crate) distribution: bool,
    pub(crate) every_agent: bool,
    /// The seed, because random numbers were drawn from it.
    pub(crate) seed: bool,
    /// How several requests were chosen, if there are several.
    pub(crate) requests: Option<String>,
    /// The objectives and their verdicts; empty if there are none.
    pub(crate) objectives: Vec<Judged>,
    /// What helps, if every request failed for a reason that Prony knows.
    pub(crate) advice: Option<&'static str>,
}

/// The summary, without what was not measured, in lines of at most `width` characters.
pub(crate) fn text(result: &LoadResult, shown: &Shown, width: usize) -> String {
    let measured = seconds(result.duration_s);
    let requests = counted(result.requests, "request");
    let received = bytes(result.bytes_read as f64);
    let opened = counted(result.connections_opened, "connection");
    let reconnects = counted(result.reconnects, "reconnect");
    let mut lines = conditions(result, shown);
    lines.extend(latency(result, shown.distribution));
    lines.extend(stages(&result.stages, width));
    lines.extend(result.open.iter().flat_map(|open| schedule(result, open)));
    let time = time_measured(result);
    lines.push(format!("  {requests} in {time}, {received} received"));
    lines.extend(outcomes(result));
    let advice = shown.advice.map(words::capital);
    lines.extend(advice.map(|advice| format!("  {advice}")));
    lines.extend(redirects(result));
    lines.extend(silence(result));
    lines.push(format!("  {opened} opened, {reconnects}"));
    lines.extend(handshakes(result));
    lines.extend(delays(result));
    if let (Some(all), None) = (&result.events, only_holds(result)) {
        let is_of_messages = result.load.messages;
        let noun = if is_of_messages { "message" } else { "event" };
        lines.extend(events("  ", noun, all));
    }
    lines.extend(result.streams.iter().flat_map(held_streams));
    lines.extend(result.flows.iter().flat_map(|all| flows(all, width)));
    lines.push(match only_holds(result) {
        Some(held) => format!("Events/sec:   {:>12.2}", held.events.per_s),
        None => format!("Requests/sec: {:>12.2}", result.rate_per_s),
    });
    let transfer = bytes(result.bytes_read_per_s());
    lines.push(format!("Transfer/sec: {transfer:>12}"));
    lines.extend(generator(result));
    if let Some(fleet) = &result.fleet {
        lines.extend(agents::lines(fleet, shown.every_agent, width));
    }
    lines.extend(objectives::lines(&shown.objectives));
    if result.ended == Ended::Interrupted {
        lines.push(format!(
            "Interrupted after {measured}: the figures cover only that time."
        ));
    }
    fitted(&lines.join("\n"), width)
}

/// The least share of the measured time for which the wait for the last responses is worth a word.
const LEAST_WAIT: f64 = 0.01;

/// How long requests were due, and how long the last responses took from then on: the rate counts the former.
pub(super) fn time_measured(result: &LoadResult) -> String {
    let (due_s, waited_s) = (result.throughput().seconds, result.waited_s());
    let (due, waited) = (seconds(due_s), seconds(waited_s));
    if waited_s > LEAST_WAIT * due_s {
        format!("{due} (and {waited} until the last response)")
    } else {
        due
    }
}

fn conditions(result: &LoadResult, shown: &Shown) -> Vec<String> {
    let (target, load) = (&result.target, &result.load);
    let what = requested(target, load);
    let mut lines = vec![format!("{what} ({})", target.address)];
    lines.extend(shown.requests.iter().map(|how| format!("  {how}")));
    lines.extend(protocol(result));
    lines.push(format!("  {}", load::shape(load)));
    let traits = traits(target.protocol, load);
    if !traits.is_empty() {
        lines.push(format!("  {}", traits.join(", ")));
    }
    if shown.seed {
        lines.push(format!("  seed {}", load.seed));
    }
    lines.extend(result.warmup.as_ref().map(|warmup| {
        let requests = counted(warmup.outcomes.total(), "request");
        let time = seconds(warmup.duration_s);
        format!("  warm-up: {requests} in {time}, not counted below")
    }));
    lines
}

/// The protocol, unless it is plain HTTP/1.1, and what TLS agreed on.
fn protocol(result: &LoadResult) -> Option<String> {
    let protocol = result.target.protocol;
    let name = match protocol {
        Protocol::Http11 => return None,
        Protocol::Https11 => "HTTP/1.1",
        Protocol::H2c | Protocol::H2 => "HTTP/2",
        Protocol::Grpc | Protocol::GrpcTls => "gRPC",
    };
    let tls = result.tls.as_ref();
    let version = tls.and_then(|tls| tls.version.as_deref());
    let mut words = vec![match (protocol.is_tls(), version) {
        (false, _) => format!("{name} without TLS"),
        (true, None) => format!("{name} over TLS"),
        (true, Some(version)) => format!("{name} over TLS {version}"),
    }];
    words.extend(tls.and_then(|tls| tls.cipher_suite.clone()));
    if !protocol.is_http1() {
        let streams = words::plural(result.load.pipeline, "stream");
        let up_to = match result.load.shape {
            LoadShape::Rate(_) if result.load.pipeline > 1 => "up to ",
            _ => "",
        };
        words.push(format!("{up_to}{streams} per connection"));
    }
    Some(format!("  {}", words.join(", ")))
}

/// The traits of a load. Over HTTP/2 requests are in flight over streams, and not pipelined.
fn traits(protocol: Protocol, load: &LoadSpec) -> Vec<String> {
    let mut load = load.clone();
    if !protocol.is_http1() {
        load.pipeline = 1;
    }
    load::traits(&load)
}

/// The held streams, if they are all that there is to show: no response has ended, and nothing is wrong.
fn only_holds(result: &LoadResult) -> Option<&HeldStreams> {
    let ended = result.outcomes.total() - result.outcomes[Outcome::Unfinished];
    let held = result.streams.as_ref();
    held.filter(|held| ended == 0 && held.events.count > 0)
}

/// The latency in wrk's columns, with its main percentiles or its distribution, and why it is high, if that is known.
fn latency(result: &LoadResult, distribution: bool) -> Vec<String> {
    let slow = &result.slow_because;
    if only_holds(result).is_some() {
        return vec!["  Latency: no response ends, because the streams are held open".into()];
    }
    let timed_out = |because: &String| format!("  Timed out: {because}");
    let Some(latency) = &result.latency_ns else {
        let none = "  Latency: no response was ok".to_owned();
        return std::iter::once(none)
            .chain(slow.as_ref().map(timed_out))
            .collect();
    };
    let label = format!("Latency ({})", load::latency(&result.load));
    let width = label.len();
    let [mean, stdev] = [latency.mean, latency.stdev].map(duration);
    let (max, within) = (time(latency.max), result.within_stdev * 100.0);
    let mut lines = vec![
        format!("  {label}        Avg     Stdev       Max  +/- Stdev"),
        format!(
            "  {:width$}  {mean:>9} {stdev:>9} {max:>9}  {within:>7.2} %",
            ""
        ),
    ];
    if distribution {
        let all = percentiles(latency).into_iter();
        lines.extend(all.map(|(name, _, ns)| format!("  {name:>7} %  {:>9}", time(ns))));
    } else {
        lines.push(main_percentiles(latency, result.outcomes[Outcome::Ok]));
    }
    let first_byte = result.first_byte_ns.as_ref();
    lines.extend(first_byte.map(|first| format!("  First byte: {}", quantiles(first))));
    let awaited = result.share_of_ack_waits().map(load::ack_wait);
    lines.extend(awaited.map(|why| format!("  {}", words::capital(&why))));
    lines.extend(slow.as_ref().map(|because| match slowest_figure(latency) {
        Some((name, ns)) => format!("  {name} of {}: {because}", time(ns)),
        None => timed_out(because),
    }));
    lines
}

/// Percentiles, each with the share of the responses beyond it.
fn percentiles(latency: &LatencySummary) -> [(&'static str, f64, u64); 7] {
    [
        ("50", 0.5, latency.p50),
        ("75", 0.25, latency.p75),
        ("90", 0.1, latency.p90),
        ("95", 0.05, latency.p95),
        ("99", 0.01, latency.p99),
        ("99.9", 0.001, latency.p999),
        ("99.99", 0.0001, latency.p9999),
    ]
}

const MAIN: [&str; 4] = ["50", "90", "99", "99.9"];

/// The median, and the main percentiles that `responses` support.
fn main_percentiles(latency: &LatencySummary, responses: u64) -> String {
    let main = percentiles(latency).into_iter();
    let shown = main.filter(|(name, beyond, _)| {
        let is_supported = *name == "50" || supports_percentile(responses, *beyond);
        MAIN.contains(name) && is_supported
    });
    let shown = shown.map(|(name, _, ns)| format!("p{name} {}", time(ns)));
    format!("  Percentiles: {}", shown.joined(", "))
}

/// The lowest percentile that a retransmission timeout may have reached.
fn slowest_figure(latency: &LatencySummary) -> Option<(String, u64)> {
    let main = percentiles(latency).into_iter();
    let main = main.filter(|(name, ..)| MAIN.contains(name));
    let main = main.map(|(name, _, ns)| (format!("p{name}"), ns));
    let mut figures = main.chain([("max".to_owned(), latency.max)]);
    figures.find(|(_, ns)| *ns >= SHORTEST_TIMEOUT_NS)
}

/// How well an open loop kept its schedule, and how the limit on connections affected it.
fn schedule(result: &LoadResult, open: &OpenLoop) -> Vec<String> {
    let queued = format!("{} queued", exact(open.queued));
    let sent = if open.sent == open.due {
        "all sent".to_owned()
    } else {
        // Rounded down: 99.999 % must not look like 100 %.
        let percent = (open.rate_ratio * 10_000.0).floor() / 100.0;
        format!("{} sent ({percent:.2} %)", exact(open.sent))
    };
    let noun = if result.load.flows { "flow" } else { "request" };
    let mut lines = vec![match open.due {
        0 => format!("  Schedule: {queued}"),
        due => format!("  Schedule: {} due, {sent}, {queued}", counted(due, noun)),
    }];
    let lag = open.schedule_lag_ns.as_ref();
    lines.extend(lag.map(|lag| format!("  Schedule lag (of the generator): {}", quantiles(lag))));
    let Some(allowed) = result.load.max_connections else {
        return lines;
    };
    if open.most_connections > 0 {
        let most = counted(open.most_connections, "connection");
        let allowed = exact(allowed as u64);
        lines.push(format!(
            "  At most {most} open at a time, of {allowed} allowed"
        ));
    }
    if open.bound_hits > 0 {
        let requests = counted(open.bound_hits, "request");
        let (busy, advice) = if open.most_connections < allowed as u64 {
            ("all open connections", "")
        } else {
            ("all connections", more_in_flight(result))
        };
        lines.push(format!(
            "  {requests} due while {busy} were busy: the wait is part of the latency{advice}"
        ));
    }
    // Older records count only ok requests as queued.
    let unconnected = open.queued.saturating_sub(open.bound_hits);
    if unconnected > 0 {
        let requests = counted(unconnected, "request");
        lines.push(format!(
            "  {requests} due while connections could not be opened, and queued until the next attempt"
        ));
    }
    lines
}

fn more_in_flight(result: &LoadResult) -> &'static str {
    if result.load.flows {
        " (--max-connections)"
    } else if result.target.protocol.is_http1() {
        " (--max-connections, --pipeline)"
    } else {
        " (--max-connections, --streams-per-connection)"
    }
}

/// Everything that was not ok, by kind, and the first error.
fn outcomes(result: &LoadResult) -> Vec<String> {
    let mut lines = Vec::new();
    let deadline = result.load.deadline.map(|it| seconds(it.as_secs_f64()));
    let not_ok = named(&result.outcomes, Outcome::is_error);
    let not_ok = not_ok.map(|(outcome, text)| match (outcome, &deadline) {
        (Outcome::Shed, Some(deadline)) => {
            format!("{text} (not sent within {deadline} of their scheduled arrival)")
        }
        _ => text,
    });
    let not_ok = non_empty(not_ok.joined(", "));
    lines.extend(not_ok.map(|not_ok| format!("  Not ok: {not_ok}")));
    let unfinished = result.outcomes[Outcome::Unfinished];
    if unfinished > 0 {
        lines.push(format!("  In flight at the end: {}", exact(unfinished)));
    }
    let outages = load::outages(result);
    lines.extend(outages.map(|outages| format!("  OUTAGE: {outages}")));
    // The table of a scenario's requests has the first error of each.
    let wrong = result.first_wrong.as_ref();
    let wrong = wrong.filter(|_| result.flows.is_none());
    lines.extend(wrong.map(|wrong| format!("  {}", first_error(wrong))));
    // If only a sample was compared, the count of wrong responses is too low.
    let sampled = result.checked.filter(|checked| !checked.every_body);
    let estimate = sampled.and_then(|checked| checked.finding());
    lines.extend(estimate.map(|estimate| format!("  Sampled: {estimate}")));
    lines.extend(statuses(result));
    lines
}

fn first_error(wrong: &WrongResponse) -> String {
    let outcome = wrong.outcome.replace('_', " ");
    format!("First error ({outcome}): {}", wrong.detail)
}

/// That a load measures redirects, and not what they lead to: it follows none, unless its Hurl file says so.
fn redirects(result: &LoadResult) -> Option<String> {
    let is_redirect = |status: &u16| [301, 302, 303, 307, 308].contains(status);
    let are_all = !result.statuses.is_empty() && result.statuses.keys().all(is_redirect);
    (are_all && result.flows.is_none()).then(|| {
        let statuses = result.statuses.keys().map(u16::to_string);
        let statuses = statuses.joined(", ");
        format!("  Every response is a redirect ({statuses}), which Prony does not follow: load the URL in its Location")
    })
}

/// Why there is no figure although nothing failed: the load was over before any response or timeout.
fn silence(result: &LoadResult) -> Option<String> {
    let is_silent = result.requests > 0 && result.outcomes[Outcome::Unfinished] == result.requests;
    (is_silent && result.ended == Ended::Duration && result.streams.is_none()).then(|| {
        let did = match result.connections_opened {
            0 => "accepted no connection",
            _ => "sent no response",
        };
        let measured = seconds(result.duration_s);
        format!("  The server {did} in {measured}, so nothing was measured: it may be stuck, or need a longer load (-d)")
    })
}

/// How many responses had each status, if some were wrong. A call's own status says more than the 200 that carries it.
fn statuses(result: &LoadResult) -> Vec<String> {
    if result.outcomes[Outcome::WrongStatus] == 0 {
        return Vec::new();
    }
    let (http, rpc) = (&result.statuses, &result.rpc_statuses);
    let mut lines = Vec::new();
    if rpc.is_empty() || http.len() > 1 {
        let counts = http.iter();
        let counts = counts.map(|(status, count)| format!("{status}: {}", exact(*count)));
        lines.push(format!("  Statuses: {}", counts.joined(", ")));
    }
    if !rpc.is_empty() {
        let counts = rpc.iter();
        let counts =
            counts.map(|(status, count)| format!("{}: {}", Status(*status), exact(*count)));
        lines.push(format!("  gRPC statuses: {}", counts.joined(", ")));
    }
    lines
}

/// The outcomes that occurred, with `8,000 timed out` for each.
fn named(
    outcomes: &Outcomes,
    is_meant: fn(Outcome) -> bool,
) -> impl Iterator<Item = (Outcome, String)> {
    let outcomes = outcomes.iter();
    outcomes
        .filter(move |&(outcome, count)| is_meant(outcome) && count > 0)
        .map(|(of, count)| (of, format!("{} {}", exact(count), words::outcome(of))))
}

fn handshakes(result: &LoadResult) -> Vec<String> {
    let of_kind = |kind, handshakes: &prony_model::Handshakes| {
        let times = handshakes.duration_ns.as_ref()?;
        let count = counted(handshakes.count, &format!("{kind} TLS handshake"));
        Some(format!("  {count}: {}", quantiles(times)))
    };
    let tls = result.tls.iter();
    tls.flat_map(|tls| [of_kind("full", &tls.full), of_kind("resumed", &tls.resumed)])
        .flatten()
        .collect()
}

fn delays(result: &LoadResult) -> Vec<String> {
    let mut lines = Vec::new();
    if result.resent > 0 {
        let requests = counted(result.resent, "request");
        lines.push(format!(
            "  {requests} sent again, because the server had closed the connection after a response"
        ));
    }
    let waited = result.open.as_ref().and_then(OpenLoop::waited_for_set_up);
    lines.extend(waited.map(|share| {
        format!(
            "  {} of the requests waited while connections were being set up: their latency is in part that of connecting. \
             Open enough before the load (-c), or allow fewer (--max-connections){}",
            number::share(share),
            or_more_streams(&result.target)
        )
    }));
    if result.port_waits > 0 {
        let waits = counted(result.port_waits, "wait");
        lines.push(format!(
            "  {waits} for a free local port: connect from more addresses (--source), or open fewer new connections"
        ));
    }
    lines
}

fn flows(flows: &Flows, width: usize) -> Vec<String> {
    let (ok, rate) = (
        counted(flows.ok, "ok flow"),
        number::count(flows.rate_per_s),
    );
    let mut ended = format!("  {ok}, {rate}/s");
    for (count, how) in [
        (flows.failed, "failed"),
        (flows.unfinished, "in progress at the end"),
    ] {
        if count > 0 {
            ended += &format!(", {} {how}", exact(count));
        }
    }
    let mut lines = vec![ended];
    let duration = flows.duration_ns.as_ref();
    lines.extend(duration.map(|times| format!("  Flow (pauses included): {}", quantiles(times))));
    if flows.ok + flows.failed == 0 {
        lines.push("  No flow ended in time: measure longer than a flow takes".into());
    }
    let failure = flows.first_failure.as_ref();
    lines.extend(failure.map(|reason| format!("  First flow that could not go on: {reason}")));
    lines.extend(entries(&flows.entries, width));
    lines
}

fn stages(stages: &[StageResult], width: usize) -> Vec<String> {
    const COLUMNS: [Column<StageResult>; 7] = [
        Column::words("Stage", |one| Cell::text(one.stage().to_string())),
        Column::figure("sent", |one| Cell::text(exact(one.requests))),
        Column::figure("ok/s", |one| Cell::text(number::count(one.rate_per_s))),
        Column::figure("not ok", |one| Cell::text(exact(one.outcomes.errors()))),
        Column::figure("p50", |one| figure(one.latency_ns.as_ref(), |it| it.p50)),
        Column::figure("p99", |one| figure(one.latency_ns.as_ref(), |it| it.p99)),
        Column::figure("max", |one| figure(one.latency_ns.as_ref(), |it| it.max)),
    ];
    let rows = stages.iter().map(|stage| (stage, Row::default()));
    indented(&Table::of(&COLUMNS, rows), width)
}

/// A line for each request of a scenario, in columns, with its first error.
fn entries(entries: &[FlowEntry], width: usize) -> Vec<String> {
    const COLUMNS: [Column<FlowEntry>; 6] = [
        Column::words("Request", |one| Cell::text(&one.name)),
        Column::figure("sent", |one| Cell::text(exact(one.requests))),
        Column::figure("not ok", |one| Cell::text(exact(one.outcomes.errors()))),
        Column::figure("p50", |one| figure(one.latency_ns.as_ref(), |it| it.p50)),
        Column::figure("p99", |one| figure(one.latency_ns.as_ref(), |it| it.p99)),
        Column::figure("max", |one| figure(one.latency_ns.as_ref(), |it| it.max)),
    ];
    let rows = entries.iter().map(|entry| {
        let error = entry.first_wrong.iter().map(first_error);
        (entry, Row::flagged(Weight::Bad, error))
    });
    indented(&Table::of(&COLUMNS, rows), width)
}

fn events(indent: &str, noun: &str, events: &Events) -> Vec<String> {
    let (count, rate) = (counted(events.count, noun), number::count(events.per_s));
    let mut lines = vec![format!("{indent}{count}, {rate}/s")];
    for (name, times) in [
        (format!("First {noun}"), &events.first_ns),
        (format!("Between {noun}s"), &events.gap_ns),
    ] {
        let times = times.as_ref();
        lines.extend(times.map(|times| format!("{indent}{name}: {}", quantiles(times))));
    }
    lines
}

fn held_streams(held: &HeldStreams) -> Vec<String> {
    let ended = named(&held.outcomes, |outcome| outcome != Outcome::Unfinished);
    let ended = non_empty(ended.map(|(_, text)| text).joined(", "));
    let ended = ended.map_or(String::new(), |ended| format!("; ended: {ended}"));
    let (open, all) = (exact(held.open_at_end), counted(held.planned, "stream"));
    let mut lines = vec![format!("  Held open: {open} of {all} at the end{ended}")];
    lines.extend(events("    ", "event", &held.events));
    // The only one is the slowest one, too.
    let slowest = held.slowest.filter(|_| held.planned > 1);
    lines.extend(slowest.map(|slowest| {
        let (events, held) = (counted(slowest.events, "event"), seconds(slowest.held_s));
        let rate = number::count(slowest.per_s());
        format!("    Slowest stream: {events} in {held}, {rate}/s")
    }));
    lines
}

fn counted(count: u64, noun: &str) -> String {
    words::plural(count as usize, noun)
}

fn quantiles(times: &LatencySummary) -> String {
    let [p50, p99, max] = [times.p50, times.p99, times.max].map(time);
    format!("p50 {p50}, p99 {p99}, max {max}")
}

fn time(nanoseconds: u64) -> String {
    duration(nanoseconds as f64)
}

/// The kernel tells user mode from its own by ticks of up to 10 ms: in less CPU time there are too few for a share.
const LEAST_CPU_S: f64 = 1.0;

/// The generator's own figures, as far as they were counted.
fn generator(result: &LoadResult) -> Vec<String> {
    let (generator, outcomes) = (&result.generator, &result.outcomes);
    // In an open loop many requests may never have been sent; those cost nothing.
    let requests = outcomes.total() - outcomes[Outcome::Shed] - outcomes[Outcome::Unfinished];
    let busy = generator.busy_max * 100.0;
    let mut parts = format!("{}, busiest thread {busy:.0} % busy", generator.event_loop);
    // Busy-waiting is not work for a request.
    let working = generator.cpu_user_s + generator.cpu_system_s - generator.spin_s;
    if requests > 0 && working > 0.0 {
        let each = duration(working * 1e9 / requests as f64);
        parts += &format!(", {each} of CPU per request");
        if working >= LEAST_CPU_S {
            let kernel = number::share((generator.cpu_system_s / working).min(1.0));
            parts += &format!(" ({kernel} in the kernel)");
        }
    }
    if generator.spin_s > 0.0 {
        parts += &format!(", {} of busy-waiting", duration(generator.spin_s * 1e9));
    }
    let mut lines = vec![format!("Generator:    {parts}")];
    let calls = Some(generator.system_calls).filter(|calls| *calls > 0);
    let counts = [
        (calls, "system calls"),
        (generator.cycles, "cycles"),
        (generator.instructions, "instructions"),
    ];
    let counts = counts.into_iter().filter_map(|(count, name)| {
        let each = count? as f64 / requests as f64;
        Some(format!("{} {name}", number::count(each)))
    });
    let counts = non_empty(counts.filter(|_| requests > 0).joined(", "));
    lines.extend(counts.map(|counts| format!("              {counts} per request")));
    let limits = [client_limited(result), server_throttled(result)];
    lines.extend(limits.iter().flatten().map(|text| format!("  {text}")));
    lines
}

/// Why the generator may have been the bottleneck, and what to do.
pub(super) fn client_limited(result: &LoadResult) -> Option<String> {
    let generator = Some(&result.generator).filter(|generator| generator.client_limited)?;
    let evidence = generator.client_limited_by.as_deref();
    let evidence = evidence.map_or(String::new(), |evidence| format!(" ({evidence})"));
    let advice = match generator.throttled {
        Some(quota) if quota.is_noticeable(result.loaded_s()) => "Raise its CPU quota",
        _ if result.port_waits > 0 => {
            "Give it more local addresses (--source), threads (-t) or CPUs"
        }
        _ => "Give it more threads (-t) or CPUs",
    };
    Some(format!(
        "CLIENT-LIMITED{evidence}: the generator may have been the bottleneck, not the server. {advice}; the server may be \
         faster than shown."
    ))
}

/// How the CPU quota of the server limited it, if it did.
pub(super) fn server_throttled(result: &LoadResult) -> Option<String> {
    let throttled = result.server_stopped()?;
    Some(format!(
        "SERVER THROTTLED: its {throttled}. The figures are those of the quota."
    ))
}

#[cfg(test)]
pub(super) mod tests;
