//! Merges what the agents counted into the result.

use prony_model::{
    Checked, Events, FlowEntry, Flows, GeneratorCost, Handshakes, HeldStreams, LatencyHistogram,
    LoadResult, OpenLoop, SlowestStream, Throttled, Throughput, TlsResult, WarmupResult,
};
use prony_traffic::Entry;

use super::clock::{Nanoseconds, seconds};
use super::encoded::Latencies;
use super::part::{PartResult, WarmupPart, ended};
use super::phase::DueTime;
use super::silence::Silences;
use super::stage_rows;
use super::tally::{EntryTally, EventTally, FlowTally, HandshakeTally, ScheduleTally, Tally};
use super::tcp_events;
use super::timeline::WorkerTimeline;
use super::worker::ConnectionCounts;
use crate::plan::LoadPlan;

/// A worker busier than this counts as the bottleneck.
const CLIENT_LIMITED_ABOVE: f64 = 0.90;
/// In less time than this every worker looks busy.
const LONG_ENOUGH: Nanoseconds = 100_000_000;
/// A schedule lag grows if it has more than doubled, by at least this much.
const LAG_GROWTH_NS: f64 = 1e6;
/// A generator that is behind its schedule lacked CPU time if a thread waited for it for more than this share of the time, or had
/// hardly any left between working and waiting.
const WAITED_ABOVE: f64 = 0.10;

/// Merges parts into the result of the load: all of them, or that of one agent to see its share. Each should have passed
/// [`PartResult::check`].
pub fn assemble(plan: &LoadPlan, parts: &[PartResult]) -> LoadResult {
    let measured = merge(parts);
    let tally = &measured.tally;
    let counts = &measured.connections;
    let warmup = WarmupPart::merged(parts.iter().filter_map(|part| part.warmup));
    let measured_from = warmup.map_or(0, |warmup| warmup.duration);
    let timeline = WorkerTimeline::merged(parts.iter().map(|part| part.timeline.clone()));
    let silences = Silences::common(parts.iter().map(|part| part.silences.clone()));
    let mut result = LoadResult {
        target: plan.target(),
        load: plan.recorded(),
        ended: ended(parts.iter().map(|part| part.ended)),
        duration_s: measured.duration_s,
        requests: tally.outcomes.total(),
        outcomes: tally.outcomes,
        warmup: warmup.map(warmup_result),
        rate_per_s: 0.0,
        tool: None,
        bytes_read: tally.bytes_read,
        bytes_written: tally.bytes_written,
        connections_opened: counts.opened,
        reconnects: counts.reconnects,
        resent: counts.resent,
        port_waits: counts.port_waits,
        open: open_loop(plan, &measured),
        first_byte_ns: tally.first_byte.summary(),
        events: plan.load.events.then(|| events(&tally.events, 0.0)),
        streams: held_streams(plan, &measured),
        flows: flows(plan, &measured),
        stages: stage_rows::results(plan, measured.due.nanoseconds(), tally.counted_stages()),
        statuses: tally.statuses(),
        rpc_statuses: tally.rpc_statuses.clone(),
        latency_ns: tally.latency.summary(),
        connect_ns: tally.connect.summary(),
        tls: plan.tls.is_some().then(|| tls(&tally.handshakes, parts)),
        histogram: tally.latency.to_base64(),
        within_stdev: tally.latency.share_within_one_stdev(),
        first_wrong: tally.first_wrong.clone(),
        checked: plan.sampling.is_some().then(|| Checked {
            every_body: plan.body_compared_always().is_some(),
            ..tally.checked
        }),
        generator: generator(plan, parts),
        ack_waits: tally.ack_waits,
        server_throttled: None,
        fleet: None,
        timeline: Some(timeline.result(measured_from, &plan.slow_from_ns)),
        outages: silences.outages(measured_from, tally, measured.duration),
        tcp: None,
        slow_because: None,
    };
    result.rate_per_s = result.throughput().per_s();
    let events_per_s = result.per_s(tally.events.count);
    if let Some(events) = &mut result.events {
        events.per_s = events_per_s;
    }
    tcp_events::add_to(
        &mut result,
        parts.iter().filter_map(|part| part.tcp.as_ref()),
    );
    result
}

fn open_loop(plan: &LoadPlan, merged: &Merged) -> Option<OpenLoop> {
    let schedule = &merged.tally.schedule;
    plan.load.shape.is_open().then(|| OpenLoop {
        due: schedule.due,
        sent: schedule.sent,
        rate_ratio: per(schedule.sent as f64, schedule.due as f64),
        completed: schedule.completed,
        due_s: seconds(merged.due.nanoseconds()),
        queued: schedule.queued,
        schedule_lag_ns: schedule.lag.summary(),
        schedule_lag_histogram: schedule.lag.to_base64(),
        most_connections: merged.connections.most,
        bound_hits: schedule.bound_hits,
        set_up_waits: schedule.set_up_waits,
    })
}

fn events(tally: &EventTally, duration_s: f64) -> Events {
    Events {
        count: tally.count,
        per_s: per(tally.count as f64, duration_s),
        first_ns: tally.first.summary(),
        gap_ns: tally.gap.summary(),
    }
}

fn flows(plan: &LoadPlan, merged: &Merged) -> Option<Flows> {
    let scenario = plan.request.flows()?;
    let none = FlowTally::default();
    let tally = merged.tally.counted_flows().unwrap_or(&none);
    let names = scenario.entries().iter().map(Entry::name);
    let entries = names.enumerate().map(|(position, name)| {
        let none = EntryTally::default();
        let entry = tally.entries.get(position).unwrap_or(&none);
        FlowEntry {
            name: name.into(),
            requests: entry.outcomes.total(),
            outcomes: entry.outcomes,
            latency_ns: entry.latency.summary(),
            histogram: entry.latency.to_base64(),
            first_wrong: entry.first_wrong.clone(),
        }
    });
    Some(Flows {
        ok: tally.ok,
        failed: tally.failed,
        failed_without_request: tally.failed_without_request,
        unfinished: tally.unfinished,
        rate_per_s: flows_throughput(plan, tally, merged).per_s(),
        duration_ns: tally.duration.summary(),
        histogram: tally.duration.to_base64(),
        first_failure: tally.first_failure.clone(),
        entries: entries.collect(),
    })
}

fn flows_throughput(plan: &LoadPlan, tally: &FlowTally, merged: &Merged) -> Throughput {
    if plan.load.shape.is_open() {
        Throughput {
            completed: tally.completed,
            seconds: seconds(merged.due.nanoseconds()),
        }
    } else {
        Throughput {
            completed: tally.ok,
            seconds: merged.duration_s,
        }
    }
}

fn tls(tally: &HandshakeTally, parts: &[PartResult]) -> TlsResult {
    let agreement = parts.iter().find_map(|part| part.agreement.as_ref());
    let handshakes = |histogram: &LatencyHistogram| Handshakes {
        count: histogram.count(),
        duration_ns: histogram.summary(),
        histogram: histogram.to_base64(),
    };
    TlsResult {
        version: agreement.map(|it| it.version.clone()),
        cipher_suite: agreement.map(|it| it.cipher_suite.clone()),
        full: handshakes(&tally.full),
        resumed: handshakes(&tally.resumed),
    }
}

fn held_streams(plan: &LoadPlan, merged: &Merged) -> Option<HeldStreams> {
    let streams = &merged.tally.streams;
    (plan.load.streams > 0).then(|| HeldStreams {
        planned: plan.load.streams as u64,
        open_at_end: merged.connections.streams_at_end,
        requests: streams.outcomes.total(),
        outcomes: streams.outcomes,
        events: events(&streams.events, merged.duration_s),
        slowest: streams.slowest.map(|slowest| SlowestStream {
            events: slowest.events,
            held_s: seconds(slowest.held),
        }),
    })
}

#[derive(Default)]
struct Merged {
    tally: Tally,
    duration: Nanoseconds,
    duration_s: f64,
    due: DueTime,
    connections: ConnectionCounts,
}

fn merge(parts: &[PartResult]) -> Merged {
    let mut merged = Merged::default();
    for part in parts {
        merged.tally.merge(&part.measured);
        merged.connections.merge(&part.connections);
        merged.duration = merged.duration.max(part.duration);
    }
    merged.duration_s = seconds(merged.duration);
    merged.due = DueTime::merged(parts.iter().map(|part| part.due));
    merged
}

/// `part` per unit of `whole`; 0 if `whole` is 0.
fn per(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn warmup_result(warmup: WarmupPart) -> WarmupResult {
    WarmupResult {
        duration_s: seconds(warmup.duration),
        outcomes: warmup.outcomes,
        failed_without_request: warmup.failed_without_request,
    }
}

fn generator(plan: &LoadPlan, parts: &[PartResult]) -> GeneratorCost {
    let throttled = parts.iter().filter_map(|part| part.throttled);
    let costs = parts.iter().map(|part| part.cost.clone());
    let cost = costs
        .reduce(|sum, cost| sum.plus(&cost))
        .unwrap_or_default();
    let mut generator = GeneratorCost {
        cpu_user_s: cost.cpu_user_s,
        cpu_system_s: cost.cpu_system_s,
        busy_max: cost.busy_max,
        spin_s: seconds(cost.spun),
        system_calls: cost.system_calls,
        cycles: cost.counted.map(|it| it.cycles),
        instructions: cost.counted.map(|it| it.instructions),
        event_loop: cost.event_loop(),
        client_limited: false,
        client_limited_by: None,
        cpus: plan.here.cpus.clone(),
        scheduling: cost.scheduling,
        // The agent that was stopped longest.
        throttled: throttled.reduce(Throttled::worse),
    };
    if let Some(evidence) = client_limited_by(plan, parts) {
        generator.limited_by(&evidence);
    }
    generator
}

/// Evidence that the generator may have been the bottleneck. If there are several agents, it names the first one that
/// was.
fn client_limited_by(plan: &LoadPlan, parts: &[PartResult]) -> Option<String> {
    let mut limited = parts
        .iter()
        .filter_map(|part| Some((part.agent, evidence(part)?)));
    let (agent, evidence) = limited.next()?;
    if parts.len() < 2 {
        return Some(evidence);
    }
    Some(match limited.count() {
        0 => format!("agent {agent} of {}: {evidence}", plan.agents),
        others => format!(
            "agent {agent} and {others} more of {}: {evidence}",
            plan.agents
        ),
    })
}

/// The evidence that its CPU quota limited an agent.
fn of_quota(part: &PartResult) -> Option<String> {
    let warmup = part.warmup.map_or(0, |warmup| warmup.duration);
    let loaded = part.duration.saturating_add(warmup);
    part.throttled?.evidence(seconds(loaded))
}

/// What shows in the generator itself. That it was behind its schedule shows only that something was slow.
fn evidence(part: &PartResult) -> Option<String> {
    let busy = Some(part.cost.busy_max).filter(|busy| *busy > CLIENT_LIMITED_ABOVE);
    let busy = busy.map(|busy| format!("a thread was {:.0} % busy", busy * 100.0));
    let waited = part.cost.waited_max;
    let lacked_time = waited > WAITED_ABOVE || part.cost.busy_max + waited > CLIENT_LIMITED_ABOVE;
    let behind = behind(&part.measured.schedule).filter(|_| lacked_time);
    let starved = behind.map(|behind| {
        format!(
            "a thread waited for a CPU for {:.0} % of the time, and was {behind}",
            waited * 100.0
        )
    });
    let ports = Some(part.connections.port_waits).filter(|waits| *waits > 0);
    let ports = ports.map(|waits| match waits {
        1 => "a connection waited for a free local port".into(),
        waits => format!("connections waited {waits} times for a free local port"),
    });
    let timed = busy.or(starved).filter(|_| part.duration >= LONG_ENOUGH);
    let all: Vec<String> = of_quota(part)
        .into_iter()
        .chain(timed)
        .chain(ports)
        .collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// How far the generator was behind its schedule, if it was.
fn behind<H: Latencies>(schedule: &ScheduleTally<H>) -> Option<String> {
    let behind_by = schedule.behind_by as f64;
    if behind_by > LAG_GROWTH_NS {
        let behind = match behind_by / 1e9 {
            s if s < 1.0 => format!("{:.0} ms", s * 1e3),
            s => format!("{s:.1} s"),
        };
        return Some(format!("{behind} behind schedule at the end"));
    }
    let [first, second] = schedule.mean_lag_by_half()?;
    (second > 2.0 * first + LAG_GROWTH_NS).then(|| {
        format!(
            "{:.1} ms behind schedule in the first half, {:.1} ms in the second",
            first / 1e6,
            second / 1e6
        )
    })
}
