//! From what the workers counted to the result.

use prony_record::{Ended, GeneratorCost, LoadResult, LoadShape, OpenLoop, Outcome, WarmupResult};

use super::clock::seconds;
use super::phase::PhaseResult;
use super::tally::Tally;
use super::worker::{ConnectionCounts, WorkerResult};
use crate::plan::LoadPlan;

/// Busier than this, a worker is taken to have been the limit.
const CLIENT_LIMITED_ABOVE: f64 = 0.90;

/// Merges what the workers gave.
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
        open: open_loop(plan, tally),
        statuses: tally.statuses(),
        latency_ns: tally.latency.summary(),
        connect_ns: tally.connect.summary(),
        histogram: tally.latency.to_base64(),
        within_stdev: tally.latency.share_within_one_stdev(),
        first_wrong: tally.first_wrong.clone(),
        generator: generator(plan, &workers),
    }
}

fn count(workers: &[WorkerResult], of: impl Fn(&ConnectionCounts) -> u64) -> u64 {
    workers.iter().map(|worker| of(&worker.connections)).sum()
}

fn open_loop(plan: &LoadPlan, tally: &Tally) -> Option<OpenLoop> {
    match plan.shape {
        LoadShape::Closed => None,
        LoadShape::UsersOpen { .. } => Some(OpenLoop {
            late: tally.late,
            schedule_lag_ns: tally.schedule_lag.summary(),
        }),
    }
}

struct Merged {
    tally: Tally,
    duration_s: f64,
}

fn merge<'a>(phases: impl Iterator<Item = &'a PhaseResult>) -> Merged {
    let mut merged = Merged {
        tally: Tally::new(),
        duration_s: 0.0,
    };
    for phase in phases {
        merged.tally.merge(&phase.tally);
        merged.duration_s = merged.duration_s.max(seconds(phase.duration));
    }
    merged
}

/// `part` for each unit of `whole`; 0 where there was nothing of it.
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

fn generator(plan: &LoadPlan, workers: &[WorkerResult]) -> GeneratorCost {
    let busy = |phase: &PhaseResult| per(phase.cpu.total_s(), seconds(phase.duration)).min(1.0);
    let busy_max = workers
        .iter()
        .map(|worker| busy(&worker.measured))
        .fold(0.0, f64::max);
    GeneratorCost {
        cpu_user_s: workers
            .iter()
            .map(|worker| worker.measured.cpu.user_s)
            .sum(),
        cpu_system_s: workers
            .iter()
            .map(|worker| worker.measured.cpu.system_s)
            .sum(),
        busy_max,
        event_loop: "epoll".into(),
        client_limited: busy_max > CLIENT_LIMITED_ABOVE,
        cpus: plan.cpus.clone(),
    }
}
