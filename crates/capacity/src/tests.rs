//! Loads that the tests of several files share.

use std::collections::BTreeMap;

use prony_model::{
    Ended, Flows, GeneratorCost, LatencyHistogram, LoadResult, LoadSpec, OpenLoop, Outcome,
    Outcomes, Protocol, Target,
};

/// A load at its full rate, with ok responses of these latencies in nanoseconds, and this many errors.
pub fn load(latencies_ns: impl IntoIterator<Item = u64>, errors: u64) -> LoadResult {
    let mut histogram = LatencyHistogram::new();
    latencies_ns.into_iter().for_each(|ns| histogram.record(ns));
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = histogram.count();
    outcomes[Outcome::TimedOut] = errors;
    LoadResult {
        target: Target {
            url: "http://127.0.0.1:8080/".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:8080".into(),
        },
        load: LoadSpec::default(),
        ended: Ended::Duration,
        duration_s: 1.0,
        requests: outcomes.total(),
        outcomes,
        warmup: None,
        rate_per_s: histogram.count() as f64,
        bytes_read: 0,
        bytes_written: 0,
        connections_opened: 1,
        reconnects: 0,
        resent: 0,
        port_waits: 0,
        open: Some(OpenLoop {
            due: outcomes.total(),
            sent: outcomes.total(),
            rate_ratio: 1.0,
            ..OpenLoop::default()
        }),
        statuses: BTreeMap::new(),
        latency_ns: histogram.summary(),
        first_byte_ns: None,
        events: None,
        streams: None,
        flows: None,
        connect_ns: None,
        tls: None,
        rpc_statuses: BTreeMap::new(),
        histogram: histogram.to_base64(),
        within_stdev: 0.0,
        first_wrong: None,
        checked: None,
        generator: GeneratorCost::default(),
        fleet: None,
        timeline: None,
        tcp: None,
        slow_because: None,
    }
}

/// The same load as that of flows: `ok` of them were ok, each of which took `took_ns`.
pub fn of_flows(load: LoadResult, ok: u64, took_ns: u64) -> LoadResult {
    let mut duration = LatencyHistogram::new();
    (0..ok).for_each(|_| duration.record(took_ns));
    let flows = Flows {
        ok,
        failed: 0,
        failed_without_request: 0,
        unfinished: 0,
        rate_per_s: ok as f64 / load.duration_s,
        duration_ns: duration.summary(),
        histogram: duration.to_base64(),
        first_failure: None,
        entries: Vec::new(),
    };
    let spec = LoadSpec {
        flows: true,
        ..load.load
    };
    LoadResult {
        load: spec,
        flows: Some(flows),
        ..load
    }
}
