//! Made-up runs of suites that repeat a document, with the published figures.

use std::collections::BTreeMap;

use prony_model::PublishedFigure::*;
use prony_model::*;

use super::{Kind, Noise, record, spec};

/// A run and its trials.
pub type Records = (Run, Vec<TrialRecord>);

/// A measurement: workload, load, rounds, the ceiling's rate, the servers' ids.
pub(super) type Measure = (&'static str, LoadSpec, u32, f64, Vec<&'static str>);

/// Rate, transfer and mean latency in wrk's notation.
type Wrk = (&'static str, &'static str, [f64; 3], [f64; 3], [f64; 3]);

const MIB: f64 = 1_048_576.0;

#[rustfmt::skip]
pub const CEILING: Kind = ("ceiling", "Rust", "reference server", "0.1.0", "reference", 1.0, 3, 1.4);
pub const ZIG_EPOLL: Kind = ("zig-epoll", "Zig", "epoll", "0.15.2", "tuned", 0.92, 1, 0.9);
#[rustfmt::skip]
pub const GO: Kind = ("go-nethttp", "Go", "net/http", "1.26.1", "stdlib", 0.48, 19, 4.8);
#[rustfmt::skip]
pub const PYTHON: Kind = ("python-httpserver", "Python", "http.server", "3.14.0", "stdlib", 0.021, 17, 74.0);
#[rustfmt::skip]
pub const THREADPOOL: Kind = ("rust-threadpool", "Rust", "std", "1.95.0", "stdlib", 0.49, 2, 1.1);
pub const MINE: Kind = ("mine", "C", "own", "", "tuned", 0.7, 2, 0.7);
#[rustfmt::skip]
const ZIG_STD: Kind = ("zig-std", "Zig", "std.http", "0.15.2", "stdlib", 0.62, 2, 1.2);
#[rustfmt::skip]
pub const AXUM: Kind = ("rust-axum", "Rust", "axum", "0.8.7", "framework", 0.81, 7, 2.3);
#[rustfmt::skip]
pub const BUN: Kind = ("bun", "JavaScript", "Bun", "1.3.4", "framework", 0.55, 48, 21.0);
#[rustfmt::skip]
pub const FASTHTTP: Kind = ("go-fasthttp", "Go", "fasthttp", "1.68.0", "framework", 0.7, 12, 5.1);
#[rustfmt::skip]
const ACTIX: Kind = ("rust-actix", "Rust", "Actix Web", "4.12.0", "framework", 0.8, 8, 3.0);
#[rustfmt::skip]
const GRPC_GO: Kind = ("go-grpc", "Go", "gRPC-Go", "1.77.0", "framework", 0.3, 22, 7.1);
#[rustfmt::skip]
const TONIC: Kind = ("rust-tonic", "Rust", "Tonic", "0.14.2", "framework", 0.45, 6, 2.8);

/// The wrk table of Zap: three rounds of 400 connections, each shown. The document does not have `mine`.
pub fn zap() -> Records {
    let load = LoadSpec {
        duration_s: Some(10.0),
        warmup_s: 1.0,
        ..spec(400)
    };
    let row = |(name, server, rate, transfer, latency): Wrk| PublishedRow {
        name: name.into(),
        server: server.into(),
        workload: "hello".into(),
        figures: BTreeMap::from([
            (Rate, rate.into()),
            (Transfer, transfer.map(|mb| mb * MIB).into()),
            (LatencyMean, latency.map(|us| us * 1e3).into()),
            (
                Errors,
                if server == "zig-epoll" {
                    vec![0.0]
                } else {
                    vec![15.0]
                },
            ),
        ]),
    };
    let rows = [
        (
            "Zig (Zap)",
            "zig-epoll",
            [634_220.13, 660_803.71, 654_052.56],
            [96.17, 100.2, 99.18],
            [331.4, 322.43, 325.47],
        ),
        (
            "Go",
            "go-nethttp",
            [502_584.84, 502_149.91, 500_968.28],
            [64.23, 64.17, 64.02],
            [680.63, 683.97, 688.89],
        ),
        (
            "Python",
            "python-httpserver",
            [3407.63, 4379.74, 5004.06],
            [0.432, 0.556, 0.635],
            [12_890.0, 9870.0, 3980.0],
        ),
        (
            "Rust",
            "rust-threadpool",
            [135_446.0, 130_904.5, 134_830.39],
            [7.1, 6.87, 7.07],
            [1200.0, 1210.0, 1260.0],
        ),
    ];
    let table = PublishedTable {
        title: "Requests and transfer a second".into(),
        load: load.clone(),
        summary: RoundSummary::Mean,
        each_round: true,
        columns: vec![Rate, Transfer, LatencyMean, LatencyStdev, LatencyMax, WithinStdev, Errors],
        charts: vec![Rate, Transfer],
        share_of: None,
        notes: vec!["Zap itself is in no package registry: an epoll server of our own is measured in its place.".into()],
        rows: rows.map(row).into(),
    };
    let kinds = [CEILING, ZIG_EPOLL, GO, PYTHON, THREADPOOL, MINE];
    let all = kinds.map(|kind| kind.0).into();
    let mut records = made(
        "zap",
        "Zap: a small response under 400 connections",
        &kinds,
        vec![("hello", load, 3, 152_000.0, all)],
        vec![table],
    );
    for record in &mut records.1 {
        if let TrialResult::Measured(measured) = &mut record.result
            && record.trial.server == "python-httpserver"
        {
            (measured.load.resent, measured.load.port_waits) = (41, 3);
        }
    }
    records
}

/// The Datastar table: four workloads, shares of the plain page. zig-std is not installed.
pub fn datastar() -> Records {
    let load = LoadSpec {
        duration_s: Some(20.0),
        warmup_s: 1.0,
        ..spec(400)
    };
    let row = |name: &str, server: &str, workload: &str, figures: &[(PublishedFigure, f64)]| {
        PublishedRow {
            name: name.into(),
            server: server.into(),
            workload: workload.into(),
            figures: figures
                .iter()
                .map(|(figure, value)| (*figure, vec![*value]))
                .collect(),
        }
    };
    let page = |name, server, workload, rate, latency_ms: f64, gb: f64, artefact| {
        let figures = [
            (Rate, rate),
            (LatencyMean, latency_ms * 1e6),
            (Transfer, gb * MIB * 1024.0),
            (ArtefactBytes, artefact),
        ];
        let known = figures.iter().copied().filter(|(_, value)| *value > 0.0);
        row(name, server, workload, &known.collect::<Vec<_>>())
    };
    let sse = |name, server, rate, latency_ms: f64, gb: f64, share, memory_mb: f64| {
        let figures = [
            (Rate, rate),
            (LatencyMean, latency_ms * 1e6),
            (Transfer, gb * MIB * 1024.0),
            (TransferShare, share),
            (PeakMemory, memory_mb * MIB),
        ];
        row(name, server, "sse", &figures)
    };
    let table = PublishedTable {
        title: "Pages, and the same pages as server-sent events".into(),
        load: load.clone(),
        summary: RoundSummary::Median,
        each_round: false,
        columns: vec![Rate, LatencyMean, Transfer, RateShare, TransferShare, ArtefactBytes, PeakMemory],
        charts: vec![Rate],
        share_of: Some("page-log".into()),
        notes: vec!["The document's single figure for Rust and Zig stands for the page with and without a log line.".into()],
        rows: vec![
            page("Zig", "zig-std", "page", 39_654.0, 5.5, 5.61, 533_672.0),
            page("Zig", "zig-std", "page-log", 39_654.0, 5.5, 5.61, 533_672.0),
            sse("Zig", "zig-std", 23_777.0, 15.99, 4.12, 0.73, 12.7),
            page("Rust", "rust-axum", "page", 38_201.0, 5.13, 5.41, 1_845_936.0),
            page("Rust", "rust-axum", "page-log", 38_201.0, 5.13, 5.41, 1_845_936.0),
            sse("Rust", "rust-axum", 20_943.0, 11.43, 3.63, 0.67, 40.2),
            page("Go", "go-nethttp", "page", 30_484.0, 8.76, 4.32, 7_995_922.0),
            page("Go", "go-nethttp", "page-log", 23_730.0, 11.89, 3.36, 7_995_922.0),
            sse("Go", "go-nethttp", 9758.0, 33.72, 1.69, 0.5, 43.8),
            page("Bun", "bun", "page", 28_667.0, 8.3, 4.06, 0.0),
            page("Bun", "bun", "page-log", 12_664.0, 18.81, 1.79, 0.0),
            sse("Bun", "bun", 3733.0, 63.7, 0.647, 0.36, 32.3),
        ],
    };
    let all = vec!["ceiling", "rust-axum", "go-nethttp", "bun"];
    let measures = [
        ("page", 61_000.0),
        ("page-log", 52_000.0),
        ("sse", 9300.0),
        ("sse-20k", 41_000.0),
    ];
    let measures = measures.map(|(workload, rate)| (workload, load.clone(), 3, rate, all.clone()));
    let (mut run, trials) = made(
        "datastar",
        "Datastar: a page and its server-sent events",
        &[CEILING, ZIG_STD, AXUM, GO, BUN],
        measures.into(),
        vec![table],
    );
    run.servers[1].status = ServerStatus::Skipped {
        missing: "zig (0.15 or newer)".into(),
        install: "apt-get install -y zig".into(),
    };
    run.servers[1].verified.clear();
    (run, trials)
}

/// HydraGen's three: one connection, 500 users, and gRPC.
pub fn hydragen() -> Records {
    let sequential = LoadSpec {
        requests: Some(10_000),
        duration_s: None,
        warmup_s: 0.0,
        ..spec(1)
    };
    let users = LoadSpec {
        shape: LoadShape::UsersOpen { think_time_s: 1.0 },
        connections: 500,
        ..sequential.clone()
    };
    let ms = |value: f64| vec![value * 1e6];
    let table =
        |title: &str, load: &LoadSpec, columns: Vec<PublishedFigure>, rows| PublishedTable {
            title: title.into(),
            load: load.clone(),
            summary: RoundSummary::Median,
            each_round: false,
            columns,
            charts: vec![],
            share_of: None,
            notes: vec![],
            rows,
        };
    let simple =
        |(name, server, workload, startup, response): (&str, &str, &str, f64, f64)| PublishedRow {
            name: name.into(),
            server: server.into(),
            workload: workload.into(),
            figures: BTreeMap::from([(Startup, ms(startup)), (TimePerRequest, ms(response))]),
        };
    let httpmon = |(name, server, average, highest, p95, p99, late): (
        &str,
        &str,
        f64,
        f64,
        f64,
        f64,
        f64,
    )| PublishedRow {
        name: name.into(),
        server: server.into(),
        workload: "byte".into(),
        figures: BTreeMap::from([
            (LatencyMean, ms(average)),
            (LatencyMax, ms(highest)),
            (LatencyP95, ms(p95)),
            (LatencyP99, ms(p99)),
            (QueuedRequests, vec![late]),
        ]),
    };
    let columns = vec![Startup, TimePerRequest];
    let tables = vec![
        table(
            "HTTP simple benchmark",
            &sequential,
            columns.clone(),
            vec![
                simple(("Go net/http", "go-nethttp", "byte", 4.984, 0.3022)),
                simple(("Go fasthttp", "go-fasthttp", "byte", 5.505, 0.2496)),
                simple(("Rust Actix Web", "rust-actix", "byte", 68.38, 0.2630)),
                simple(("Rust Hyper", "rust-hyper", "byte", 5.684, 0.2454)),
            ],
        ),
        table(
            "HTTPmon benchmark",
            &users,
            vec![
                LatencyMean,
                LatencyMax,
                LatencyP95,
                LatencyP99,
                QueuedRequests,
            ],
            vec![
                httpmon(("Go net/http", "go-nethttp", 1.0, 65.0, 1.0, 2.0, 11.0)),
                httpmon(("Go fasthttp", "go-fasthttp", 1.0, 42.0, 1.0, 3.0, 8.0)),
                httpmon(("Rust Actix Web", "rust-actix", 1.0, 56.0, 1.0, 1.0, 3.0)),
                httpmon(("Rust Hyper", "rust-hyper", 1.0, 56.0, 1.0, 1.0, 5.0)),
            ],
        ),
        table(
            "gRPC simple benchmark",
            &sequential,
            columns,
            vec![
                simple(("Go gRPC-Go", "go-grpc", "grpc-unary", 7.782, 0.4264)),
                simple(("Rust Tonic", "rust-tonic", "grpc-unary", 6.019, 0.3675)),
            ],
        ),
    ];
    let http = vec!["ceiling", "go-nethttp", "go-fasthttp", "rust-actix"];
    let measures = vec![
        ("byte", sequential.clone(), 20, 21_000.0, http.clone()),
        ("byte", users, 3, 21_000.0, http),
        (
            "grpc-unary",
            sequential,
            6,
            9000.0,
            vec!["go-grpc", "rust-tonic"],
        ),
    ];
    let kinds = [CEILING, GO, FASTHTTP, ACTIX, GRPC_GO, TONIC];
    made(
        "hydragen",
        "HydraGen: a byte at a time",
        &kinds,
        measures,
        tables,
    )
}

pub(super) fn made(
    suite: &str,
    title: &str,
    kinds: &[Kind],
    measures: Vec<Measure>,
    tables: Vec<PublishedTable>,
) -> Records {
    let mut noise = Noise(11);
    let mut trials = Vec::new();
    let mut run = Run {
        suite: suite.into(),
        title: title.into(),
        id: format!("20261121-203000-{suite}"),
        rounds: measures.iter().map(|measure| measure.2).max().unwrap_or(0),
        servers: kinds.iter().map(super::server).collect(),
        published: Some(Published {
            document: format!("A benchmark that was run by hand ({suite})"),
            machine: "AMD Ryzen 5 5600X, 6 cores, Linux 6.0".into(),
            method: "wrk -t4 -c400 -d10s, server and wrk on one machine".into(),
            tables,
        }),
        ..super::run()
    };
    for server in &mut run.servers {
        let own = measures
            .iter()
            .filter(|measure| measure.4.contains(&server.id.as_str()));
        server.serves = own.map(|measure| measure.0.to_owned()).collect();
        server.serves.dedup();
        let right = |workload: &String| VerifyResult {
            workload: workload.clone(),
            verdict: VerifyVerdict::Right,
        };
        server.verified = server.serves.iter().map(right).collect();
    }
    for (workload, load, rounds, full, ids) in &measures {
        for round in 1..=*rounds {
            for kind in kinds.iter().filter(|kind| ids.contains(&kind.0)) {
                let rate = full * kind.5 * (1.0 + 0.03 * noise.next());
                let trial = Trial {
                    sequence: trials.len() as u32,
                    server: kind.0.into(),
                    workload: (*workload).into(),
                    load: super::seeded(load, round),
                    round,
                };
                trials.push(record(trial, kind, rate, &mut noise));
            }
        }
    }
    (run, trials)
}
