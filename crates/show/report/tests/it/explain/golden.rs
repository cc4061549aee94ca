//! Golden files of text, Markdown and the page, for explanations that together have every row, sentence and empty case.
//!
//! `cargo insta test --review -p prony-report` shows what a change does (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-report --test it` accepts all of it.

use crate::explain::sample;
use prony_model::Explanation;
use prony_report::explain::{ExplanationSummary, FlameGraphs, difference};
use prony_testkit::{contains, golden, page};

const FLAME: &str = r#"<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><title>main & more</title></svg>"#;

#[test]
fn three_servers_with_a_plain_workload_and_an_event_stream() {
    let explanations = sample::explanations();
    words("three", &explanations, &[80, 120]);
    let summary = ExplanationSummary::of(&explanations);
    let page = summary.html(&sample::header(), drawn, &[]);
    page::assert_says(&page, &summary.markdown());
    page::assert_has(
        &page,
        &[
            "go-nethttp, rust-hyper and python-x · Prony",
            "Flame graphs",
            "Flame graph of CPU time: go-nethttp",
            "Flame graph of waiting (off the CPU): go-nethttp",
            "Open one, click a box to zoom in, and type into its field to search for functions by name or pattern.",
            "That needs scripts.",
            "a box is a function, as wide as its share of the time, and the functions that it calls are above it.",
        ],
    );
}

#[test]
fn many_servers_are_below_each_other() {
    words("many", &sample::many(), &[80]);
}

#[test]
fn what_could_not_be_measured_and_hostile_names() {
    let explanations = sample::least();
    words("least", &explanations, &[40]);
    let summary = ExplanationSummary::of(&explanations);
    let page = summary.html(&sample::header(), |_| FlameGraphs::default(), &[]);
    page::assert_says(&page, &summary.markdown());
    page::assert_has(&page, &["none", "note", "1 round: 21.3 µs"]);
    contains(&page, "&lt;b&gt;|`x`\u{1b}[31m · Prony</title>");
}

#[test]
fn nothing_at_all() {
    assert_eq!(ExplanationSummary::of(&[]).text(80, false), "\n");
}

#[test]
fn the_difference_of_two_revisions() {
    let revisions = sample::revisions();
    let found = difference(&revisions[0], &revisions[1]).unwrap();
    golden!("revisions.80.txt", &found.text(80, false));
    let coloured = found.text(80, true).replace('\u{1b}', "␛");
    golden!("revisions.colours.txt", coloured);
    golden!("revisions.md", &found.markdown());
    let summary = ExplanationSummary::of(&revisions);
    let page = summary.html(&sample::header(), drawn, &[(found, Some(FLAME.into()))]);
    golden!("revisions.html", &page::lines(&page));
}

/// Only the first server has flame graphs.
fn drawn(of: &Explanation) -> FlameGraphs {
    match of.server.as_str() {
        "go-nethttp" => FlameGraphs {
            on_cpu: Some(FLAME.into()),
            off_cpu: Some(FLAME.into()),
        },
        _ => FlameGraphs::default(),
    }
}

fn words(name: &str, explanations: &[Explanation], widths: &[usize]) {
    let summary = ExplanationSummary::of(explanations);
    for width in widths {
        let text = summary.text(*width, false);
        for line in text.lines() {
            assert!(line.chars().count() <= *width, "{line}");
        }
        golden!(format!("{name}.{width}.txt"), &text);
    }
    golden!(format!("{name}.md"), &summary.markdown());
}
