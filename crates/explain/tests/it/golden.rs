//! Golden files of text, Markdown and the page, for explanations that together have every row, sentence and empty case.
//!
//! `cargo insta test --review -p prony-explain` shows what a change does (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-explain --test golden` accepts all of it.

use crate::sample;
use insta::{Settings, assert_snapshot};
use prony_explain::{Difference, ExplanationSummary, FlameGraphs, difference};
use prony_model::Explanation;

const FLAME: &str = r#"<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><title>main & more</title></svg>"#;

#[test]
fn three_servers_with_a_plain_workload_and_an_event_stream() {
    let explanations = sample::explanations();
    words("three", &explanations, &[80, 120]);
    let summary = ExplanationSummary::of(&explanations);
    golden(
        "three.html",
        &elements(&summary.html(&sample::header(), drawn, &[])),
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
    golden("least.html", &elements(&page));
}

#[test]
fn nothing_at_all() {
    assert_eq!(ExplanationSummary::of(&[]).text(80, false), "\n");
}

#[test]
fn the_difference_of_two_revisions() {
    let [before, after] = sample::revisions();
    let found = difference(&before, &after).unwrap();
    golden("revisions.80.txt", &found.text(80, false));
    golden(
        "revisions.colours.txt",
        &found.text(80, true).replace('\u{1b}', "␛"),
    );
    golden("revisions.md", &found.markdown());
    let both = [before.clone(), after.clone()];
    let summary = ExplanationSummary::of(&both);
    let drawn_difference: [(Difference<'_>, Option<String>); 1] = [(found, Some(FLAME.into()))];
    let page = summary.html(&sample::header(), drawn, &drawn_difference);
    golden("revisions.html", &elements(&page));
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
        golden(&format!("{name}.{width}.txt"), &text);
    }
    golden(&format!("{name}.md"), &summary.markdown());
}

fn golden(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// Splits a page into about one element per line, without its script and style, which are files of their own.
fn elements(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</script>").unwrap();
    let mut text = format!("{head}<style></style>{body}").replace("><", ">\n<");
    // Cells follow on the text of the cell before.
    for cell in ["<td", "<th", "<tr"] {
        text = text.replace(cell, &format!("\n{cell}"));
    }
    text = text.replace("\n\n", "\n");
    for inline in ["</", "<small", "<span", "<strong"] {
        text = text.replace(&format!("\n{inline}"), inline);
    }
    text
}
