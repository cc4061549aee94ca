//! Made-up records of trials, for tests.

use prony_model::{
    Ended, GeneratorCost, LatencyHistogram, LoadResult, LoadSpec, MachineNoise, Measurement,
    Outcomes, Protocol, ServerCost, Target, Trial, TrialRecord, TrialResult,
};

/// A closed loop of one second at this rate, on a quiet machine.
pub fn measurement(rate_per_s: f64) -> Measurement {
    Measurement {
        user_instructions: None,
        load: LoadResult {
            target: Target {
                url: "http://127.0.0.1:1/".into(),
                method: "GET".into(),
                protocol: Protocol::Http11,
                address: "127.0.0.1:1".into(),
            },
            load: LoadSpec::default(),
            ended: Ended::Duration,
            duration_s: 1.0,
            requests: 0,
            outcomes: Outcomes::default(),
            warmup: None,
            rate_per_s,
            bytes_read: 0,
            bytes_written: 0,
            connections_opened: 0,
            reconnects: 0,
            resent: 0,
            port_waits: 0,
            open: None,
            statuses: [].into(),
            latency_ns: None,
            first_byte_ns: None,
            events: None,
            streams: None,
            flows: None,
            connect_ns: None,
            tls: None,
            rpc_statuses: Default::default(),
            histogram: LatencyHistogram::new().to_base64(),
            within_stdev: 0.0,
            first_wrong: None,
            checked: None,
            generator: GeneratorCost::default(),
            fleet: None,
            timeline: None,
            tcp: None,
            slow_because: None,
        },
        server: Some(ServerCost::default()),
        startup_ns: Some(1),
        warm_up: None,
        search: None,
        noise: MachineNoise::default(),
        log_lines: None,
        log_tail: None,
    }
}

/// A trial of `server` with this rate.
pub fn record(server: &str, round: u32, rate_per_s: f64) -> TrialRecord {
    TrialRecord {
        trial: Trial {
            sequence: 0,
            server: server.to_owned(),
            workload: "hello".into(),
            load: LoadSpec::default(),
            round,
        },
        started_at: "2026-11-21T20:30:00Z".into(),
        attempt: 1,
        noisy: Vec::new(),
        result: TrialResult::Measured(measurement(rate_per_s)),
    }
}
