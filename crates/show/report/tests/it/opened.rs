//! What a row shows when it is opened: its course, its latencies and the last lines of its server's logs.

use crate::sample::{self, courses};
use crate::summary::{changed, hello, only, summary};
use prony_model::{Measurement, Protocol, Trial};
use prony_report::html;
use prony_testkit::{contains, lacks};

/// The page of a run on one workload, whose measurements are changed.
fn page(change: impl FnMut(&Trial, &mut Measurement)) -> String {
    let records = changed(hello(), change);
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

#[test]
fn a_row_shows_its_median_round_with_the_warm_up_of_an_earlier_one_in_few_bytes() {
    let page = page(|trial, measured| {
        if trial.round == 1 {
            measured.load.rate_per_s /= 2.0;
        }
        courses::add(measured, trial.round, "");
    });
    let bun = opened(&page, "bun");
    contains(bun, ", nearest to the median: ");
    contains(bun, " to warm up, of which 12.8 s in round 1.");
    contains(bun, "Underlined: the measured 2.00 s.");
    lacks(bun, "Last on"); // The server wrote nothing.
    for server in ["bun", "go-nethttp", "python-httpserver"] {
        let curves = curves(opened(&page, server));
        assert_eq!(curves.matches("<svg").count(), 2, "{curves}");
        // With the lines of the log, a row has at most 1600 bytes more.
        assert!(curves.len() <= 1200, "{} bytes: {curves}", curves.len());
    }
}

#[test]
fn a_single_round_is_near_no_median() {
    let first = only(hello(), |trial| trial.round == 1);
    let first = changed(first, |_, measured| courses::add(measured, 1, ""));
    let page = html(&first.0, &summary(&first));
    let bun = opened(&page, "bun");
    contains(bun, "<figcaption>Round 1: ");
    contains(bun, " req/s while measured. Shaded: ");
}

#[test]
fn a_row_of_an_older_record_shows_only_its_latencies() {
    let page = page(|_, _| {});
    let bun = opened(&page, "bun");
    assert_eq!(bun.matches("<svg").count(), 1);
    for shown in [
        "Latency, all rounds: p50 ",
        ", p99.9 ",
        ", max ",
        ">p99</text>",
    ] {
        contains(bun, shown);
    }
}

#[test]
fn a_row_shows_the_last_lines_of_both_logs_as_text() {
    let logged = "listening\n<script>alert('x')</script>\u{1b}[31m\n";
    let page = page(|trial, measured| {
        let is_last = trial.round == sample::ROUNDS;
        let logged = if is_last { logged } else { "earlier" };
        courses::add(measured, trial.round, logged);
    });
    let bun = opened(&page, "bun");
    let shown = "listening\n&lt;script&gt;alert('x')&lt;/script&gt;";
    for log in ["output", "error"] {
        let block = format!("Last on standard {log}:</p><pre>{shown}</pre>");
        contains(bun, &block);
    }
    lacks(bun, "earlier");
}

#[test]
fn tables_have_their_wire_as_a_facet() {
    let page = page(|_, measured| measured.load.target.protocol = Protocol::GrpcTls);
    contains(&page, "workload=hello&amp;wire=grpc-tls");
}
