//! What a row shows when it is opened: its course, its latencies and the last lines of its server's logs.

use crate::sample;
use crate::summary::{only, summary, tour};
use prony_model::{Protocol, TrialRecord, TrialResult};
use prony_report::{RunSummary, html};

/// The page of a run on one workload, whose trials are changed.
fn page(change: impl Fn(&mut TrialRecord)) -> String {
    let mut records = only(tour(), |trial| trial.workload == "hello");
    records.1.iter_mut().for_each(change);
    html(&records.0, &summary(&records))
}

/// What a row shows below its facts.
fn opened<'a>(page: &'a str, server: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("Details of {server}")).unwrap();
    rest.split_once("</details>").unwrap().0
}

/// The curves of an open row.
fn curves(opened: &str) -> &str {
    let (_, rest) = opened.split_once(r#"<div class="sparks">"#).unwrap();
    rest.split_once("</div>").unwrap().0
}

/// The first round is not the median one.
fn slow_first_round(record: &mut TrialRecord) {
    if let (1, TrialResult::Measured(measured)) = (record.trial.round, &mut record.result) {
        measured.load.rate_per_s /= 2.0;
    }
}

#[test]
fn a_row_shows_its_median_round_with_the_warm_up_of_an_earlier_one() {
    let page = page(|record| {
        slow_first_round(record);
        sample::courses::add_to(record, "");
    });
    let bun = opened(&page, "bun");
    assert!(bun.contains(", nearest to the median: "), "{bun}");
    let of_the_first = " of load before it, to warm up, of which 12.8 s in round 1.";
    assert!(bun.contains(of_the_first), "{bun}");
    assert!(bun.contains("Underlined: the measured 2.00 s."), "{bun}");
    assert_eq!(bun.matches("<svg").count(), 2);
    assert!(!bun.contains("Last on"), "the server wrote nothing: {bun}");
}

#[test]
fn a_single_round_is_near_no_median() {
    let (run, mut trials) = only(tour(), |trial| {
        trial.workload == "hello" && trial.round == 1
    });
    for record in &mut trials {
        sample::courses::add_to(record, "");
    }
    let page = html(&run, &RunSummary::of(&run, &trials));
    let bun = opened(&page, "bun");
    assert!(bun.contains("<figcaption>Round 1: "), "{bun}");
    assert!(bun.contains(" req/s while measured. Shaded: "), "{bun}");
}

#[test]
fn a_row_of_an_older_record_shows_only_its_latencies() {
    let page = page(|_| {});
    let bun = opened(&page, "bun");
    assert_eq!(bun.matches("<svg").count(), 1);
    for shown in [
        "Latency, all rounds: p50 ",
        ", p99.9 ",
        ", max ",
        ">p99</text>",
    ] {
        assert!(bun.contains(shown), "{shown}: {bun}");
    }
}

#[test]
fn a_row_shows_the_last_lines_of_both_logs_as_text() {
    let logged = "listening\n<script>alert('x')</script>\u{1b}[31m\n";
    let page = page(|record| {
        let last = match record.trial.round {
            sample::ROUNDS => logged,
            _ => "earlier",
        };
        sample::courses::add_to(record, last);
    });
    let bun = opened(&page, "bun");
    let shown = "listening\n&lt;script&gt;alert('x')&lt;/script&gt;";
    for log in ["output", "error"] {
        let block = format!("Last on standard {log}:</p><pre>{shown}</pre>");
        assert!(bun.contains(&block), "{bun}");
    }
    assert!(!bun.contains("earlier"), "{bun}");
}

#[test]
fn the_curves_of_a_row_are_small() {
    let page = page(|record| {
        slow_first_round(record);
        sample::courses::add_to(record, "");
    });
    for server in ["bun", "go-nethttp", "python-httpserver"] {
        let curves = curves(opened(&page, server));
        assert_eq!(curves.matches("<svg").count(), 2, "{curves}");
        // With the lines of the log, a row has at most 1600 bytes more.
        assert!(curves.len() <= 1200, "{} bytes: {curves}", curves.len());
    }
}

#[test]
fn tables_have_their_wire_as_a_facet() {
    let page = page(|record| {
        if let TrialResult::Measured(measured) = &mut record.result {
            measured.load.target.protocol = Protocol::GrpcTls;
        }
    });
    assert!(page.contains("workload=hello&amp;wire=grpc-tls"), "{page}");
}
