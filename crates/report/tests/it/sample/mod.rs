//! Made-up runs, shaped like real ones.
#![allow(dead_code)] // Each test file uses a part of them.

pub mod courses;
pub mod documents;
pub mod hostile;
pub mod noisy;
pub mod rates;
pub mod troubles;

use std::collections::BTreeMap;

use prony_model::{sample, *};

/// id, language, framework, version, class, relative speed, memory in MiB, startup in ms.
pub type Kind = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    f64,
    u64,
    f64,
);

#[rustfmt::skip]
const SERVERS: [Kind; 6] = [
    ("ceiling", "Rust", "reference server", "0.1.0", "reference", 1.00, 3, 1.4),
    ("rust-hyper", "Rust", "hyper", "1.8.1", "framework", 0.83, 6, 2.1),
    ("rust-axum", "Rust", "axum", "0.8.7", "framework", 0.81, 7, 2.3),
    ("go-nethttp", "Go", "net/http", "1.26.1", "stdlib", 0.48, 19, 4.8),
    ("bun", "JavaScript", "Bun", "1.3.4", "framework", 0.55, 48, 21.0),
    ("python-httpserver", "Python", "http.server", "3.14.0", "stdlib", 0.021, 17, 74.0),
];

const WORKLOADS: [(&str, f64, usize); 4] = [
    ("hello", 152_000.0, 64),
    ("page", 61_000.0, 32),
    ("sse", 9_300.0, 32),
    ("quote", 149_000.0, 64),
];

pub const ROUNDS: u32 = 5;

pub fn run() -> Run {
    let mut servers: Vec<ServerRecord> = SERVERS.iter().map(server).collect();
    servers[4].verified[2].verdict = VerifyVerdict::Wrong {
        expected: "one `datastar-patch-elements` event with 1,503 `elements` lines".into(),
        received: "1,502 lines; line 1,503 is missing".into(),
    };
    servers.push(ServerRecord {
        status: ServerStatus::Skipped {
            missing: "zig (0.15 or newer)".into(),
            install: "apt-get install -y zig".into(),
        },
        verified: vec![],
        ..server(&("zig-std", "Zig", "std.http", "", "stdlib", 0.7, 2, 1.2))
    });
    servers.push(ServerRecord {
        status: ServerStatus::BuildFailed {
            output: "src/main.c:4:10: fatal error: no such file\n  4 | #include <nope.h>\ncompilation terminated.".into(),
        },
        verified: vec![],
        ..server(&("c-example", "C", "C", "", "tuned", 0.9, 1, 0.6))
    });
    Run {
        title: "A tour of web servers".into(),
        notes: vec!["Trials are short (2 s) to keep the whole tour to minutes, so it shows large differences, not small ones.".into()],
        seed: 4_242,
        rounds: ROUNDS,
        machine: Machine {
            cpu_model: "Example CPU 3000".into(),
            cpus: 2,
            memory_bytes: 8 << 30,
            os: "Debian GNU/Linux 12 (bookworm)".into(),
            kernel: "6.12.0".into(),
            virtualization: Some("virtual machine (KVM)".into()),
            governor: None,
            mitigations: vec!["spectre_v2: Mitigation: Retpolines".into()],
            tcp_settings: vec!["net.core.somaxconn = 4096".into(), "lo mtu = 65536".into()],
        },
        servers,
        ..sample::plain_run("20261121-203000-tour")
    }
}

pub fn server(kind: &Kind) -> ServerRecord {
    ServerRecord {
        language: kind.1.into(),
        framework: kind.2.into(),
        version: (!kind.3.is_empty()).then(|| kind.3.into()),
        class: kind.4.into(),
        source_hash: "3f1c9a".repeat(10) + "abcd",
        artefact_bytes: Some((kind.6 << 20) / 2 + 12_345),
        build_s: Some(4.2),
        serves: WORKLOADS.map(|(workload, ..)| workload.into()).into(),
        verified: WORKLOADS
            .iter()
            .map(|(workload, ..)| VerifyResult {
                workload: (*workload).into(),
                verdict: VerifyVerdict::Right,
            })
            .collect(),
        ..sample::plain_server(kind.0)
    }
}

pub fn trials() -> Vec<TrialRecord> {
    let mut noise = Noise(7);
    let mut trials = Vec::new();
    for round in 1..=ROUNDS {
        for (workload, full, connections) in WORKLOADS {
            for kind in &SERVERS {
                if (kind.0, workload) == ("bun", "sse") {
                    continue; // It failed verification.
                }
                let rate = full * kind.5 * (1.0 + 0.03 * noise.next());
                let trial = Trial {
                    sequence: trials.len() as u32,
                    server: kind.0.into(),
                    workload: workload.into(),
                    load: seeded(&spec(connections), round),
                    round,
                };
                trials.push(record(trial, kind, rate, &mut noise));
            }
        }
    }
    trials
}

pub fn spec(connections: usize) -> LoadSpec {
    LoadSpec {
        shape: LoadShape::Closed,
        connections,
        threads: 1,
        duration_s: Some(2.0),
        requests: None,
        warmup_s: 0.5,
        timeout_s: 2.0,
        ..LoadSpec::default()
    }
}

/// The planned load of a round: each round has a seed of its own.
fn seeded(load: &LoadSpec, round: u32) -> LoadSpec {
    LoadSpec {
        seed: round.into(),
        ..load.clone()
    }
}

fn record(trial: Trial, kind: &Kind, rate: f64, noise: &mut Noise) -> TrialRecord {
    let failed = (kind.0, trial.workload.as_str(), trial.round) == ("go-nethttp", "page", 3);
    let result = match failed {
        true => TrialResult::Failed {
            kind: FailureKind::ServerExited,
            message: "the server ended with exit status 2".into(),
        },
        false => TrialResult::Measured(measurement(&trial, kind, rate, noise)),
    };
    sample::plain_trial(trial, result)
}

fn measurement(trial: &Trial, kind: &Kind, rate: f64, noise: &mut Noise) -> Measurement {
    let mut histogram = LatencyHistogram::new();
    let (shape, connections) = (&trial.load.shape, trial.load.connections as f64);
    // In an open loop the schedule sets the rate, and the server's speed affects only the latency.
    let (rate, mean) = match shape {
        LoadShape::Closed => {
            let at_a_time = connections * trial.load.pipeline as f64;
            (rate, at_a_time / rate * 1e9)
        }
        LoadShape::Rate(schedule) => (schedule.stages[0].to_per_s, 2e5 / kind.5),
        LoadShape::UsersClosed { think_time_s } | LoadShape::UsersOpen { think_time_s } => {
            (connections / think_time_s, 2e5 / kind.5)
        }
    };
    let seconds = trial
        .load
        .requests
        .map_or(2.0, |requests| requests as f64 / rate);
    for i in 0..4000 {
        let tail = if i % 97 == 0 { 5.0 } else { 1.0 };
        histogram.record((mean * tail * (1.0 + 0.4 * noise.next()).abs()) as u64);
    }
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = (rate * seconds).round() as u64;
    if kind.0 == "python-httpserver" {
        outcomes[Outcome::Reset] = 14;
        outcomes[Outcome::TimedOut] = 2;
    }
    let limited =
        trial.workload == "hello" && kind.0 == "rust-hyper" && trial.round.is_multiple_of(2);
    let mut warm = Outcomes::default();
    warm[Outcome::Ok] = (rate * 0.5) as u64;
    let plain = sample::plain_load(trial.load.clone(), rate, &histogram);
    Measurement {
        load: LoadResult {
            target: Target {
                url: "http://127.0.0.1:9/".into(),
                method: "GET".into(),
                protocol: Protocol::Http11,
                address: "127.0.0.1:9".into(),
            },
            duration_s: seconds,
            requests: outcomes.total(),
            outcomes,
            warmup: Some(WarmupResult {
                duration_s: 0.5,
                outcomes: warm,
                failed_without_request: 0,
            }),
            bytes_read: (rate * seconds * 140.0) as u64,
            bytes_written: 1_000,
            reconnects: if kind.0 == "python-httpserver" {
                6_000
            } else {
                0
            },
            open: shape.is_open().then(|| {
                let lag = lag(noise);
                OpenLoop {
                    due: (rate * seconds).round() as u64,
                    sent: (rate * seconds).round() as u64,
                    rate_ratio: 1.0,
                    queued: (3.0 / kind.5) as u64 + u64::from(trial.round),
                    schedule_lag_ns: lag.summary(),
                    schedule_lag_histogram: lag.to_base64(),
                    most_connections: trial.load.connections as u64,
                    bound_hits: 0,
                }
            }),
            first_byte_ns: trial.load.first_byte.then(|| times(mean / 2.0)),
            events: trial.load.events.then(|| events(rate * 3.0, mean)),
            streams: (trial.load.streams > 0).then(|| held(trial, kind)),
            statuses: BTreeMap::from([(200, 1)]),
            generator: GeneratorCost {
                cpu_user_s: 0.2,
                cpu_system_s: 1.0,
                busy_max: 0.6,
                spin_s: 0.0,
                system_calls: 2 * outcomes.total(),
                cycles: Some(20_700 * outcomes.total()),
                instructions: None, // A machine may count cycles only.
                event_loop: "io_uring".into(),
                client_limited: limited,
                client_limited_by: limited.then(|| "a thread was 97 % busy".into()),
                cpus: vec![1],
                scheduling: None,
            },
            ..plain.clone()
        },
        server: Some(ServerCost {
            busy_share: 0.5,
            cpu_user_s: 0.8,
            cpu_system_s: 1.6,
            peak_memory_bytes: (kind.6 << 20) + (u64::from(trial.round) << 16),
            processes: 1,
            memory_before_bytes: Some(kind.6 << 19),
            cycles: None, // A machine may count instructions only.
            instructions: Some((31_000.0 / kind.5 * responses(&outcomes, &warm) as f64) as u64),
            scheduling: Some(Scheduling {
                run_queue_wait_s: 0.02,
                voluntary_switches: 40_000,
                involuntary_switches: 25,
            }),
        }),
        startup_ns: Some((kind.7 * 1e6 * (1.0 + 0.1 * noise.next())) as u64),
        noise: MachineNoise {
            steal_share: 0.004,
            idle_share: 0.1,
            server_cpus: Some(CpuNoise {
                steal_share: 0.004,
                foreign_share: 0.002,
            }),
            load_cpus: Some(CpuNoise {
                steal_share: 0.003,
                foreign_share: 0.001,
            }),
            frequency_mhz: None,
            energy_j: None,
        },
        ..sample::plain_measurement(plain)
    }
}

fn responses(outcomes: &Outcomes, warm: &Outcomes) -> u64 {
    outcomes[Outcome::Ok] + warm[Outcome::Ok]
}

fn times(mean_ns: f64) -> LatencySummary {
    let mut histogram = LatencyHistogram::new();
    (1..200).for_each(|i| histogram.record((mean_ns * f64::from(i) / 100.0) as u64));
    histogram.summary().unwrap()
}

fn events(per_s: f64, mean_ns: f64) -> Events {
    Events {
        count: (per_s * 2.0) as u64,
        per_s,
        first_ns: Some(times(mean_ns * 0.6)),
        gap_ns: Some(times(mean_ns * 0.1)),
    }
}

/// Bun loses a few of the streams.
fn held(trial: &Trial, kind: &Kind) -> HeldStreams {
    let held = trial.load.streams as u64;
    let lost = if kind.0 == "bun" { 7 } else { 0 };
    let mut outcomes = Outcomes::default();
    (outcomes[Outcome::Unfinished], outcomes[Outcome::Reset]) = (held - lost, lost);
    HeldStreams {
        planned: held,
        open_at_end: held - lost,
        requests: held,
        outcomes,
        events: events(10_000.0, 1e8),
    }
}

fn lag(noise: &mut Noise) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    (0..500).for_each(|_| histogram.record((9_000.0 + 6_000.0 * noise.next()) as u64));
    histogram
}

/// The same noise each time, between -1 and 1.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
