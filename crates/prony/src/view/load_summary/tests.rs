//! Golden tests of summaries, without a server.

use prony_model::{
    Arrivals, Checked, Events, FlowEntry, Flows, GeneratorCost, Handshakes, HeldStreams,
    LatencyHistogram, LoadShape, LoadSpec, OpenLoop, Outcomes, Protocol, Schedule, Seconds,
    SlowestStream, StageResult, Throttled, TlsResult, WarmupResult, WrongResponse, parse_stages,
    sample,
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
pub(crate) fn closed() -> LoadResult {
    let load = LoadSpec {
        connections: 4,
        duration: Some(Seconds::from_secs(2)),
        ..LoadSpec::default()
    };
    let mut closed = sample::plain_load(load, 500.0, &histogram(250_000));
    closed.target.url = "http://localhost/".into();
    closed.target.address = "127.0.0.1:80".into();
    (closed.bytes_read, closed.bytes_written) = (100_000, 50_000);
    closed.connections_opened = 4;
    closed.within_stdev = 0.9;
    closed.generator = GeneratorCost {
        cpu_user_s: 0.002,
        cpu_system_s: 0.006,
        busy_max: 0.004,
        event_loop: "io_uring".into(),
        ..GeneratorCost::default()
    };
    closed
}

/// A thousand latencies with this median.
fn histogram(median_ns: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    (1..=1000).for_each(|i| histogram.record(median_ns * i / 500));
    histogram
}

fn times(median_ns: u64) -> Option<prony_model::LatencySummary> {
    histogram(median_ns).summary()
}

fn wrong(outcome: &str, detail: &str) -> Option<WrongResponse> {
    Some(WrongResponse {
        outcome: outcome.into(),
        detail: detail.into(),
    })
}

fn rate() -> LoadResult {
    let mut rate = closed();
    rate.load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Even, 500.0));
    rate.load.max_connections = Some(10);
    rate.load.deadline = Some(Seconds::from_millis(100));
    rate.open = Some(OpenLoop {
        due: 1000,
        sent: 1000,
        rate_ratio: 1.0,
        ..OpenLoop::default()
    });
    rate
}

/// In an open loop of 2 s whose last response came 3 s later.
fn slow() -> LoadResult {
    let mut slow = rate();
    slow.duration_s = 5.0;
    slow.open = slow.open.map(|open| OpenLoop {
        completed: 1000,
        due_s: 2.0,
        ..open
    });
    slow
}

/// In an open loop with stages, of which not all was sent.
fn missed() -> LoadResult {
    let mut missed = rate();
    missed.load.shape = LoadShape::Rate(Schedule {
        stages: parse_stages("1k/s:10s,1k/s..5k/s:30s").unwrap(),
        burst: 20,
        arrivals: Arrivals::Poisson,
    });
    (missed.load.connections, missed.load.threads) = (10, 2);
    missed.load.max_connections = Some(1000);
    missed.open = Some(OpenLoop {
        due: 1_000_000,
        sent: 999_999,
        rate_ratio: 0.999_999,
        queued: 1234,
        schedule_lag_ns: times(12_000),
        most_connections: 10,
        bound_hits: 12,
        ..OpenLoop::default()
    });
    missed.outcomes = outcomes(&[(Outcome::Ok, 999_999), (Outcome::Shed, 1)]);
    missed.requests = 1_000_000;
    let stage = |from_per_s, to_per_s, duration_s, ok, latency_ns| StageResult {
        from_per_s,
        to_per_s,
        duration_s,
        requests: ok + 1,
        outcomes: outcomes(&[(Outcome::Ok, ok), (Outcome::Shed, 1)]),
        rate_per_s: ok as f64 / duration_s,
        latency_ns,
        histogram: String::new(),
    };
    missed.stages = vec![
        stage(1000.0, 1000.0, 10.0, 10_000, times(131_000)),
        stage(1000.0, 5000.0, 29.5, 88_000, times(211_000_000)),
        stage(5000.0, 5000.0, 0.5, 0, None),
    ];
    missed
}

/// A closed loop with everything that can happen in one.
fn troubled() -> LoadResult {
    let mut troubled = closed();
    troubled.load.pipeline = 16;
    troubled.load.requests_per_connection = Some(100);
    troubled.load.spin = true;
    troubled.load.seed = 42;
    troubled.ended = Ended::Interrupted;
    let kinds = Outcome::ALL.into_iter().zip(1..);
    kinds.for_each(|(one, count)| troubled.outcomes[one] = count * 1000);
    troubled.warmup = Some(WarmupResult {
        duration_s: 0.5,
        outcomes: outcomes(&[(Outcome::Ok, 250)]),
        failed_without_request: 0,
    });
    (troubled.resent, troubled.port_waits) = (1, 2);
    troubled.statuses = [(200, 1000), (404, 3), (500, 1)].into();
    troubled.first_byte_ns = times(150_000);
    troubled.first_wrong = wrong("wrong_status", "404, expected 200");
    troubled.checked = Some(Checked {
        compared: 1180,
        wrong: 12,
        every_body: false,
    });
    troubled.generator = GeneratorCost {
        cpu_user_s: 1.002,
        spin_s: 1.0,
        system_calls: 2500,
        cycles: Some(20_000_000),
        instructions: Some(13_500_000),
        busy_max: 0.99,
        client_limited: true,
        client_limited_by: Some("a thread was 99 % busy".into()),
        ..troubled.generator
    };
    troubled.ack_waits = troubled.outcomes[Outcome::Ok] / 2;
    troubled.server_throttled = Some(Throttled {
        quota_cpus: 0.5,
        periods: 20,
        throttled_periods: 18,
        throttled_s: 0.9,
    });
    troubled.slow_because = Some("37 retransmission timeouts of 0.2 s or longer".into());
    troubled.latency_ns = times(230_000_000);
    troubled.outages = vec![prony_model::Outage {
        from_s: 0.5,
        length_s: 1.25,
    }];
    troubled
}

fn streams() -> LoadResult {
    let mut streams = closed();
    let events = |count, first_ns, gap_ns| Events {
        count,
        per_s: count as f64 / 2.0,
        first_ns,
        gap_ns,
    };
    streams.load.streams = 50;
    streams.events = Some(events(0, None, None));
    streams.streams = Some(HeldStreams {
        planned: 50,
        open_at_end: 48,
        requests: 53,
        outcomes: outcomes(&[(Outcome::Unfinished, 48), (Outcome::Reset, 5)]),
        events: events(12_000, times(300_000), times(20_000_000)),
        slowest: Some(SlowestStream {
            events: 18,
            held_s: 2.0,
        }),
    });
    streams
}

/// Streams that do not end, and one request beside them that is as endless.
fn only_streams() -> LoadResult {
    LoadResult {
        outcomes: outcomes(&[(Outcome::Unfinished, 1)]),
        requests: 1,
        rate_per_s: 0.0,
        latency_ns: None,
        ..streams()
    }
}

fn users(shape: LoadShape) -> LoadResult {
    let mut users = closed();
    (users.load.shape, users.load.connections) = (shape, 1500);
    users
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
    let mut encrypted = closed();
    encrypted.target.url = "https://localhost/".into();
    encrypted.target.protocol = Protocol::H2;
    encrypted.load.pipeline = 32;
    encrypted.load.requests_per_connection = Some(100);
    let handshakes = |count, median_ns| Handshakes {
        count,
        duration_ns: times(median_ns),
        histogram: String::new(),
    };
    encrypted.tls = Some(TlsResult {
        version: Some("1.3".into()),
        cipher_suite: Some("TLS_AES_128_GCM_SHA256".into()),
        full: handshakes(4, 1_200_000),
        resumed: handshakes(96, 300_000),
    });
    encrypted
}

/// Calls of a method that streams its responses; some fail.
fn calls() -> LoadResult {
    let mut calls = closed();
    calls.target.url = "http://localhost/shop.Orders/Watch".into();
    calls.target.method = "POST".into();
    calls.target.protocol = Protocol::Grpc;
    (calls.load.events, calls.load.messages) = (true, true);
    calls.outcomes = outcomes(&[(Outcome::Ok, 990), (Outcome::WrongStatus, 10)]);
    calls.rpc_statuses = [(0, 990), (14, 10)].into();
    calls.events = Some(Events {
        count: 9900,
        per_s: 4950.0,
        first_ns: times(300_000),
        gap_ns: times(20_000),
    });
    let why = "expected grpc-status 0 (OK), got 14 (UNAVAILABLE): try later";
    calls.first_wrong = wrong("wrong_status", why);
    calls
}

/// Flows of a scenario at a rate; the response to its second request is wrong at times.
fn flows() -> LoadResult {
    let entry = |name: &str, ok, wrong_bodies| FlowEntry {
        name: name.into(),
        requests: ok + wrong_bodies,
        outcomes: outcomes(&[(Outcome::Ok, ok), (Outcome::WrongBody, wrong_bodies)]),
        latency_ns: times(250_000).filter(|_| ok > 0),
        histogram: String::new(),
        first_wrong: None,
    };
    let why = "shop.hurl:9:22: Assert failure: actual: integer <7> expected: integer <42>";
    let lines = FlowEntry {
        first_wrong: wrong("wrong_body", why),
        ..entry(
            "POST /customers/{{customer}}/orders/{{order}}/lines",
            490,
            10,
        )
    };
    let mut result = rate();
    result.target.method = "various".into();
    (result.load.flows, result.load.requests) = (true, Some(500));
    result.outcomes = outcomes(&[(Outcome::Ok, 990), (Outcome::WrongBody, 10)]);
    let undefined = "shop.hurl:5:9: Undefined variable: you must set the variable id";
    result.flows = Some(Flows {
        ok: 480,
        failed: 12,
        failed_without_request: 2,
        unfinished: 8,
        rate_per_s: 240.0,
        duration_ns: times(900_000),
        histogram: String::new(),
        first_failure: Some(undefined.into()),
        entries: vec![
            entry("GET /items", 500, 0),
            lines,
            entry("GET /never", 0, 0),
        ],
    });
    result
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
    let open = LoadShape::UsersOpen {
        think_time: Seconds::from_secs(1),
    };
    let waiting = LoadShape::UsersClosed {
        think_time: Seconds::from_millis(500),
    };
    let nothing_sent = LoadResult {
        outcomes: outcomes(&[(Outcome::Shed, 5)]),
        ..rate()
    };
    let texts = [
        ("closed loop", closed(), &plain),
        ("closed loop, --latency", closed(), &all),
        ("all that can happen", troubled(), &all),
        ("rate", rate(), &plain),
        ("rate of slow responses", slow(), &plain),
        ("stages, not all sent", missed(), &plain),
        ("nothing sent", nothing_sent, &plain),
        ("users", users(open), &plain),
        ("users who wait", users(waiting), &plain),
        ("streams", streams(), &plain),
        ("streams alone", only_streams(), &plain),
        ("every response a 404", nothing_ok(), &plain),
        ("HTTP/2 over TLS", encrypted(), &plain),
        ("gRPC", calls(), &plain),
        ("flows of a scenario", flows(), &plain),
    ];
    let texts = texts.map(|(title, result, shown)| (title, text(&result, shown, 80)));
    golden("load-summary", &texts);
}

#[test]
fn busy_connections_have_the_flags_of_their_protocol() {
    let open = OpenLoop {
        bound_hits: 5,
        most_connections: 10,
        ..OpenLoop::default()
    };
    for (protocol, flags) in [
        (Protocol::Http11, " (--max-connections, --pipeline)"),
        (
            Protocol::H2c,
            " (--max-connections, --streams-per-connection)",
        ),
    ] {
        let mut rate = rate();
        rate.target.protocol = protocol;
        let lines = schedule(&rate, &open);
        assert!(lines.iter().any(|line| line.ends_with(flags)), "{lines:?}");
    }
}

#[test]
fn a_load_of_redirects_says_so() {
    let line = |statuses: &[(u16, u64)]| {
        let mut result = closed();
        result.statuses = statuses.iter().copied().collect();
        redirects(&result).unwrap_or_default()
    };
    let expected = "  Every response is a redirect (301, 308), which Prony does not follow: load the URL in its Location";
    assert_eq!(line(&[(301, 999), (308, 1)]), expected);
    for others in [
        &[(200, 1)][..],
        &[(301, 999), (200, 1)],
        &[(304, 1000)],
        &[],
    ] {
        assert_eq!(line(others), "");
    }
    let mut of_flows = flows();
    of_flows.statuses = [(302, 1)].into();
    assert_eq!(redirects(&of_flows), None);
}

#[test]
fn a_silent_server_is_named() {
    let line = |counts: &[(Outcome, u64)], opened| {
        let mut result = closed();
        result.outcomes = outcomes(counts);
        (result.requests, result.connections_opened) = (result.outcomes.total(), opened);
        silence(&result).unwrap_or_default()
    };
    let why = "in 2 s, so nothing was measured: it may be stuck, or need a longer load (-d)";
    let silent = [(Outcome::Unfinished, 10)];
    assert_eq!(
        line(&silent, 10),
        format!("  The server sent no response {why}")
    );
    assert_eq!(
        line(&silent, 0),
        format!("  The server accepted no connection {why}")
    );
    let one_failed = [(Outcome::Unfinished, 10), (Outcome::Reset, 1)];
    let one_ok = [(Outcome::Unfinished, 10), (Outcome::Ok, 1)];
    for counts in [&one_failed[..], &one_ok, &[]] {
        assert_eq!(line(counts, 10), "");
    }
}
