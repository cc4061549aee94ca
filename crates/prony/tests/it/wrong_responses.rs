//! A server that passes verification and sends wrong responses under load: it is unranked, and the run fails.

use crate::common::project::{Project, trials};
use crate::common::run;
use prony_testkit::contains;
use prony_testkit::server::{Change, Response};
use serde_json::Value;

/// Every second response is wrong, from the 60th of a process on.
pub(crate) const CHANGES: [(&str, Change); 1] = [("half-wrong", |request, response| {
    if request.number >= 60 && request.number % 2 == 1 {
        *response = Response::new(500, "text/plain", "no");
    }
})];

#[test]
fn wrong_responses_under_load_end_with_status_1() {
    let project = Project::new();
    project.server("good", "right");
    project.server("half", "half-wrong");
    project.run("verify half --workloads hello").with(0);
    let more = "--rounds 2 --requests 400 --duration 60s";
    let files = format!("{more} --junit tests.xml --markdown run.md");
    let ended = run(project.measure("good,half", "hello", &files)).with(1);

    let xml = project.read("tests.xml");
    let xml = roxmltree::Document::parse(&xml).unwrap();
    let failed = xml.descendants().find(|node| node.has_tag_name("failure"));
    let failed = failed.unwrap();
    let server = failed.parent().unwrap().attribute("classname");
    assert_eq!(server, Some("half"));
    let message = failed.attribute("message").unwrap();
    assert!(message.ends_with("wrong under load"), "{message}");
    contains(&project.read("run.md"), "half");

    let record = project.export();
    let measured = trials(&record, "half", "measured");
    assert_eq!(measured.len(), 2);
    let wrong = |trial: &Value| trial["result"]["load"]["outcomes"]["wrong_status"].as_u64();
    assert!(measured.into_iter().any(|trial| wrong(trial) > Some(0)));

    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&ended.stdout);
    let sentence = "1 of 2 servers sent wrong responses under load and is not ranked in those tables: half (hello:";
    contains(&shown, sentence);
    contains(&shown, "First wrong response of half: wrong_status");
    let mut rows = ended.stdout.lines().map(words);
    let is_first = rows.any(|row| row.starts_with("1 good "));
    assert!(is_first, "{}", ended.stdout);

    // The same server alone, and right.
    run(project.measure("good", "hello", more)).with(0);
}
