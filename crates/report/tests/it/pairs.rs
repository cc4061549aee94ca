//! The matrix of pairs says exactly what the ranks say, and a large report stays small.

use crate::sample;
use crate::sample::documents::{self, Records};
use prony_model::{Run, TrialRecord, TrialResult, VerifyResult, VerifyVerdict};
use prony_present::page::{Block, Page, Section};
use prony_present::table::Table;
use prony_report::{ResultTable, RunSummary, html, page};

fn is_matrix(table: &&Table) -> bool {
    let heads = table.heads.iter().skip(1).map(|head| &head.title[..]);
    let names = table.rows.iter().map(|row| &row.cells[0].text[..]);
    table.rows.len() > 1 && heads.eq(names)
}

fn matrix(blocks: &[Block]) -> Option<&Table> {
    blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table).filter(is_matrix),
        Block::Fold(_, blocks) => matrix(blocks),
        _ => None,
    })
}

fn section<'p>(page: &'p Page, table: &ResultTable) -> &'p Section {
    let id = format!("workload-{}", table.slug);
    page.sections
        .iter()
        .find(|section| section.id == id)
        .expect("the workload's section")
}

/// The sign of each cell.
fn signs(matrix: &Table) -> Vec<Vec<char>> {
    let rows = matrix.rows.iter();
    let sign = |text: &str| text.chars().next().expect("a sign");
    rows.map(|row| row.cells[1..].iter().map(|cell| sign(&cell.text)).collect())
        .collect()
}

#[test]
fn a_row_ranks_below_those_that_are_ahead_of_it_in_the_matrix() {
    let mut told = [0; 3];
    for (run, trials) in [
        (sample::run(), sample::trials()),
        sample::noisy::noisy(),
        sample::rates::rates(),
        sample::troubles::troubles(),
        documents::zap(),
        documents::hydragen(),
    ] {
        let summary = RunSummary::of(&run, &trials);
        let page = page(&run, &summary);
        for table in &summary.tables {
            let of_one = page.sections[0].id == "pairs";
            let section = if of_one {
                &page.sections[0]
            } else {
                section(&page, table)
            };
            let Some(matrix) = matrix(&section.blocks) else {
                let ranked = |row: &&prony_report::ServerRow| match table.is_open() {
                    true => row.cpu_band.is_some(),
                    false => row.band().is_some(),
                };
                assert!(
                    table.rows.iter().filter(ranked).count() < 2,
                    "{}",
                    table.name()
                );
                continue;
            };
            let signs = signs(matrix);
            for (i, row) in matrix.rows.iter().enumerate() {
                let server = table.row(&row.cells[0].text).expect("its row");
                let band = match table.is_open() {
                    true => server.cpu_band,
                    false => server.band(),
                };
                let band = band.expect("a rank");
                let count = |sign| signs[i].iter().filter(|one| **one == sign).count();
                assert_eq!(
                    band.best,
                    1 + count('▼'),
                    "{}: {}",
                    table.name(),
                    server.server.id
                );
                assert_eq!(
                    band.worst,
                    signs.len() - count('▲'),
                    "{}: {}",
                    table.name(),
                    server.server.id
                );
                for (j, signs_there) in signs.iter().enumerate() {
                    let mirrored = match signs[i][j] {
                        '▲' => '▼',
                        '▼' => '▲',
                        other => other,
                    };
                    assert_eq!(signs_there[i], mirrored);
                    assert_eq!(signs[i][j] == ' ', i == j, "only the diagonal is blank");
                    let kind = "▲▼≈".chars().position(|sign| sign == signs[i][j]);
                    kind.into_iter().for_each(|kind| told[kind] += 1);
                }
            }
        }
    }
    assert!(
        told.iter().all(|count| *count > 3),
        "the samples have every kind: {told:?}"
    );
}

#[test]
fn servers_without_common_rounds_have_a_sign_of_their_own() {
    let mut trials = sample::trials();
    trials.retain(|record| record.trial.workload == "hello");
    trials.retain(|TrialRecord { trial, .. }| match trial.server.as_str() {
        "bun" => trial.round <= 2,
        "go-nethttp" => trial.round > 2,
        _ => true,
    });
    let run = sample::run();
    let page = page(&run, &RunSummary::of(&run, &trials));
    let pairs = &page.sections[0];
    assert_eq!(
        pairs.id, "pairs",
        "one workload: directly after the verdict"
    );
    let matrix = matrix(&pairs.blocks).expect("a matrix");
    let bun = matrix
        .rows
        .iter()
        .find(|row| row.cells[0].text == "bun")
        .unwrap();
    let missing = bun
        .cells
        .iter()
        .filter(|cell| cell.text == "–")
        .collect::<Vec<_>>();
    assert_eq!(missing.len(), 1);
    assert!(missing[0].tip.contains("fewer than two rounds"));
}

/// 30 servers besides the ceiling, 10 workloads.
fn large() -> Records {
    const SERVERS: usize = 30;
    const WORKLOADS: usize = 10;
    let (run, trials) = (sample::run(), sample::trials());
    let kinds = [
        "rust-hyper",
        "rust-axum",
        "go-nethttp",
        "bun",
        "python-httpserver",
    ];
    let of = |id: &str| {
        run.servers
            .iter()
            .find(|server| server.id == id)
            .unwrap()
            .clone()
    };
    let verified: Vec<VerifyResult> = (0..WORKLOADS)
        .map(|n| VerifyResult {
            workload: format!("workload-{n:02}"),
            verdict: VerifyVerdict::Right,
        })
        .collect();
    let copies: Vec<(String, &str)> = std::iter::once(("ceiling".to_owned(), "ceiling"))
        .chain((0..SERVERS).map(|n| (format!("server-{n:02}"), kinds[n % kinds.len()])))
        .collect();
    let servers = copies.iter().map(|(id, kind)| prony_model::ServerRecord {
        id: id.clone(),
        serves: verified.iter().map(|one| one.workload.clone()).collect(),
        verified: verified.clone(),
        ..of(kind)
    });
    let mut large = Vec::new();
    for (place, (id, kind)) in copies.iter().enumerate() {
        for one in &verified {
            for record in trials
                .iter()
                .filter(|it| it.trial.server == *kind && it.trial.workload == "hello")
            {
                let mut record = record.clone();
                record.trial.sequence = large.len() as u32;
                record.trial.server.clone_from(id);
                record.trial.workload.clone_from(&one.workload);
                if let TrialResult::Measured(measured) = &mut record.result {
                    measured.load.rate_per_s /= 1.0 + 0.01 * place as f64;
                }
                let logged = "127.0.0.1 - - \"GET /hello HTTP/1.1\" 200 5\n127.0.0.1 - - \"GET /page HTTP/1.1\" 200 5\n";
                sample::courses::add_to(&mut record, &logged.repeat(10));
                large.push(record);
            }
        }
    }
    let run = Run {
        servers: servers.collect(),
        ..run
    };
    (run, large)
}

#[test]
fn a_report_of_30_servers_and_10_workloads_is_below_2_mb() {
    let (run, trials) = large();
    let summary = RunSummary::of(&run, &trials);
    assert_eq!(summary.tables.len(), 10);
    assert!(summary.tables.iter().all(|table| table.rows.len() == 31));
    let page = html(&run, &summary);
    if let Ok(file) = std::env::var("LARGE") {
        std::fs::write(file, &page).unwrap();
    }
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let charts: usize = page
        .split("<svg class=\"chart\"")
        .skip(1)
        .map(|chart| chart.find("</svg>").expect("its end"))
        .sum();
    assert!(charts < 460_000, "{charts} bytes of charts");
    assert_eq!(page.matches("<summary>Details of ").count(), 310);
    println!("{} bytes, of charts {charts}", page.len());
}
