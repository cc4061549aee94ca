//! Tests: summaries contain only what was measured.

use prony_model::{
    Arrivals, Ended, Events, GeneratorCost, HeldStreams, LatencyHistogram, LoadShape, LoadSpec,
    OpenLoop, Outcomes, Schedule, Target,
};

use super::*;

fn outcomes(counts: &[(Outcome, u64)]) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for &(outcome, count) in counts {
        outcomes[outcome] = count;
    }
    outcomes
}

/// 1,000 responses in a closed loop of 2 s, and nothing else.
fn closed() -> LoadResult {
    let outcomes = outcomes(&[(Outcome::Ok, 1000)]);
    LoadResult {
        target: Target {
            url: "http://localhost/".into(),
            method: "GET".into(),
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
        connect_ns: None,
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
        timeline: None,
        tcp: None,
        slow_because: None,
    }
}

fn times(nanoseconds: u64) -> Option<prony_model::LatencySummary> {
    let mut histogram = LatencyHistogram::new();
    histogram.record(nanoseconds);
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
            asked: 1000,
            sent: 1000,
            rate_ratio: 1.0,
            ..OpenLoop::default()
        }),
        ..closed()
    }
}

fn shown(result: &LoadResult) -> String {
    let shown = Shown {
        distribution: false,
        seed: false,
        requests: None,
    };
    text(result, &shown, 1000)
}

#[test]
fn a_plain_load_shows_only_what_was_measured() {
    assert_eq!(
        shown(&closed()),
        "GET http://localhost/ (127.0.0.1:80)
  4 connections, closed loop, 1 thread
  Latency (closed loop)        Avg     Stdev       Max  +/- Stdev
                            250 µs      0 ns    250 µs    90.00 %
  Percentiles: p50 250 µs, p90 250 µs, p99 250 µs
  1,000 requests in 2 s, 97.7 KiB received
  4 connections opened, 0 reconnects
Requests/sec:       500.00
Transfer/sec:     48.8 KiB
Generator:    io_uring, busiest thread 0 % busy, 8.00 µs of CPU per request (75 % in the kernel)
"
    );
}

#[test]
fn a_part_does_not_look_like_the_whole() {
    let text = shown(&rate());
    assert!(
        text.contains("Schedule: 1,000 requests due, all sent, 0 queued"),
        "{text}"
    );
    assert!(!text.contains("while all of them were busy"), "{text}");
    let nearly = LoadResult {
        open: Some(OpenLoop {
            asked: 1_000_000,
            sent: 999_999,
            rate_ratio: 0.999_999,
            most_connections: 10,
            bound_hits: 12,
            ..OpenLoop::default()
        }),
        outcomes: outcomes(&[(Outcome::Ok, 999_999), (Outcome::Shed, 1)]),
        requests: 1_000_000,
        ..rate()
    };
    let text = shown(&nearly);
    for part in [
        "1,000,000 requests due, 999,999 sent (99.99 %), 0 queued",
        "At most 10 connections open at a time, of 10 allowed",
        "12 requests due while all of them were busy",
        "Not ok: 1 shed (not sent within 0.1 s of their scheduled arrival)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn counts_are_per_request_that_was_sent() {
    let result = LoadResult {
        outcomes: outcomes(&[
            (Outcome::Ok, 990),
            (Outcome::TimedOut, 10),
            (Outcome::Shed, 5000),
            (Outcome::Unfinished, 4000),
        ]),
        generator: GeneratorCost {
            cpu_user_s: 1.002,
            cpu_system_s: 0.006,
            spin_s: 1.0,
            system_calls: 2500,
            cycles: Some(20_000_000),
            instructions: Some(13_500_000),
            client_limited: true,
            client_limited_by: Some("a worker was 99 % busy".into()),
            ..closed().generator
        },
        ..rate()
    };
    let text = shown(&result);
    for part in [
        "8.00 µs of CPU per request (75 % in the kernel), 1.00 s of busy-waiting",
        "2.50 system calls, 20.0 k cycles, 13.5 k instructions per request",
        "CLIENT-LIMITED (a worker was 99 % busy): the generator may have been the bottleneck",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let nothing_sent = LoadResult {
        outcomes: outcomes(&[(Outcome::Shed, 5)]),
        ..result
    };
    let text = shown(&nothing_sent);
    assert!(!text.contains(" per request"), "{text}");
}

#[test]
fn streams_show_their_events() {
    let events = Events {
        count: 12_000,
        per_s: 6000.0,
        first_ns: times(300_000),
        gap_ns: times(20_000_000),
    };
    let result = LoadResult {
        events: Some(Events {
            count: 0,
            per_s: 0.0,
            first_ns: None,
            gap_ns: None,
        }),
        streams: Some(HeldStreams {
            asked: 50,
            open_at_end: 48,
            requests: 53,
            outcomes: outcomes(&[(Outcome::Unfinished, 48), (Outcome::Reset, 5)]),
            events,
        }),
        ..closed()
    };
    let text = shown(&result);
    assert!(
        text.contains(
            "
  0 events, 0/s
  Held open: 48 of 50 streams at the end; ended: 5 reset
    12,000 events, 6.00 k/s
    First event: p50 300 µs, p99 300 µs, max 300 µs
    Between events: p50 20.0 ms, p99 20.0 ms, max 20.0 ms
"
        ),
        "{text}"
    );
}

#[test]
fn several_requests_and_the_seed_are_shown_if_they_matter() {
    let text = super::text(
        &closed(),
        &Shown {
            distribution: true,
            seed: true,
            requests: Some("2 URLs, at random".into()),
        },
        80,
    );
    assert!(text.contains("\n  2 URLs, at random\n"), "{text}");
    assert!(text.contains("\n  seed 0\n"), "{text}");
    assert!(text.contains("\n    99.99 %     250 µs\n"), "{text}");
}

#[test]
fn an_interrupted_load_says_so() {
    let result = LoadResult {
        ended: Ended::Interrupted,
        ..closed()
    };
    let text = shown(&result);
    assert!(
        text.ends_with("Interrupted after 2 s: the figures cover only that time.\n"),
        "{text}"
    );
}
