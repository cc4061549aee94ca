//! Loads and results that the tests of several files share.

use prony_model::sample;
use prony_model::{
    CpuNoise, Flows, LatencyHistogram, LoadResult, LoadSpec, MachineNoise, OpenLoop, Outcome,
    Outside, OutsideServer,
};

use crate::capacity::search::{Found, Precision, Tried};

pub(super) const PRECISION: Precision = Precision {
    share: 0.1,
    repeats: 6,
};

/// A load at its full rate, with ok responses of these latencies in nanoseconds, and this many errors.
pub(super) fn load(latencies_ns: impl IntoIterator<Item = u64>, errors: u64) -> LoadResult {
    let mut histogram = LatencyHistogram::new();
    latencies_ns.into_iter().for_each(|ns| histogram.record(ns));
    let ok = histogram.count();
    let mut load = sample::plain_load(LoadSpec::default(), ok as f64, &histogram);
    load.outcomes[Outcome::TimedOut] = errors;
    load.requests = ok + errors;
    load.open = Some(OpenLoop {
        due: load.requests,
        sent: load.requests,
        rate_ratio: 1.0,
        ..OpenLoop::default()
    });
    load
}

/// The same load as that of flows: `ok` of them were ok, each of which took `took_ns`.
pub(super) fn of_flows(mut load: LoadResult, ok: u64, took_ns: u64) -> LoadResult {
    let mut duration = LatencyHistogram::new();
    (0..ok).for_each(|_| duration.record(took_ns));
    load.load.flows = true;
    load.flows = Some(Flows {
        ok,
        failed: 0,
        rate_per_s: ok as f64 / load.duration_s,
        first_failure: None,
        ..sample::flows(&duration)
    });
    load
}

/// What was observed during a load: what the generator's CPUs lost.
pub(super) fn outside(steal_share: f64, foreign_share: f64, server: OutsideServer) -> Outside {
    let load_cpus = Some(CpuNoise {
        steal_share,
        foreign_share,
    });
    let noise = MachineNoise {
        load_cpus,
        ..MachineNoise::default()
    };
    Outside {
        noise,
        server,
        throttled: None,
    }
}

pub(super) fn held_if(is_held: bool) -> Tried {
    if is_held { Tried::Held } else { Tried::Failed }
}

/// The capacity and its interval.
#[track_caller]
pub(super) fn capacity(found: &Found) -> (f64, f64, f64) {
    match found {
        Found::Capacity {
            per_s,
            low_per_s,
            high_per_s,
            ..
        } => (*per_s, *low_per_s, *high_per_s),
        other => panic!("{other:?}"),
    }
}

/// The bounds, if the capacity is not known precisely.
#[track_caller]
pub(super) fn imprecise(found: &Found) -> (f64, f64) {
    match found {
        Found::Imprecise {
            low_per_s: Some(low),
            high_per_s: Some(high),
            ..
        } => (*low, *high),
        other => panic!("{other:?}"),
    }
}
