//! The matrix of pairs says exactly what the ranks say, and a large report stays small.

use crate::sample;
use crate::sample::documents::{self, Records};
use crate::summary::{hello, only, summary, tour};
use prony_model::{ServerRecord, TrialRecord};
use prony_present::page::{Block, Page, Section};
use prony_present::table::Table;
use prony_report::{ResultTable, ServerRow, html, page};

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
    for records in [
        tour(),
        sample::noisy::noisy(),
        sample::rates::rates(),
        sample::troubles::troubles(),
        documents::zap(),
        documents::hydragen(),
    ] {
        let summary = summary(&records);
        let page = page(&records.0, &summary);
        for table in &summary.tables {
            let section = if page.sections[0].id == "pairs" {
                &page.sections[0]
            } else {
                section(&page, table)
            };
            let band = |row: &ServerRow| {
                if table.is_open() {
                    row.cpu_band
                } else {
                    row.band()
                }
            };
            let name = table.name();
            let Some(matrix) = matrix(&section.blocks) else {
                let ranked = table.rows.iter().filter_map(band);
                assert!(ranked.count() < 2, "{name}");
                continue;
            };
            let signs = signs(matrix);
            for (i, row) in matrix.rows.iter().enumerate() {
                let server = &row.cells[0].text;
                let band = band(table.row(server).expect("its row")).expect("a rank");
                let count = |sign| signs[i].iter().filter(|one| **one == sign).count();
                let expected = (1 + count('▼'), signs.len() - count('▲'));
                assert_eq!((band.best, band.worst), expected, "{name}: {server}");
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
    let has_every_kind = told.iter().all(|count| *count > 3);
    assert!(has_every_kind, "{told:?}");
}

#[test]
fn servers_without_common_rounds_have_a_sign_of_their_own() {
    let records = only(hello(), |trial| match trial.server.as_str() {
        "bun" => trial.round <= 2,
        "go-nethttp" => trial.round > 2,
        _ => true,
    });
    let page = page(&records.0, &summary(&records));
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
    let missing: Vec<_> = bun.cells.iter().filter(|cell| cell.text == "–").collect();
    assert_eq!(missing.len(), 1);
    assert!(missing[0].tip.contains("fewer than two rounds"));
}

/// 30 servers besides the ceiling, 10 workloads.
fn large() -> Records {
    let (run, trials) = hello();
    let kinds = [
        "rust-hyper",
        "rust-axum",
        "go-nethttp",
        "bun",
        "python-httpserver",
    ];
    let servers = (0..30).map(|n| (format!("server-{n:02}"), kinds[n % kinds.len()]));
    let servers = [("ceiling".to_owned(), "ceiling")]
        .into_iter()
        .chain(servers);
    let workloads: Vec<String> = (0..10).map(|n| format!("workload-{n:02}")).collect();
    let logged =
        "127.0.0.1 - - \"GET /hello HTTP/1.1\" 200 5\n127.0.0.1 - - \"GET /page HTTP/1.1\" 200 5\n"
            .repeat(10);
    let mut large = (run.clone(), Vec::new());
    large.0.servers.clear();
    for (place, (id, kind)) in servers.enumerate() {
        large.0.servers.push(ServerRecord {
            id: id.clone(),
            serves: workloads.clone(),
            verified: sample::right(&workloads),
            ..run.server(kind).unwrap().clone()
        });
        let own = trials.iter().filter(|record| record.trial.server == kind);
        let mut own: Vec<TrialRecord> = own.cloned().collect();
        let slower = 1.0 + 0.01 * place as f64;
        sample::each(&mut own, |trial, measured| {
            measured.load.rate_per_s /= slower;
            sample::courses::add(measured, trial.round, &logged);
        });
        for workload in &workloads {
            for mut record in own.iter().cloned() {
                record.trial.sequence = large.1.len() as u32;
                record.trial.server.clone_from(&id);
                record.trial.workload.clone_from(workload);
                large.1.push(record);
            }
        }
    }
    large
}

#[test]
fn a_report_of_30_servers_and_10_workloads_is_below_2_mb() {
    let large = large();
    let summary = summary(&large);
    assert_eq!(summary.tables.len(), 10);
    assert!(summary.tables.iter().all(|table| table.rows.len() == 31));
    let page = html(&large.0, &summary);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let charts: usize = page
        .split("<svg class=\"chart\"")
        .skip(1)
        .map(|chart| chart.find("</svg>").expect("its end"))
        .sum();
    assert!(charts < 460_000, "{charts} bytes of charts");
    assert_eq!(page.matches("<summary>Details of ").count(), 310);
}
