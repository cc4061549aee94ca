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
        shape: LoadShape::UsersOpen { think_time_s: 0.5 },
        connections: 64,
        threads: 1,
        duration_s: Some(1.0),
        requests: None,
        warmup_s: 0.5,
        timeout_s: 2.0,
        ..LoadSpec::default()
    }
}

/// A trial that failed with this message.
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

/// A measured trial of this round.
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

/// The result of a closed loop.
pub fn load_result() -> LoadResult {
    let mut histogram = LatencyHistogram::new();
    (1..=100).for_each(|i| histogram.record(i * 100));
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = 100;
    outcomes[Outcome::TimedOut] = 2;
    let mut held = Outcomes::default();
    (held[Outcome::Unfinished], held[Outcome::Truncated]) = (9, 2);
    LoadResult {
        target: Target {
            url: "http://127.0.0.1:8080/hello".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:8080".into(),
        },
        load: load_spec(),
        ended: Ended::Duration,
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
        connections_opened: 64,
        reconnects: 0,
        resent: 0,
        port_waits: 0,
        open: Some(OpenLoop {
            due: 110,
            sent: 99,
            rate_ratio: 0.9,
            queued: 7,
            schedule_lag_ns: histogram.summary(),
            schedule_lag_histogram: histogram.to_base64(),
            most_connections: 80,
            bound_hits: 3,
        }),
        first_byte_ns: histogram.summary(),
        events: Some(events(&histogram, 300)),
        streams: Some(HeldStreams {
            planned: 10,
            open_at_end: 9,
            requests: 11,
            outcomes: held,
            events: events(&histogram, 500),
        }),
        flows: Some(flows(&histogram)),
        statuses: BTreeMap::from([(200, 100)]),
        latency_ns: histogram.summary(),
        connect_ns: None,
        tls: None,
        rpc_statuses: BTreeMap::new(),
        histogram: histogram.to_base64(),
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
        },
        fleet: None,
        timeline: Some(Timeline {
            interval_s: 0.1,
            measured_from_s: 0.5,
            ok: vec![5, 10],
            latency_mean_ns: vec![5000.0, 5100.5],
            ..Timeline::default()
        }),
        tcp: Some(TcpEvents {
            retransmitted_segments: 6,
            retransmitted_syns: 2,
            timeouts: 5,
            lost_retransmits: 1,
            accept_queue_overflows: 3,
            listen_drops: 4,
        }),
        slow_because: Some("2 SYNs were sent again".into()),
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
        deadline_s: Some(1.0),
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
