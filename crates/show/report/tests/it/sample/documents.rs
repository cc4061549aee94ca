//! Made-up runs of suites that repeat a document, with the published figures.

use prony_model::PublishedFigure::*;
use prony_model::Seconds;
use prony_model::*;

use super::{Noise, add_trial, kinds, right, spec};

pub(crate) type Records = (Run, Vec<TrialRecord>);

/// A measurement: workload, load, rounds, the ceiling's rate, the servers' ids ([`ALL`] of them).
pub(super) type Measure = (&'static str, LoadSpec, u32, f64, &'static [&'static str]);

pub(super) const ALL: &[&str] = &[];

const MIB: f64 = 1_048_576.0;
const MS: f64 = 1e6;

/// The wrk table of Zap: three rounds of 400 connections, each shown. The document does not have `mine`.
pub(crate) fn zap() -> Records {
    let load = LoadSpec {
        duration: Some(Seconds::from_secs(10)),
        warmup: Seconds::from_secs(1),
        ..spec(400)
    };
    let figures = [
        (Rate, 1.0),
        (Transfer, MIB),
        (LatencyMean, 1e3),
        (Errors, 1.0),
    ];
    let rows = "
        Zig (Zap) | zig-epoll | hello | 634220.13 660803.71 654052.56 | 96.17 100.2 99.18 | 331.4 322.43 325.47 | 0
        Go | go-nethttp | hello | 502584.84 502149.91 500968.28 | 64.23 64.17 64.02 | 680.63 683.97 688.89 | 15
        Python | python-httpserver | hello | 3407.63 4379.74 5004.06 | 0.432 0.556 0.635 | 12890 9870 3980 | 15
        Rust | rust-threadpool | hello | 135446 130904.5 134830.39 | 7.1 6.87 7.07 | 1200 1210 1260 | 15
    ";
    let table = PublishedTable {
        summary: RoundSummary::Mean,
        each_round: true,
        columns: vec![Rate, Transfer, LatencyMean, LatencyStdev, LatencyMax, WithinStdev, Errors],
        charts: vec![Rate, Transfer],
        notes: vec!["Zap itself is in no package registry: an epoll server of our own is measured in its place.".into()],
        ..published("Requests and transfer a second", &load, &figures, rows)
    };
    let mut records = made(
        "zap",
        "Zap: a small response under 400 connections",
        "ceiling zig-epoll go-nethttp python-httpserver rust-threadpool mine",
        vec![("hello", load, 3, 152_000.0, ALL)],
        vec![table],
    );
    super::each(&mut records.1, |trial, measured| {
        if trial.server == "python-httpserver" {
            (measured.load.resent, measured.load.port_waits) = (41, 3);
        }
    });
    records
}

/// The Datastar table: four workloads, shares of the plain page. zig-std is not installed.
pub(crate) fn datastar() -> Records {
    let load = LoadSpec {
        duration: Some(Seconds::from_secs(20)),
        warmup: Seconds::from_secs(1),
        ..spec(400)
    };
    let figures = [
        (Rate, 1.0),
        (LatencyMean, MS),
        (Transfer, 1024.0 * MIB),
        (TransferShare, 1.0),
        (ArtefactBytes, 1.0),
        (PeakMemory, MIB),
    ];
    let rows = "
        Zig | zig-std | page | 39654 | 5.5 | 5.61 | - | 533672 | -
        Zig | zig-std | page-log | 39654 | 5.5 | 5.61 | - | 533672 | -
        Zig | zig-std | sse | 23777 | 15.99 | 4.12 | 0.73 | - | 12.7
        Rust | rust-axum | page | 38201 | 5.13 | 5.41 | - | 1845936 | -
        Rust | rust-axum | page-log | 38201 | 5.13 | 5.41 | - | 1845936 | -
        Rust | rust-axum | sse | 20943 | 11.43 | 3.63 | 0.67 | - | 40.2
        Go | go-nethttp | page | 30484 | 8.76 | 4.32 | - | 7995922 | -
        Go | go-nethttp | page-log | 23730 | 11.89 | 3.36 | - | 7995922 | -
        Go | go-nethttp | sse | 9758 | 33.72 | 1.69 | 0.5 | - | 43.8
        Bun | bun | page | 28667 | 8.3 | 4.06 | - | - | -
        Bun | bun | page-log | 12664 | 18.81 | 1.79 | - | - | -
        Bun | bun | sse | 3733 | 63.7 | 0.647 | 0.36 | - | 32.3
    ";
    let table = PublishedTable {
        columns: vec![Rate, LatencyMean, Transfer, RateShare, TransferShare, ArtefactBytes, PeakMemory],
        charts: vec![Rate],
        share_of: Some("page-log".into()),
        notes: vec!["The document's single figure for Rust and Zig stands for the page with and without a log line.".into()],
        ..published("Pages, and the same pages as server-sent events", &load, &figures, rows)
    };
    let installed: &[&str] = &["ceiling", "rust-axum", "go-nethttp", "bun"];
    let measures = [
        ("page", 61e3),
        ("page-log", 52e3),
        ("sse", 9.3e3),
        ("sse-20k", 41e3),
    ];
    let measures = measures.map(|(workload, rate)| (workload, load.clone(), 3, rate, installed));
    let (mut run, trials) = made(
        "datastar",
        "Datastar: a page and its server-sent events",
        "ceiling zig-std rust-axum go-nethttp bun",
        measures.into(),
        vec![table],
    );
    run.servers[1].status = super::zig_is_missing();
    (run, trials)
}

/// HydraGen's three: one connection, 500 users, and gRPC.
pub(crate) fn hydragen() -> Records {
    let sequential = LoadSpec {
        requests: Some(10_000),
        duration: None,
        warmup: Seconds::ZERO,
        ..spec(1)
    };
    let users = LoadSpec {
        shape: LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        },
        connections: 500,
        ..sequential.clone()
    };
    let simple = [(Startup, MS), (TimePerRequest, MS)];
    let httpmon = [
        (LatencyMean, MS),
        (LatencyMax, MS),
        (LatencyP95, MS),
        (LatencyP99, MS),
        (QueuedRequests, 1.0),
    ];
    let tables = vec![
        published(
            "HTTP simple benchmark",
            &sequential,
            &simple,
            "Go net/http | go-nethttp | byte | 4.984 | 0.3022
            Go fasthttp | go-fasthttp | byte | 5.505 | 0.2496
            Rust Actix Web | rust-actix | byte | 68.38 | 0.2630
            Rust Hyper | rust-hyper | byte | 5.684 | 0.2454",
        ),
        published(
            "HTTPmon benchmark",
            &users,
            &httpmon,
            "Go net/http | go-nethttp | byte | 1 | 65 | 1 | 2 | 11
            Go fasthttp | go-fasthttp | byte | 1 | 42 | 1 | 3 | 8
            Rust Actix Web | rust-actix | byte | 1 | 56 | 1 | 1 | 3
            Rust Hyper | rust-hyper | byte | 1 | 56 | 1 | 1 | 5",
        ),
        published(
            "gRPC simple benchmark",
            &sequential,
            &simple,
            "Go gRPC-Go | go-grpc | grpc-unary | 7.782 | 0.4264
            Rust Tonic | rust-tonic | grpc-unary | 6.019 | 0.3675",
        ),
    ];
    let http: &[&str] = &["ceiling", "go-nethttp", "go-fasthttp", "rust-actix"];
    let measures = vec![
        ("byte", sequential.clone(), 20, 21_000.0, http),
        ("byte", users, 3, 21_000.0, http),
        (
            "grpc-unary",
            sequential,
            6,
            9000.0,
            &["go-grpc", "rust-tonic"],
        ),
    ];
    let ids = "ceiling go-nethttp go-fasthttp rust-actix go-grpc rust-tonic";
    made(
        "hydragen",
        "HydraGen: a byte at a time",
        ids,
        measures,
        tables,
    )
}

/// A published table. Its rows are: name | server | workload | and a cell for each figure, in its unit. A cell has the
/// values of the rounds, or `-`.
fn published(
    title: &str,
    load: &LoadSpec,
    figures: &[(PublishedFigure, f64)],
    rows: &str,
) -> PublishedTable {
    let row = |row: &str| {
        let cells: Vec<&str> = row.trim().split(" | ").collect();
        assert_eq!(cells.len(), 3 + figures.len(), "{row}");
        let known = figures
            .iter()
            .zip(&cells[3..])
            .filter(|(_, cell)| **cell != "-");
        let values = |unit: f64, cell: &str| -> Vec<f64> {
            let values = cell.split(' ').map(|value| value.parse::<f64>().unwrap());
            values.map(|value| value * unit).collect()
        };
        PublishedRow {
            name: cells[0].into(),
            server: cells[1].into(),
            workload: cells[2].into(),
            figures: known
                .map(|((figure, unit), cell)| (*figure, values(*unit, cell)))
                .collect(),
        }
    };
    PublishedTable {
        title: title.into(),
        load: load.clone(),
        summary: RoundSummary::Median,
        each_round: false,
        columns: figures.iter().map(|(figure, _)| *figure).collect(),
        charts: vec![],
        share_of: None,
        notes: vec![],
        rows: rows.trim().lines().map(row).collect(),
    }
}

pub(super) fn made(
    suite: &str,
    title: &str,
    ids: &str,
    measures: Vec<Measure>,
    tables: Vec<PublishedTable>,
) -> Records {
    let kinds = kinds(ids);
    let (mut noise, mut trials) = (Noise(11), Vec::new());
    let is_of = |measure: &Measure, id: &str| measure.4.is_empty() || measure.4.contains(&id);
    let servers = kinds.iter().map(|kind| {
        let own = measures.iter().filter(|measure| is_of(measure, kind.id));
        let mut serves: Vec<String> = own.map(|measure| measure.0.to_owned()).collect();
        serves.dedup();
        ServerRecord {
            verified: right(&serves),
            serves,
            ..kind.record.clone()
        }
    });
    let published = Published {
        document: format!("A benchmark that was run by hand ({suite})"),
        machine: "AMD Ryzen 5 5600X, 6 cores, Linux 6.0".into(),
        method: "wrk -t4 -c400 -d10s, server and wrk on one machine".into(),
        tables,
    };
    let run = Run {
        suite: suite.into(),
        title: title.into(),
        id: format!("20261121-203000-{suite}"),
        rounds: measures.iter().map(|measure| measure.2).max().unwrap_or(0),
        servers: servers.collect(),
        published: (!published.tables.is_empty()).then_some(published),
        ..super::run()
    };
    for measure in &measures {
        let (workload, load, rounds, full, _) = measure;
        for round in 1..=*rounds {
            for kind in kinds.iter().filter(|kind| is_of(measure, kind.id)) {
                let planned = (*workload, load, round, *full);
                add_trial(&mut trials, kind, planned, &mut noise);
            }
        }
    }
    (run, trials)
}
