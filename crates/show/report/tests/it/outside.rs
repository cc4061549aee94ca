//! Servers that Prony did not start.

use crate::summary::{assert_flagged, changed, row, summary, tour};
use prony_model::{OutsideProcess, Run};
use prony_report::{RunSummary, markdown};
use prony_testkit::contains;

/// The sample with bun at a URL; if its processes are invisible, for this reason.
fn with_bun_outside(unmeasured: Option<&str>) -> (Run, RunSummary) {
    let mut records = changed(tour(), |trial, measured| {
        if trial.server == "bun" {
            measured.startup_ns = None;
            if unmeasured.is_some() {
                measured.server = None;
            }
        }
    });
    let mut servers = records.0.servers.iter_mut();
    servers.find(|server| server.id == "bun").unwrap().outside = Some(OutsideProcess {
        url: "http://localhost:3000".into(),
        unmeasured: unmeasured.map(str::to_owned),
    });
    let summary = summary(&records);
    (records.0, summary)
}

#[test]
fn what_differs_is_below_the_table() {
    let (run, summary) = with_bun_outside(None);
    let flag = "already ran: neither started nor pinned by Prony";
    let bun = row(&summary, "hello", "bun");
    assert_flagged(bun, flag);
    assert!(bun.figures.peak_memory_bytes.is_some());
    assert!(row(&summary, "hello", "go-nethttp").flags().is_empty());
    let report = markdown(&run, &summary);
    for words in [
        "bun already ran at http://localhost:3000: Prony did not build, start or pin it",
        "the processes that listen on its port",
    ] {
        contains(&report, words);
    }
}

#[test]
fn unknown_costs_are_empty_and_not_zero() {
    let (run, summary) = with_bun_outside(Some("it runs elsewhere"));
    let bun = row(&summary, "hello", "bun");
    assert_eq!(bun.figures.peak_memory_bytes, None);
    assert_eq!(bun.figures.costs.cpu_ns_per_request, None);
    assert_eq!(bun.figures.requests_per_cpu_s(), None);
    assert_eq!(bun.cpu_band, None);
    let report = markdown(&run, &summary);
    let why = "Its CPU time and memory are unknown: it runs elsewhere.";
    contains(&report, why);
}
