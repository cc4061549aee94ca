//! Servers that Prony did not start.

use crate::sample;
use prony_model::{OutsideProcess, Run, TrialRecord, TrialResult};
use prony_report::{RunSummary, markdown};

/// The sample with bun at a URL; if its processes are invisible, for this reason.
fn with_bun_outside(unmeasured: Option<&str>) -> (Run, Vec<TrialRecord>) {
    let (mut run, mut trials) = (sample::run(), sample::trials());
    let bun = run.servers.iter_mut().find(|server| server.id == "bun");
    bun.unwrap().outside = Some(OutsideProcess {
        url: "http://localhost:3000".into(),
        unmeasured: unmeasured.map(str::to_owned),
    });
    let own = trials.iter_mut().filter(|one| one.trial.server == "bun");
    for record in own {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.startup_ns = None;
            if unmeasured.is_some() {
                measured.server = None;
            }
        }
    }
    (run, trials)
}

#[test]
fn what_differs_is_below_the_table() {
    let (run, trials) = with_bun_outside(None);
    let summary = RunSummary::of(&run, &trials);
    let row = |id: &str| summary.tables[0].row(id).unwrap();
    let flag = "already ran: neither started nor pinned by Prony".to_owned();
    assert!(row("bun").flags().contains(&flag));
    assert!(!row("go-nethttp").flags().contains(&flag));
    assert!(row("bun").figures.peak_memory_bytes.is_some());
    let report = markdown(&run, &summary);
    for words in [
        "bun already ran at http://localhost:3000: Prony did not build, start or pin it",
        "the processes that listen on its port",
    ] {
        assert!(report.contains(words), "{report}");
    }
}

#[test]
fn unknown_costs_are_empty_and_not_zero() {
    let (run, trials) = with_bun_outside(Some("it runs elsewhere"));
    let summary = RunSummary::of(&run, &trials);
    let bun = summary.tables[0].row("bun").unwrap();
    assert_eq!(bun.figures.peak_memory_bytes, None);
    assert_eq!(bun.figures.costs.cpu_ns_per_request, None);
    assert_eq!(bun.figures.requests_per_cpu_s(), None);
    assert_eq!(bun.cpu_band, None);
    let report = markdown(&run, &summary);
    let why = "Its CPU time and memory are unknown: it runs elsewhere.";
    assert!(report.contains(why), "{report}");
}
