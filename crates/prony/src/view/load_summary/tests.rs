//! Golden tests of summaries, without a server.

use prony_model::{
    Arrivals, Checked, Ended, Events, FlowEntry, Flows, GeneratorCost, Handshakes, HeldStreams,
    LatencyHistogram, LoadShape, LoadSpec, OpenLoop, Outcomes, Protocol, Schedule, Target,
    TlsResult, WarmupResult, WrongResponse, parse_stages,
};

use super::*;
use crate::tests::golden;

fn outcomes(counts: &[(Outcome, u64)]) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for &(outcome, count) in counts {
        outcomes[outcome] = count;
    }
    outcomes
}

/// 1,000 responses in a closed loop of 2 s, and nothing else.
pub fn closed() -> LoadResult {
    let outcomes = outcomes(&[(Outcome::Ok, 1000)]);
    LoadResult {
        target: Target {
            url: "http://localhost/".into(),
            method: "GET".into(),
            protocol: Protocol::Http11,
            address: "127.0.0.1:80".into(),
        },
        load: LoadSpec {
            connections: 4,
            duration_s: Some(2.0),
            ..LoadSpec::default()
        },
        ended: Ended::Duration,
        duration_s: 2.0,
        requests: outcomes.total(),
        outcomes,
        warmup: None,
        rate_per_s: 500.0,
        bytes_read: 100_000,
        bytes_written: 50_000,
        connections_opened: 4,
        reconnects: 0,
        resent: 0,
        port_waits: 0,
        open: None,
        statuses: [(200, 1000)].into(),
        latency_ns: times(250_000),
        first_byte_ns: None,
        events: None,
        streams: None,
        flows: None,
        connect_ns: None,
        tls: None,
        rpc_statuses: Default::default(),
        histogram: String::new(),
        within_stdev: 0.9,
        first_wrong: None,
        checked: None,
        generator: GeneratorCost {
            cpu_user_s: 0.002,
            cpu_system_s: 0.006,
            busy_max: 0.004,
            event_loop: "io_uring".into(),
            ..GeneratorCost::default()
        },
        fleet: None,
        timeline: None,
        tcp: None,
        slow_because: None,
    }
}

/// A thousand latencies with this median.
fn times(median_ns: u64) -> Option<prony_model::LatencySummary> {
    let mut histogram = LatencyHistogram::new();
    (1..=1000).for_each(|i| histogram.record(median_ns * i / 500));
    histogram.summary()
}

fn rate() -> LoadResult {
    LoadResult {
        load: LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 500.0)),
            max_connections: Some(10),
            deadline_s: Some(0.1),
            ..closed().load
        },
        open: Some(OpenLoop {
            due: 1000,
            sent: 1000,
            rate_ratio: 1.0,
            ..OpenLoop::default()
        }),
        ..closed()
    }
}

/// In an open loop with stages, of which not all was sent.
fn missed() -> LoadResult {
    let stages = parse_stages("1k/s:10s,1k/s..5k/s:30s").unwrap();
    LoadResult {
        load: LoadSpec {
            shape: LoadShape::Rate(Schedule {
                stages,
                burst: 20,
                ..Schedule::constant(Arrivals::Poisson, 1.0)
            }),
            connections: 10,
            max_connections: Some(1000),
            threads: 2,
            ..rate().load
        },
        open: Some(OpenLoop {
            due: 1_000_000,
            sent: 999_999,
            rate_ratio: 0.999_999,
            queued: 1234,
            schedule_lag_ns: times(12_000),
            most_connections: 10,
            bound_hits: 12,
            ..OpenLoop::default()
        }),
        outcomes: outcomes(&[(Outcome::Ok, 999_999), (Outcome::Shed, 1)]),
        requests: 1_000_000,
        ..rate()
    }
}

/// A closed loop with everything that can happen in one.
fn troubled() -> LoadResult {
    let kinds = Outcome::ALL.iter().zip(1..);
    LoadResult {
        load: LoadSpec {
            pipeline: 16,
            requests_per_connection: Some(100),
            spin: true,
            seed: 42,
            ..closed().load
        },
        ended: Ended::Interrupted,
        outcomes: outcomes(
            &kinds
                .map(|(one, count)| (*one, count * 1000))
                .collect::<Vec<_>>(),
        ),
        warmup: Some(WarmupResult {
            duration_s: 0.5,
            outcomes: outcomes(&[(Outcome::Ok, 250)]),
            failed_without_request: 0,
        }),
        resent: 1,
        port_waits: 2,
        statuses: [(200, 1000), (404, 3), (500, 1)].into(),
        first_byte_ns: times(150_000),
        first_wrong: Some(WrongResponse {
            outcome: "wrong_status".into(),
            detail: "404, expected 200".into(),
        }),
        checked: Some(Checked {
            compared: 1180,
            wrong: 12,
            every_body: false,
        }),
        generator: GeneratorCost {
            cpu_user_s: 1.002,
            cpu_system_s: 0.006,
            spin_s: 1.0,
            system_calls: 2500,
            cycles: Some(20_000_000),
            instructions: Some(13_500_000),
            busy_max: 0.99,
            client_limited: true,
            client_limited_by: Some("a thread was 99 % busy".into()),
            ..closed().generator
        },
        slow_because: Some("37 retransmission timeouts of 0.2 s or longer".into()),
        latency_ns: times(230_000_000),
        ..closed()
    }
}

fn streams() -> LoadResult {
    LoadResult {
        load: LoadSpec {
            streams: 50,
            ..closed().load
        },
        events: Some(Events {
            count: 0,
            per_s: 0.0,
            first_ns: None,
            gap_ns: None,
        }),
        streams: Some(HeldStreams {
            planned: 50,
            open_at_end: 48,
            requests: 53,
            outcomes: outcomes(&[(Outcome::Unfinished, 48), (Outcome::Reset, 5)]),
            events: Events {
                count: 12_000,
                per_s: 6000.0,
                first_ns: times(300_000),
                gap_ns: times(20_000_000),
            },
        }),
        ..closed()
    }
}

fn users(shape: LoadShape) -> LoadResult {
    LoadResult {
        load: LoadSpec {
            shape,
            connections: 1500,
            ..closed().load
        },
        ..closed()
    }
}

/// Every response was a 404.
fn nothing_ok() -> LoadResult {
    LoadResult {
        outcomes: outcomes(&[(Outcome::WrongStatus, 1000)]),
        rate_per_s: 0.0,
        latency_ns: None,
        statuses: [(404, 1000)].into(),
        slow_because: Some("37 SYNs were sent again after waiting 1 s or longer".into()),
        ..closed()
    }
}

/// Over HTTP/2 and TLS, with connections that are replaced.
fn encrypted() -> LoadResult {
    let handshakes = |count, median_ns| Handshakes {
        count,
        duration_ns: times(median_ns).filter(|_| count > 0),
        histogram: String::new(),
    };
    LoadResult {
        target: Target {
            url: "https://localhost/".into(),
            protocol: Protocol::H2,
            ..closed().target
        },
        load: LoadSpec {
            pipeline: 32,
            requests_per_connection: Some(100),
            ..closed().load
        },
        tls: Some(TlsResult {
            version: Some("1.3".into()),
            cipher_suite: Some("TLS_AES_128_GCM_SHA256".into()),
            full: handshakes(4, 1_200_000),
            resumed: handshakes(96, 300_000),
        }),
        ..closed()
    }
}

/// Calls of a method that streams its responses; some fail.
fn calls() -> LoadResult {
    LoadResult {
        target: Target {
            url: "http://localhost/shop.Orders/Watch".into(),
            method: "POST".into(),
            protocol: Protocol::Grpc,
            ..closed().target
        },
        load: LoadSpec {
            events: true,
            messages: true,
            ..closed().load
        },
        outcomes: outcomes(&[(Outcome::Ok, 990), (Outcome::WrongStatus, 10)]),
        rpc_statuses: [(0, 990), (14, 10)].into(),
        events: Some(Events {
            count: 9900,
            per_s: 4950.0,
            first_ns: times(300_000),
            gap_ns: times(20_000),
        }),
        first_wrong: Some(WrongResponse {
            outcome: "wrong_status".into(),
            detail: "expected grpc-status 0 (OK), got 14 (UNAVAILABLE): try later".into(),
        }),
        ..closed()
    }
}

/// Flows of a scenario at a rate; the response to its second request is wrong at times.
fn flows() -> LoadResult {
    let entry = |name: &str, counts: &[_], detail: Option<&str>| FlowEntry {
        name: name.into(),
        requests: outcomes(counts).total(),
        outcomes: outcomes(counts),
        latency_ns: times(250_000).filter(|_| counts.len() < 3),
        histogram: String::new(),
        first_wrong: detail.map(|detail| WrongResponse {
            outcome: "wrong_body".into(),
            detail: detail.into(),
        }),
    };
    let wrong = "shop.hurl:9:22: Assert failure: actual: integer <7> expected: integer <42>";
    LoadResult {
        target: Target {
            method: "various".into(),
            ..closed().target
        },
        load: LoadSpec {
            flows: true,
            requests: Some(500),
            ..rate().load
        },
        outcomes: outcomes(&[(Outcome::Ok, 990), (Outcome::WrongBody, 10)]),
        flows: Some(Flows {
            ok: 480,
            failed: 12,
            failed_without_request: 2,
            unfinished: 8,
            rate_per_s: 240.0,
            duration_ns: times(900_000),
            histogram: String::new(),
            first_failure: Some(
                "shop.hurl:5:9: Undefined variable: you must set the variable id".into(),
            ),
            entries: vec![
                entry("GET /items", &[(Outcome::Ok, 500)], None),
                entry(
                    "POST /customers/{{customer}}/orders/{{order}}/lines",
                    &[(Outcome::Ok, 490), (Outcome::WrongBody, 10)],
                    Some(wrong),
                ),
                entry("GET /never", &[(Outcome::Ok, 0); 3], None),
            ],
        }),
        ..rate()
    }
}

#[test]
fn summaries_are_the_golden_ones() {
    let plain = Shown {
        every_agent: false,
        objectives: Vec::new(),
        distribution: false,
        seed: false,
        requests: None,
        advice: None,
    };
    let all = Shown {
        every_agent: false,
        objectives: Vec::new(),
        distribution: true,
        seed: true,
        requests: Some("2 URLs, at random".into()),
        advice: Some("the server speaks TLS: use https://"),
    };
    let open = LoadShape::UsersOpen { think_time_s: 1.0 };
    let waiting = LoadShape::UsersClosed { think_time_s: 0.5 };
    let nothing_sent = LoadResult {
        outcomes: outcomes(&[(Outcome::Shed, 5)]),
        ..rate()
    };
    golden(
        "load-summary",
        &[
            ("closed loop", text(&closed(), &plain, 80)),
            ("closed loop, --latency", text(&closed(), &all, 80)),
            ("all that can happen", text(&troubled(), &all, 80)),
            ("rate", text(&rate(), &plain, 80)),
            ("stages, not all sent", text(&missed(), &plain, 80)),
            ("nothing sent", text(&nothing_sent, &plain, 80)),
            ("users", text(&users(open), &plain, 80)),
            ("users who wait", text(&users(waiting), &plain, 80)),
            ("streams", text(&streams(), &plain, 80)),
            ("every response a 404", text(&nothing_ok(), &plain, 80)),
            ("HTTP/2 over TLS", text(&encrypted(), &plain, 80)),
            ("gRPC", text(&calls(), &plain, 80)),
            ("flows of a scenario", text(&flows(), &plain, 80)),
        ],
    );
}
