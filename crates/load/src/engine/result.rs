//! Merges what the workers counted into the result.

use prony_model::{
    Checked, Ended, Events, FlowEntry, Flows, GeneratorCost, Handshakes, HeldStreams,
    LatencyHistogram, LoadResult, OpenLoop, Outcome, Scheduling, Timeline, TlsResult, WarmupResult,
};

use prony_kernel::CounterValues;

use super::clock::{Nanoseconds, seconds};
use super::phase::PhaseResult;
use super::tally::{EntryTally, EventTally, FlowTally, HandshakeTally, Tally};
use super::timeline;
use super::worker::{ConnectionCounts, WorkerResult};
use crate::plan::LoadPlan;
use crate::scenario::Entry;

/// A worker busier than this counts as the bottleneck.
const CLIENT_LIMITED_ABOVE: f64 = 0.90;
/// In less time than this every worker looks busy.
const LONG_ENOUGH: Nanoseconds = 100_000_000;
/// A schedule lag grows if it has more than doubled, by at least this much.
const LAG_GROWTH_NS: f64 = 1e6;

pub(super) fn assemble(plan: &LoadPlan, workers: Vec<WorkerResult>) -> LoadResult {
    let measured = merge(workers.iter().map(|worker| &worker.measured));
    let tally = &measured.tally;
    LoadResult {
        target: plan.target(),
        load: plan.spec(),
        ended: ended(&workers),
        duration_s: measured.duration_s,
        requests: tally.outcomes.total(),
        outcomes: tally.outcomes,
        warmup: warmup(&workers),
        rate_per_s: per(tally.outcomes[Outcome::Ok] as f64, measured.duration_s),
        bytes_read: tally.bytes_read,
        bytes_written: tally.bytes_written,
        connections_opened: count(&workers, |counts| counts.opened),
        reconnects: count(&workers, |counts| counts.reconnects),
        resent: count(&workers, |counts| counts.resent),
        port_waits: count(&workers, |counts| counts.port_waits),
        open: open_loop(plan, tally, &workers),
        first_byte_ns: tally.first_byte.summary(),
        events: plan
            .events
            .then(|| events(&tally.events, measured.duration_s)),
        streams: held_streams(plan, &measured, &workers),
        flows: flows(plan, &measured),
        statuses: tally.statuses(),
        rpc_statuses: tally.rpc_statuses.clone(),
        latency_ns: tally.latency.summary(),
        connect_ns: tally.connect.summary(),
        tls: plan.tls.is_some().then(|| tls(&tally.handshakes, &workers)),
        histogram: tally.latency.to_base64(),
        within_stdev: tally.latency.share_within_one_stdev(),
        first_wrong: tally.first_wrong.clone(),
        checked: plan.sampling.is_some().then(|| Checked {
            every_body: plan.body_compared_always().is_some(),
            ..tally.checked
        }),
        generator: generator(plan, &workers, tally),
        fleet: None,
        timeline: Some(timeline(plan, workers)),
        tcp: None,
        slow_because: None,
    }
}

fn timeline(plan: &LoadPlan, workers: Vec<WorkerResult>) -> Timeline {
    let warmups = workers.iter().filter_map(|worker| worker.warmup.as_ref());
    let measured_from = warmups.map(|warmup| warmup.duration).max();
    let recorded = workers.into_iter().map(|worker| worker.timeline).collect();
    timeline::merge(recorded, measured_from.unwrap_or(0), &plan.slow_from_ns)
}

fn count(workers: &[WorkerResult], of: impl Fn(&ConnectionCounts) -> u64) -> u64 {
    workers.iter().map(|worker| of(&worker.connections)).sum()
}

fn open_loop(plan: &LoadPlan, tally: &Tally, workers: &[WorkerResult]) -> Option<OpenLoop> {
    let schedule = &tally.schedule;
    plan.shape.is_open().then(|| OpenLoop {
        due: schedule.due,
        sent: schedule.sent,
        rate_ratio: per(schedule.sent as f64, schedule.due as f64),
        queued: schedule.queued,
        schedule_lag_ns: schedule.lag.summary(),
        schedule_lag_histogram: schedule.lag.to_base64(),
        most_connections: count(workers, |counts| counts.most),
        bound_hits: schedule.bound_hits,
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
        rate_per_s: per(tally.ok as f64, merged.duration_s),
        duration_ns: tally.duration.summary(),
        histogram: tally.duration.to_base64(),
        first_failure: tally.first_failure.clone(),
        entries: entries.collect(),
    })
}

fn tls(tally: &HandshakeTally, workers: &[WorkerResult]) -> TlsResult {
    let agreement = workers.iter().find_map(|worker| worker.agreement);
    let handshakes = |histogram: &LatencyHistogram| Handshakes {
        count: histogram.count(),
        duration_ns: histogram.summary(),
        histogram: histogram.to_base64(),
    };
    TlsResult {
        version: agreement.map(|it| it.version.to_string()),
        cipher_suite: agreement.map(|it| it.cipher_suite.to_owned()),
        full: handshakes(&tally.full),
        resumed: handshakes(&tally.resumed),
    }
}

fn held_streams(plan: &LoadPlan, merged: &Merged, workers: &[WorkerResult]) -> Option<HeldStreams> {
    let streams = &merged.tally.streams;
    (plan.streams > 0).then(|| HeldStreams {
        planned: plan.streams as u64,
        open_at_end: count(workers, |counts| counts.streams_at_end),
        requests: streams.outcomes.total(),
        outcomes: streams.outcomes,
        events: events(&streams.events, merged.duration_s),
    })
}

#[derive(Default)]
struct Merged {
    tally: Tally,
    duration_s: f64,
}

fn merge<'a>(phases: impl Iterator<Item = &'a PhaseResult>) -> Merged {
    let mut merged = Merged::default();
    for phase in phases {
        merged.tally.merge(&phase.tally);
        merged.duration_s = merged.duration_s.max(seconds(phase.duration));
    }
    merged
}

/// `part` per unit of `whole`; 0 if `whole` is 0.
fn per(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn warmup(workers: &[WorkerResult]) -> Option<WarmupResult> {
    let mut phases = workers
        .iter()
        .filter_map(|worker| worker.warmup.as_ref())
        .peekable();
    phases.peek()?;
    let merged = merge(phases);
    Some(WarmupResult {
        duration_s: merged.duration_s,
        outcomes: merged.tally.outcomes,
        failed_without_request: { merged.tally.counted_flows() }
            .map_or(0, |flows| flows.failed_without_request),
    })
}

fn ended(workers: &[WorkerResult]) -> Ended {
    let any = |ended| workers.iter().any(|worker| worker.ended == ended);
    if any(Ended::Interrupted) {
        Ended::Interrupted
    } else if any(Ended::Duration) {
        Ended::Duration
    } else {
        Ended::Requests
    }
}

fn generator(plan: &LoadPlan, workers: &[WorkerResult], tally: &Tally) -> GeneratorCost {
    let measured = || workers.iter().map(|worker| &worker.measured);
    // Busy-waiting was requested, and gives way to work at once.
    let worked_s = |phase: &PhaseResult| phase.cost.cpu.total_s() - seconds(phase.cost.spun);
    let busy = |phase: &PhaseResult| per(worked_s(phase), seconds(phase.duration)).clamp(0.0, 1.0);
    let busy_max = measured().map(busy).fold(0.0, f64::max);
    let counted: Option<Vec<CounterValues>> = measured().map(|phase| phase.cost.counted).collect();
    let longest = measured().map(|phase| phase.duration).max().unwrap_or(0);
    let limited_by = (longest >= LONG_ENOUGH)
        .then(|| client_limited_by(busy_max, tally))
        .flatten();
    GeneratorCost {
        cpu_user_s: measured().map(|phase| phase.cost.cpu.user_s).sum(),
        cpu_system_s: measured().map(|phase| phase.cost.cpu.system_s).sum(),
        busy_max,
        spin_s: measured().map(|phase| seconds(phase.cost.spun)).sum(),
        system_calls: measured().map(|phase| phase.cost.system_calls).sum(),
        cycles: counted
            .as_ref()
            .map(|all| all.iter().map(|it| it.cycles).sum()),
        instructions: counted.map(|all| all.iter().map(|it| it.instructions).sum()),
        event_loop: event_loops(workers),
        client_limited: limited_by.is_some(),
        client_limited_by: limited_by,
        cpus: plan.cpus.clone(),
        scheduling: scheduling(workers),
    }
}

/// The sum over all workers.
fn scheduling(workers: &[WorkerResult]) -> Option<Scheduling> {
    let each = workers
        .iter()
        .map(|worker| worker.measured.cost.scheduling)
        .collect::<Option<Vec<_>>>()?;
    Some(Scheduling {
        run_queue_wait_s: each.iter().map(|it| it.run_queue_wait_s).sum(),
        voluntary_switches: each.iter().map(|it| it.voluntary_switches).sum(),
        involuntary_switches: each.iter().map(|it| it.involuntary_switches).sum(),
    })
}

/// Nearly always one; two if the kernel refused io_uring to some worker.
fn event_loops(workers: &[WorkerResult]) -> String {
    let mut names: Vec<&str> = workers.iter().map(|worker| worker.event_loop).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" and ")
}

/// Evidence that the generator may have been the bottleneck.
fn client_limited_by(busy_max: f64, tally: &Tally) -> Option<String> {
    if busy_max > CLIENT_LIMITED_ABOVE {
        return Some(format!("a thread was {:.0} % busy", busy_max * 100.0));
    }
    let behind_by = tally.schedule.behind_by as f64;
    if behind_by > LAG_GROWTH_NS {
        let behind = match behind_by / 1e9 {
            s if s < 1.0 => format!("{:.0} ms", s * 1e3),
            s => format!("{s:.1} s"),
        };
        return Some(format!(
            "it was {behind} behind schedule at the end, although connections were free"
        ));
    }
    let [first, second] = tally.schedule.mean_lag_by_half()?;
    (second > 2.0 * first + LAG_GROWTH_NS).then(|| {
        format!(
            "it could not keep its schedule: {:.1} ms behind in the first half, {:.1} ms in the second",
            first / 1e6,
            second / 1e6
        )
    })
}
