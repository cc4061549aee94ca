//! Sample records for tests.

use std::collections::BTreeMap;

use crate::*;

/// A run of the tour on an invented machine.
pub fn run(id: &str) -> Run {
    Run {
        id: id.into(),
        suite: "tour".into(),
        title: "A tour".into(),
        notes: vec!["Trials are short.".into()],
        started_at: "2026-11-21T20:30:00Z".into(),
        finished_at: None,
        end: RunEnd::Open,
        prony_version: "0.1.0".into(),
        command: vec!["prony".into(), "run".into()],
        seed: u64::MAX,
        rounds: 3,
        machine: Machine {
            cpu_model: "Fast 9000".into(),
            cpus: 2,
            cpu_quota: Some(1.5),
            memory_bytes: 1 << 32,
            virtualization: Some("virtual machine".into()),
            ..Machine::default()
        },
        fleet: None,
        cpus: CpuAssignment {
            server: vec![0],
            load: vec![1],
        },
        servers: vec![
            server("go-nethttp", ServerStatus::Ready),
            server("bun", ServerStatus::Ready),
            server(
                "zig-std",
                ServerStatus::Skipped {
                    missing: "zig".into(),
                    install: "get zig".into(),
                },
            ),
            server(
                "rust-axum",
                ServerStatus::BuildFailed {
                    output: "error".into(),
                },
            ),
        ],
        published: Some(published()),
        baseline: Some("go-nethttp".into()),
        adaptive: Some(Adaptive {
            precision: 0.03,
            budget_s: 600.0,
            ends: vec![RoundsEnd {
                workload: "hello".into(),
                load: load_spec(),
                rounds: 12,
                reason: EnoughRounds::Precise,
                widest: Some(0.028),
            }],
        }),
    }
}

fn published() -> Published {
    Published {
        document: "A benchmark that was run by hand".into(),
        machine: "Fast 8000".into(),
        method: "wrk, 64 connections".into(),
        tables: vec![PublishedTable {
            title: "Requests a second".into(),
            load: load_spec(),
            summary: RoundSummary::Mean,
            each_round: true,
            columns: vec![PublishedFigure::Rate, PublishedFigure::RateShare],
            charts: vec![PublishedFigure::Rate],
            share_of: Some("page".into()),
            notes: vec!["Its rounds were run one after the other.".into()],
            rows: vec![PublishedRow {
                name: "Go".into(),
                server: "go-nethttp".into(),
                workload: "hello".into(),
                figures: BTreeMap::from([(PublishedFigure::Rate, vec![100.5, 99.5])]),
            }],
        }],
    }
}

fn server(id: &str, status: ServerStatus) -> ServerRecord {
    ServerRecord {
        id: id.into(),
        language: "Language".into(),
        framework: "Framework".into(),
        version: None,
        class: "stdlib".into(),
        source_hash: "ab12".into(),
        run_command: vec!["./server".into()],
        artefact_bytes: Some(4096),
        build_s: Some(0.1 + 0.2),
        status,
        serves: vec!["hello".into(), "sse".into()],
        verified: vec![
            VerifyResult {
                workload: "hello".into(),
                verdict: VerifyVerdict::Right,
            },
            VerifyResult {
                workload: "sse".into(),
                verdict: VerifyVerdict::Wrong {
                    expected: "a".into(),
                    received: "b".into(),
                },
            },
        ],
        outside: Some(OutsideProcess {
            url: "http://localhost:8080".into(),
            unmeasured: Some("it is on another machine".into()),
        }),
    }
}

/// What a request costs a server, with every field.
pub fn explanation(server: &str) -> Explanation {
    let round = |more: f64| CostRound {
        figures: CostFigure::ALL
            .into_iter()
            .zip(1..)
            .map(|(figure, nth)| (figure, f64::from(nth) * more))
            .collect(),
        system_calls: BTreeMap::from([("read".into(), 1.0), ("write".into(), more)]),
        tracing_cost: Some(0.1),
    };
    let profile = |frequency_hz| Profile {
        frequency_hz,
        samples: 40,
        lost: 1,
        seconds: 0.2,
        units: 1000.0,
        cost: Some(0.02),
        frames: vec![
            frame("main", "server", FrameKind::Native),
            frame("handle", "[jit]", FrameKind::Runtime),
            frame("tcp_sendmsg", "[kernel]", FrameKind::Kernel),
        ],
        stacks: vec![
            stack(&[0, 1, 2], 25.0),
            stack(&[0, 1], 10.0),
            stack(&[0], 4.0),
        ],
        left_out: 1.0,
        unnamed: vec![Unnamed {
            module: "server".into(),
            share: 0.25,
            why: "it is stripped; build it with `-g`".into(),
        }],
    };
    Explanation {
        server: server.into(),
        workload: "hello".into(),
        load: load_spec(),
        unit: CostUnit::Request,
        rounds: vec![round(1.0), round(1.1)],
        on_cpu: Some(profile(199.0)),
        off_cpu: Some(profile(50.0)),
        unavailable: vec![Unavailable {
            what: "page faults that read from a disk".into(),
            why: "the kernel forbids it".into(),
            remedy: Some("sudo sysctl kernel.perf_event_paranoid=1".into()),
        }],
    }
}

fn frame(name: &str, module: &str, kind: FrameKind) -> Frame {
    Frame {
        name: name.into(),
        module: module.into(),
        kind,
    }
}

fn stack(frames: &[u32], weight: f64) -> Stack {
    Stack {
        frames: frames.to_vec(),
        weight,
    }
}

fn trial(server: &str, round: u32) -> Trial {
    Trial {
        sequence: round,
        server: server.into(),
        workload: "hello".into(),
        load: load_spec(),
        round,
    }
}

fn load_spec() -> LoadSpec {
    LoadSpec {
        shape: LoadShape::UsersOpen {
            think_time: Seconds::from_millis(500),
        },
        connections: 64,
        threads: 1,
        duration: Some(Seconds::from_secs(1)),
        requests: None,
        warmup: Seconds::from_millis(500),
        timeout: Seconds::from_secs(2),
        ..LoadSpec::default()
    }
}

pub fn failed(server: &str, message: &str) -> TrialRecord {
    TrialRecord {
        trial: trial(server, 1),
        started_at: "2026-11-21T20:31:00Z".into(),
        attempt: 1,
        noisy: Vec::new(),
        result: TrialResult::Failed {
            kind: FailureKind::ServerExited,
            message: message.into(),
        },
    }
}

pub fn measured(server: &str, round: u32) -> TrialRecord {
    TrialRecord {
        trial: trial(server, round),
        started_at: "2026-11-21T20:31:00Z".into(),
        attempt: 2,
        noisy: vec![
            NoiseCause::Steal { share: 0.1 },
            NoiseCause::OtherPrograms { share: 0.2 },
            NoiseCause::WarmUp { rise: 0.3 },
        ],
        result: TrialResult::Measured(Measurement {
            user_instructions: None,
            load: load_result(),
            server: Some(ServerCost {
                busy_share: 0.5,
                cpu_user_s: 0.25,
                cpu_system_s: 0.5,
                peak_memory_bytes: 12 << 20,
                processes: 1,
                memory_before_bytes: Some(10 << 20),
                cycles: Some(9_000_000),
                instructions: Some(8_000_000),
                scheduling: Some(scheduling()),
            }),
            startup_ns: Some(1_500_000),
            warm_up: Some(WarmUp {
                process: ProcessStart::Kept,
                loaded_s: 12.0,
                searched_s: 9.5,
                limit_s: 20.0,
                time_to_warm_s: Some(7.5),
                still_improving: false,
            }),
            search: Some(RateCourse {
                interval_s: 0.5,
                ok: vec![10, 40, 50],
            }),
            noise: MachineNoise {
                steal_share: 0.01,
                idle_share: 0.1,
                server_cpus: Some(CpuNoise {
                    steal_share: 0.01,
                    foreign_share: 0.02,
                }),
                load_cpus: Some(CpuNoise::default()),
                frequency_mhz: Some((2400.0, 3100.5)),
                energy_j: Some(12.5),
            },
            log_lines: Some(LogLines {
                written: 100,
                least: 100,
                most: 102,
            }),
            log_tail: Some(LogTail {
                output: vec!["listening on 8080".into()],
                errors: vec!["warning: no configuration".into()],
            }),
        }),
    }
}

/// The flows of a scenario of two requests.
pub fn flows(histogram: &LatencyHistogram) -> Flows {
    let entry = |name: &str, ok, wrong| {
        let mut outcomes = Outcomes::default();
        (outcomes[Outcome::Ok], outcomes[Outcome::WrongBody]) = (ok, wrong);
        FlowEntry {
            name: name.into(),
            requests: outcomes.total(),
            outcomes,
            latency_ns: histogram.summary(),
            histogram: histogram.to_base64(),
            first_wrong: (wrong > 0).then(|| WrongResponse {
                outcome: "wrong_body".into(),
                detail: "expected `new`, got `old`".into(),
            }),
        }
    };
    Flows {
        ok: 48,
        failed: 2,
        failed_without_request: 0,
        unfinished: 1,
        rate_per_s: 48.0,
        duration_ns: histogram.summary(),
        histogram: histogram.to_base64(),
        first_failure: Some("`id` is not defined".into()),
        entries: vec![entry("GET /items", 52, 0), entry("POST /orders", 48, 2)],
    }
}

/// The result of a closed loop with this many ok responses per second, and nothing beside them.
pub fn plain_load(load: LoadSpec, rate_per_s: f64, latencies: &LatencyHistogram) -> LoadResult {
    let mut outcomes = Outcomes::default();
    let duration_s = load.duration.map_or(1.0, |duration| duration.as_secs_f64());
    outcomes[Outcome::Ok] = (rate_per_s * duration_s).round() as u64;
    LoadResult {
        target: Target {
            url: "http://127.0.0.1:8080/hello".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:8080".into(),
        },
        load,
        duration_s,
        requests: outcomes.total(),
        outcomes,
        rate_per_s,
        connections_opened: 64,
        statuses: BTreeMap::from([(200, outcomes[Outcome::Ok])]),
        latency_ns: latencies.summary(),
        histogram: latencies.to_base64(),
        within_stdev: latencies.share_within_one_stdev(),
        generator: GeneratorCost {
            event_loop: "epoll".into(),
            ..GeneratorCost::default()
        },
        ..LoadResult::default()
    }
}

/// The measurement of a load on a quiet machine, with nothing known of the server.
pub fn plain_measurement(load: LoadResult) -> Measurement {
    Measurement {
        load,
        startup_ns: Some(5_000_000),
        ..Measurement::default()
    }
}

/// The first attempt at a trial, which was not noisy.
pub fn plain_trial(trial: Trial, result: TrialResult) -> TrialRecord {
    TrialRecord {
        trial,
        started_at: "2026-11-21T20:31:00Z".into(),
        attempt: 1,
        noisy: Vec::new(),
        result,
    }
}

/// A complete run without servers.
pub fn plain_run(id: &str) -> Run {
    Run {
        title: "Made up".into(),
        notes: Vec::new(),
        finished_at: Some("2026-11-21T20:35:12Z".into()),
        end: RunEnd::Complete,
        servers: Vec::new(),
        published: None,
        baseline: None,
        adaptive: None,
        ..run(id)
    }
}

/// A server that serves `hello` right.
pub fn plain_server(id: &str) -> ServerRecord {
    ServerRecord {
        serves: vec!["hello".into()],
        verified: vec![VerifyResult {
            workload: "hello".into(),
            verdict: VerifyVerdict::Right,
        }],
        outside: None,
        ..server(id, ServerStatus::Ready)
    }
}

/// The result of a closed loop with every field.
pub fn load_result() -> LoadResult {
    let mut histogram = LatencyHistogram::new();
    (1..=100).for_each(|i| histogram.record(i * 100));
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = 100;
    outcomes[Outcome::TimedOut] = 2;
    let mut held = Outcomes::default();
    (held[Outcome::Unfinished], held[Outcome::Truncated]) = (9, 2);
    LoadResult {
        duration_s: 1.000_000_1,
        requests: 102,
        outcomes,
        warmup: Some(WarmupResult {
            duration_s: 0.5,
            outcomes: Outcomes::default(),
            failed_without_request: 0,
        }),
        rate_per_s: 99.999_99,
        bytes_read: 10_000,
        bytes_written: 5_000,
        open: Some(OpenLoop {
            due: 110,
            sent: 99,
            rate_ratio: 0.9,
            completed: 100,
            due_s: 1.000_000_1,
            queued: 7,
            schedule_lag_ns: histogram.summary(),
            schedule_lag_histogram: histogram.to_base64(),
            most_connections: 80,
            bound_hits: 3,
            set_up_waits: 4,
        }),
        first_byte_ns: histogram.summary(),
        events: Some(events(&histogram, 300)),
        streams: Some(HeldStreams {
            planned: 10,
            open_at_end: 9,
            requests: 11,
            outcomes: held,
            events: events(&histogram, 500),
            slowest: Some(SlowestStream {
                events: 40,
                held_s: 1.5,
            }),
        }),
        flows: Some(flows(&histogram)),
        stages: vec![StageResult {
            from_per_s: 50.0,
            to_per_s: 150.0,
            duration_s: 1.0,
            requests: 102,
            outcomes,
            rate_per_s: 100.0,
            latency_ns: histogram.summary(),
            histogram: histogram.to_base64(),
        }],
        statuses: BTreeMap::from([(200, 100)]),
        within_stdev: 0.58,
        first_wrong: Some(WrongResponse {
            outcome: "timed_out".into(),
            detail: "no response within 2 s".into(),
        }),
        checked: Some(Checked {
            compared: 40,
            wrong: 1,
            every_body: true,
        }),
        generator: GeneratorCost {
            cpu_user_s: 0.1,
            cpu_system_s: 0.2,
            busy_max: 0.3,
            spin_s: 0.05,
            system_calls: 204,
            cycles: Some(3_000_000),
            instructions: Some(2_000_000),
            event_loop: "epoll".into(),
            client_limited: false,
            client_limited_by: Some("a thread was 91 % busy".into()),
            cpus: vec![1],
            scheduling: Some(scheduling()),
            throttled: Some(throttled()),
        },
        ack_waits: 0,
        server_throttled: Some(throttled()),
        timeline: Some(Timeline {
            interval_s: 0.1,
            measured_from_s: 0.5,
            ok: vec![5, 10],
            latency_mean_ns: vec![5000.0, 5100.5],
            ..Timeline::default()
        }),
        outages: vec![Outage {
            from_s: 0.25,
            length_s: 0.5,
        }],
        tcp: Some(TcpEvents {
            retransmitted_segments: 6,
            retransmitted_syns: 2,
            timeouts: 5,
            lost_retransmits: 1,
            accept_queue_overflows: 3,
            listen_drops: 4,
        }),
        slow_because: Some("2 SYNs were sent again".into()),
        ..plain_load(load_spec(), 100.0, &histogram)
    }
}

fn throttled() -> Throttled {
    Throttled {
        quota_cpus: 1.5,
        periods: 40,
        throttled_periods: 4,
        throttled_s: 0.25,
    }
}

fn scheduling() -> Scheduling {
    Scheduling {
        run_queue_wait_s: 0.02,
        voluntary_switches: 30,
        involuntary_switches: 4,
    }
}

fn events(histogram: &LatencyHistogram, count: u64) -> Events {
    Events {
        count,
        per_s: count as f64,
        first_ns: histogram.summary(),
        gap_ns: histogram.summary(),
    }
}

/// The same trial under a changing rate.
pub fn measured_at_a_rate() -> TrialRecord {
    let mut record = measured("bun", 1);
    let load = LoadSpec {
        shape: LoadShape::Rate(Schedule {
            arrivals: Arrivals::Poisson,
            burst: 10,
            stages: vec![
                Stage {
                    from_per_s: 1000.0,
                    to_per_s: 5000.0,
                    duration_s: Some(30.0),
                },
                Stage {
                    from_per_s: 5000.0,
                    to_per_s: 5000.0,
                    duration_s: None,
                },
            ],
        }),
        max_connections: Some(500),
        pipeline: 16,
        multiplexed: true,
        requests_per_connection: Some(100),
        deadline: Some(Seconds::from_secs(1)),
        seed: u64::MAX,
        spin: true,
        streams: 10,
        first_byte: true,
        events: true,
        ..load_spec()
    };
    if let TrialResult::Measured(measured) = &mut record.result {
        measured.load.load = load.clone();
        measured.load.tls = Some(TlsResult {
            version: Some("1.3".into()),
            cipher_suite: Some("TLS_AES_128_GCM_SHA256".into()),
            full: handshakes(64, 1_000_000),
            resumed: handshakes(640, 300_000),
        });
    }
    record.trial.load = load;
    record
}

fn handshakes(count: u64, ns: u64) -> Handshakes {
    let mut histogram = LatencyHistogram::new();
    (0..count).for_each(|_| histogram.record(ns));
    Handshakes {
        count,
        duration_ns: histogram.summary(),
        histogram: histogram.to_base64(),
    }
}
