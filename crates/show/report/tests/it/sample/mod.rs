//! Made-up runs, shaped like real ones.
#![allow(dead_code)] // Each test file uses a part of them.

pub(crate) mod courses;
pub(crate) mod documents;
pub(crate) mod hostile;
pub(crate) mod noisy;
pub(crate) mod rates;
pub(crate) mod troubles;

use prony_model::{Seconds, sample, *};
use prony_testkit::table::rows;

/// id | language | framework | version | class | relative speed | memory in MiB | startup in ms
const SERVERS: &str = r#"
    ceiling | Rust | reference server | 0.1.0 | reference | 1.0 | 3 | 1.4
    rust-hyper | Rust | hyper | 1.8.1 | framework | 0.83 | 6 | 2.1
    rust-axum | Rust | axum | 0.8.7 | framework | 0.81 | 7 | 2.3
    go-nethttp | Go | net/http | 1.26.1 | stdlib | 0.48 | 19 | 4.8
    bun | JavaScript | Bun | 1.3.4 | framework | 0.55 | 48 | 21.0
    python-httpserver | Python | http.server | 3.14.0 | stdlib | 0.021 | 17 | 74.0
    zig-epoll | Zig | epoll | 0.15.2 | tuned | 0.92 | 1 | 0.9
    zig-std | Zig | std.http | 0.15.2 | stdlib | 0.62 | 2 | 1.2
    c-example | C | C | "" | tuned | 0.9 | 1 | 0.6
    mine | C | own | "" | tuned | 0.7 | 2 | 0.7
    rust-threadpool | Rust | std | 1.95.0 | stdlib | 0.49 | 2 | 1.1
    rust-actix | Rust | Actix Web | 4.12.0 | framework | 0.8 | 8 | 3.0
    rust-tonic | Rust | Tonic | 0.14.2 | framework | 0.45 | 6 | 2.8
    go-fasthttp | Go | fasthttp | 1.68.0 | framework | 0.7 | 12 | 5.1
    go-grpc | Go | gRPC-Go | 1.77.0 | framework | 0.3 | 22 | 7.1
"#;

/// The servers of [`run`] that start.
const TOUR: &str = "ceiling rust-hyper rust-axum go-nethttp bun python-httpserver";

/// A server of the table.
pub(crate) struct Kind {
    pub(crate) id: &'static str,
    speed: f64,
    memory_mib: u64,
    startup_ms: f64,
    record: ServerRecord,
}

/// The servers with these ids, in their order.
pub(crate) fn kinds(ids: &str) -> Vec<Kind> {
    let rows = rows::<8>(SERVERS);
    let with_id = |id: &str| kind(rows.iter().find(|row| row[0] == id).expect(id));
    ids.split(' ').map(with_id).collect()
}

fn kind(row: &[&'static str; 8]) -> Kind {
    let [
        id,
        language,
        framework,
        version,
        class,
        speed,
        memory_mib,
        startup_ms,
    ] = *row;
    let memory_mib = memory_mib.parse().unwrap();
    let serves: Vec<String> = WORKLOADS.map(|(workload, ..)| workload.into()).into();
    Kind {
        id,
        speed: speed.parse().unwrap(),
        memory_mib,
        startup_ms: startup_ms.parse().unwrap(),
        record: ServerRecord {
            language: language.into(),
            framework: framework.into(),
            version: (!version.is_empty()).then(|| version.into()),
            class: class.into(),
            source_hash: "3f1c9a".repeat(10) + "abcd",
            artefact_bytes: Some((memory_mib << 20) / 2 + 12_345),
            build_s: Some(4.2),
            verified: right(&serves),
            serves,
            ..sample::plain_server(id)
        },
    }
}

pub(crate) fn right(workloads: &[String]) -> Vec<VerifyResult> {
    let right = |workload: &String| VerifyResult {
        workload: workload.clone(),
        verdict: VerifyVerdict::Right,
    };
    workloads.iter().map(right).collect()
}

const WORKLOADS: [(&str, f64, usize); 4] = [
    ("hello", 152_000.0, 64),
    ("page", 61_000.0, 32),
    ("sse", 9_300.0, 32),
    ("quote", 149_000.0, 64),
];

pub(crate) const ROUNDS: u32 = 5;

pub(crate) fn run() -> Run {
    let mut servers: Vec<ServerRecord> = kinds(&format!("{TOUR} zig-std c-example"))
        .into_iter()
        .map(|kind| kind.record)
        .collect();
    servers[4].verified[2].verdict = VerifyVerdict::Wrong {
        expected: "one `datastar-patch-elements` event with 1,503 `elements` lines".into(),
        received: "1,502 lines; line 1,503 is missing".into(),
    };
    let missing = [
        zig_is_missing(),
        ServerStatus::BuildFailed {
            output: "src/main.c:4:10: fatal error: no such file\n  4 | #include <nope.h>\ncompilation terminated.".into(),
        },
    ];
    for (server, status) in servers[6..].iter_mut().zip(missing) {
        (server.status, server.version) = (status, None);
        server.verified.clear();
    }
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
            mitigations: vec!["spectre_v2: Mitigation: Retpolines".into()],
            tcp_settings: vec!["net.core.somaxconn = 4096".into(), "lo mtu = 65536".into()],
            ..Machine::default()
        },
        servers,
        ..sample::plain_run("20261121-203000-tour")
    }
}

fn zig_is_missing() -> ServerStatus {
    ServerStatus::Skipped {
        missing: "zig (0.15 or newer)".into(),
        install: "apt-get install -y zig".into(),
    }
}

pub(crate) fn trials() -> Vec<TrialRecord> {
    let kinds = kinds(TOUR);
    let (mut noise, mut trials) = (Noise(7), Vec::new());
    for round in 1..=ROUNDS {
        for (workload, full, connections) in WORKLOADS {
            // Bun failed the verification of `sse`.
            let served = kinds
                .iter()
                .filter(|kind| (kind.id, workload) != ("bun", "sse"));
            for kind in served {
                let planned = (workload, &spec(connections), round, full);
                add_trial(&mut trials, kind, planned, &mut noise);
            }
        }
    }
    trials
}

pub(crate) fn spec(connections: usize) -> LoadSpec {
    LoadSpec {
        connections,
        threads: 1,
        duration: Some(Seconds::from_secs(2)),
        warmup: Seconds::from_millis(500),
        timeout: Seconds::from_secs(2),
        ..LoadSpec::default()
    }
}

/// Adds a server's trial: of a workload, under a load, in a round, at a rate if the server were as fast as the ceiling.
fn add_trial(
    trials: &mut Vec<TrialRecord>,
    kind: &Kind,
    (workload, load, round, full): (&str, &LoadSpec, u32, f64),
    noise: &mut Noise,
) {
    let rate = full * kind.speed * (1.0 + 0.03 * noise.next());
    let trial = Trial {
        sequence: trials.len() as u32,
        server: kind.id.into(),
        workload: workload.into(),
        // Each round has a seed of its own.
        load: LoadSpec {
            seed: round.into(),
            ..load.clone()
        },
        round,
    };
    let failed = (kind.id, workload, round) == ("go-nethttp", "page", 3);
    let result = if failed {
        failed_with("the server ended with exit status 2")
    } else {
        TrialResult::Measured(measurement(&trial, kind, rate, noise))
    };
    trials.push(sample::plain_trial(trial, result));
}

/// The result of a trial whose server ended.
pub(crate) fn failed_with(message: &str) -> TrialResult {
    TrialResult::Failed {
        kind: FailureKind::ServerExited,
        message: message.into(),
    }
}

/// Changes every measurement.
pub(crate) fn each(trials: &mut [TrialRecord], mut change: impl FnMut(&Trial, &mut Measurement)) {
    for record in trials {
        if let TrialResult::Measured(measured) = &mut record.result {
            change(&record.trial, measured);
        }
    }
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
        LoadShape::Rate(schedule) => (schedule.stages[0].to_per_s, 2e5 / kind.speed),
        LoadShape::UsersClosed { think_time } | LoadShape::UsersOpen { think_time } => {
            (connections / think_time.as_secs_f64(), 2e5 / kind.speed)
        }
    };
    let requests = trial.load.requests;
    let seconds = requests.map_or(2.0, |requests| requests as f64 / rate);
    for i in 0..4000 {
        let tail = if i % 97 == 0 { 5.0 } else { 1.0 };
        histogram.record((mean * tail * (1.0 + 0.4 * noise.next()).abs()) as u64);
    }
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = (rate * seconds).round() as u64;
    let is_python = kind.id == "python-httpserver";
    if is_python {
        (outcomes[Outcome::Reset], outcomes[Outcome::TimedOut]) = (14, 2);
    }
    let limited =
        trial.workload == "hello" && kind.id == "rust-hyper" && trial.round.is_multiple_of(2);
    let mut warm = Outcomes::default();
    warm[Outcome::Ok] = (rate * 0.5) as u64;
    let plain = sample::plain_load(trial.load.clone(), rate, &histogram);
    Measurement {
        load: LoadResult {
            duration_s: seconds,
            requests: outcomes.total(),
            outcomes,
            warmup: Some(WarmupResult {
                duration_s: 0.5,
                outcomes: warm,
                failed_without_request: 0,
            }),
            bytes_read: (rate * seconds * 140.0) as u64,
            reconnects: if is_python { 6_000 } else { 0 },
            open: shape.is_open().then(|| {
                let lag = lag(noise);
                OpenLoop {
                    due: (rate * seconds).round() as u64,
                    sent: (rate * seconds).round() as u64,
                    rate_ratio: 1.0,
                    completed: outcomes[Outcome::Ok],
                    due_s: seconds,
                    queued: (3.0 / kind.speed) as u64 + u64::from(trial.round),
                    schedule_lag_ns: lag.summary(),
                    schedule_lag_histogram: lag.to_base64(),
                    most_connections: trial.load.connections as u64,
                    bound_hits: 0,
                    set_up_waits: 0,
                }
            }),
            stages: stages(shape, &histogram),
            first_byte_ns: trial.load.first_byte.then(|| times(mean / 2.0)),
            events: trial.load.events.then(|| events(rate * 3.0, mean)),
            streams: (trial.load.streams > 0).then(|| held(trial, kind)),
            generator: GeneratorCost {
                cpu_user_s: 0.2,
                cpu_system_s: 1.0,
                busy_max: 0.6,
                system_calls: 2 * outcomes.total(),
                cycles: Some(20_700 * outcomes.total()),
                event_loop: "io_uring".into(),
                client_limited: limited,
                client_limited_by: limited.then(|| "a thread was 97 % busy".into()),
                ..GeneratorCost::default() // A machine may count cycles only.
            },
            ..plain.clone()
        },
        server: Some(ServerCost {
            busy_share: 0.5,
            cpu_user_s: 0.8,
            cpu_system_s: 1.6,
            peak_memory_bytes: (kind.memory_mib << 20) + (u64::from(trial.round) << 16),
            memory_before_bytes: Some(kind.memory_mib << 19),
            instructions: Some(
                (31_000.0 / kind.speed * (outcomes[Outcome::Ok] + warm[Outcome::Ok]) as f64) as u64,
            ),
            scheduling: Some(Scheduling {
                run_queue_wait_s: 0.02,
                voluntary_switches: 40_000,
                involuntary_switches: 25,
            }),
            ..ServerCost::default() // A machine may count instructions only.
        }),
        startup_ns: Some((kind.startup_ms * 1e6 * (1.0 + 0.1 * noise.next())) as u64),
        noise: MachineNoise {
            steal_share: 0.004,
            idle_share: 0.1,
            server_cpus: cpu_noise(0.004, 0.002),
            load_cpus: cpu_noise(0.003, 0.001),
            ..MachineNoise::default()
        },
        ..sample::plain_measurement(plain)
    }
}

fn cpu_noise(steal_share: f64, foreign_share: f64) -> Option<CpuNoise> {
    Some(CpuNoise {
        steal_share,
        foreign_share,
    })
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

/// The stages of a rate that has several, alike in their latencies.
fn stages(shape: &LoadShape, histogram: &LatencyHistogram) -> Vec<StageResult> {
    let stages = match shape {
        LoadShape::Rate(schedule) if schedule.stages.len() > 1 => &schedule.stages[..],
        _ => &[],
    };
    let of = |stage: &Stage| {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::Ok] = stage.requests() as u64;
        let duration_s = stage.duration_s.unwrap_or(1.0);
        StageResult {
            from_per_s: stage.from_per_s,
            to_per_s: stage.to_per_s,
            duration_s,
            requests: outcomes.total(),
            outcomes,
            rate_per_s: outcomes.total() as f64 / duration_s,
            latency_ns: histogram.summary(),
            histogram: histogram.to_base64(),
        }
    };
    stages.iter().map(of).collect()
}

/// Bun loses a few of the streams.
fn held(trial: &Trial, kind: &Kind) -> HeldStreams {
    let held = trial.load.streams as u64;
    let lost = if kind.id == "bun" { 7 } else { 0 };
    let mut outcomes = Outcomes::default();
    (outcomes[Outcome::Unfinished], outcomes[Outcome::Reset]) = (held - lost, lost);
    HeldStreams {
        planned: held,
        open_at_end: held - lost,
        requests: held,
        outcomes,
        events: events(10_000.0, 1e8),
        slowest: None,
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
