//! The suites and workloads of the repository itself.

use std::num::NonZeroUsize;

use prony_model::{Published, PublishedFigure, PublishedRow, Seconds};
use prony_run::{Changes, Files, Suite, SuiteLoad, Workloads};
use prony_server::{Catalogue, Layout};

use crate::{guide, repository};

const SUITES: [&str; 7] = [
    "datastar", "franklin", "grpc", "hydragen", "tls", "tour", "zap",
];

fn suite(id: &str) -> Suite {
    Suite::read(&repository().join("suites"), id).unwrap()
}

fn published(id: &str) -> Published {
    suite(id).published_on(NonZeroUsize::MIN).unwrap()
}

#[test]
fn every_workload_has_an_expected_response() {
    let folder = repository().join("workloads");
    let workloads = Workloads::read(&folder).unwrap();
    let files = Files::new(&folder, folder.join("assets"));
    assert!(workloads.iter().count() >= 8);
    for workload in workloads.iter() {
        let right = workload.exchange().unwrap().expected(&files).unwrap();
        assert_eq!(right.drawn_lines().is_some(), workload.id == "quote");
    }
}

#[test]
fn every_suite_can_be_read_and_names_existing_workloads() {
    let workloads = Workloads::read(&repository().join("workloads")).unwrap();
    let ids = Suite::ids(&repository().join("suites")).unwrap();
    for id in SUITES {
        assert!(ids.contains(&id.to_owned()), "{id}");
    }
    for id in ids {
        workloads.select(suite(&id).workloads()).unwrap();
    }
}

#[test]
fn every_server_of_a_suite_exists_and_serves_one_of_its_workloads() {
    let layout = Layout::at(repository());
    let catalogue = Catalogue::read(&layout).unwrap();
    for id in SUITES {
        let suite = suite(id);
        assert_eq!(suite.servers[0], "ceiling", "{id}: the reference is first");
        for server in catalogue.select(&suite.servers).unwrap() {
            let served = &server.manifest.workloads;
            let in_suite = suite.workloads();
            let serves = |workload: &&str| served.contains(&workload.to_string());
            let name = format!("{id}: {}", server.id);
            assert!(in_suite.iter().any(serves), "{name} serves none");
            // Only this suite has servers that do not serve all its workloads.
            assert!(in_suite.iter().all(serves) || id == "hydragen", "{name}");
        }
    }
}

#[test]
fn every_long_suite_has_a_quick_run_of_the_same_shapes() {
    for id in SUITES {
        let full = suite(id);
        let mut quick = full.clone();
        let note = quick.quicken(&Changes::default());
        assert_eq!(note.is_some(), id != "tour", "{id}");
        for (full, quick) in full.measures.iter().zip(&quick.measures) {
            let [full_load, quick_load] = [full, quick].map(|one| one.load.spec(NonZeroUsize::MIN));
            assert_eq!(full_load.shape, quick_load.shape, "{id}");
            assert_eq!(full_load.connections, quick_load.connections, "{id}");
            assert!(quick_load.duration <= full_load.duration, "{id}");
            assert!(quick_load.requests <= full_load.requests, "{id}");
            assert!(quick.rounds <= full.rounds, "{id}");
            assert!(quick.rounds.get() >= 3, "{id}: too few to tell apart");
        }
    }
}

#[test]
fn httpmon_s_timeout_runs_from_the_scheduled_arrival() {
    let suite = suite("hydragen");
    let mut measures = suite.measures.iter();
    let httpmon = measures.find(|measure| measure.id.as_deref() == Some("httpmon"));
    let load = httpmon.unwrap().load.spec(NonZeroUsize::MIN);
    let limit = Seconds::from_secs(30);
    assert_eq!((load.deadline, load.timeout), (Some(limit), limit));
}

#[test]
fn every_load_in_the_guide_can_be_read() {
    #[derive(serde::Deserialize)]
    struct Example {
        load: SuiteLoad,
    }
    let guide = guide("suites.md");
    let lines = guide.lines().filter(|line| line.starts_with("load = {"));
    let shapes: Vec<&str> = lines
        .map(|line| {
            let example: Example = toml::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            example.load.spec(NonZeroUsize::MIN).shape.name()
        })
        .collect();
    for shape in ["closed", "rate", "users-closed", "users-open"] {
        assert!(shapes.contains(&shape), "no example of {shape}");
    }
}

/// What is measured here in addition to a document's rows.
const ADDED: [(&str, PublishedFigure); 3] = [
    ("datastar", PublishedFigure::RateShare),
    ("grpc", PublishedFigure::LatencyMean),
    ("hydragen", PublishedFigure::LatencyMean),
];

#[test]
fn every_row_of_a_document_has_a_server_and_every_figure_a_column() {
    for (id, tables, rows) in [
        ("zap", 2, 8),
        ("datastar", 1, 13),
        ("grpc", 1, 2),
        ("hydragen", 3, 16),
        ("franklin", 1, 3),
    ] {
        let published = published(id);
        assert_eq!(published.tables.len(), tables, "{id}");
        let all = published.tables.iter().flat_map(|table| &table.rows);
        assert_eq!(all.count(), rows, "{id}");
        for table in &published.tables {
            for column in &table.columns {
                let mut rows = table.rows.iter();
                let is_published = rows.any(|row| row.figures.contains_key(column))
                    || ADDED.contains(&(id, *column));
                assert!(is_published, "{id}: {}", column.name());
            }
        }
    }
    for id in ["tls", "tour"] {
        assert!(suite(id).published_on(NonZeroUsize::MIN).is_none(), "{id}");
    }
}

fn row<'a>(published: &'a Published, table: usize, server: &str) -> &'a PublishedRow {
    let mut rows = published.tables[table].rows.iter();
    rows.find(|row| row.server == server).unwrap()
}

/// One figure of each kind, worked out by hand from the document.
#[test]
fn published_figures_are_those_of_the_documents() {
    use PublishedFigure::*;
    let mebibytes = |count: f64| count * 1024.0 * 1024.0;
    let rates = [
        ("zig-epoll", 649_692.133),
        ("go-nethttp", 501_901.01),
        ("python-httpserver", 4_263.81),
        ("rust-threadpool", 133_726.963),
    ];
    let zap = published("zap");
    for (server, expected) in rates {
        let rates = &row(&zap, 0, server).figures[&Rate];
        assert_eq!(rates.len(), 3, "{server}");
        let mean = rates.iter().sum::<f64>() / 3.0;
        assert!((mean - expected).abs() < 0.001, "{server}: {mean}");
    }
    for (suite, table, server, figure, expected) in [
        ("zap", 0, "zig-epoll", Transfer, mebibytes(96.17)),
        ("zap", 0, "python-httpserver", Transfer, 442.6 * 1024.0),
        ("zap", 1, "python-httpserver", LatencyMax, 1.79e9),
        ("zap", 1, "zig-epoll", WithinStdev, 0.9194),
        ("datastar", 0, "zig-std", Transfer, mebibytes(5.61 * 1024.0)),
        ("datastar", 0, "rust-axum", ArtefactBytes, 1_845_936.0),
        ("hydragen", 0, "python-gunicorn", Startup, 485.8e6),
        ("hydragen", 1, "rust-tiny-http", LatencyMax, 20_077e6),
        ("hydragen", 2, "rust-tonic", TimePerRequest, 367.5e3),
        ("franklin", 0, "java-vertx", LatencyMean, 2.31e6),
        ("franklin", 0, "ruby-sinatra", Errors, 20_226.0),
    ] {
        let value = row(&published(suite), table, server).figures[&figure][0];
        let is_near = (value - expected).abs() <= expected * 1e-9;
        assert!(is_near, "{suite}, {server}: {value}, not {expected}");
    }
}

/// The document's share of bytes follows from its own figures for the logged page.
#[test]
fn the_shares_of_datastar_are_of_the_workload_that_the_suite_names() {
    use PublishedFigure::{Transfer, TransferShare};
    let datastar = published("datastar");
    let table = &datastar.tables[0];
    let of = |server: &str, workload: &str| {
        let mut rows = table.rows.iter();
        rows.find(|row| row.server == server && row.workload == workload)
    };
    let plain = table.share_of.as_deref().unwrap();
    for row in table.rows.iter().filter(|row| row.workload == "sse") {
        let whole = &of(&row.server, plain).unwrap().figures[&Transfer];
        let share = row.figures[&Transfer][0] / whole[0];
        let published = row.figures[&TransferShare][0];
        assert!((share - published).abs() < 0.006, "{}: {share}", row.name);
    }
}
