//! A server that passes verification and sends wrong responses under load: it is unranked, and the run fails.

use crate::common::project::{Project, trials};
use crate::common::run;
use prony_testkit::server::{Change, Response};

/// Every second response is wrong, from the 60th of a process on.
pub const CHANGES: [(&str, Change); 1] = [("half-wrong", |request, response| {
    if request.number >= 60 && request.number % 2 == 1 {
        *response = Response::new(500, "text/plain", "no");
    }
})];

#[test]
fn wrong_responses_under_load_end_with_status_1() {
    let project = Project::new();
    project.server("good", "right");
    project.server("half", "half-wrong");
    project
        .run(&["verify", "half", "--workloads", "hello"])
        .with(0);
    let more = ["--rounds", "2", "--requests", "400", "--duration", "60s"];
    let files = ["--junit", "tests.xml", "--markdown", "run.md"];
    let all = [&more[..], &files].concat();
    let ended = run(project.measure("good,half", "hello", &all)).with(1);

    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap();
    let xml = read("tests.xml");
    let xml = roxmltree::Document::parse(&xml).unwrap();
    let failed = xml.descendants().find(|node| node.has_tag_name("failure"));
    let failed = failed.unwrap();
    assert_eq!(
        failed.parent().unwrap().attribute("classname"),
        Some("half")
    );
    let message = failed.attribute("message").unwrap();
    assert!(message.ends_with("wrong under load"), "{message}");
    assert!(read("run.md").contains("half"));

    let record = project.export();
    let measured = trials(&record, "half", "measured");
    assert_eq!(measured.len(), 2);
    let wrong =
        |trial: &serde_json::Value| trial["result"]["load"]["outcomes"]["wrong_status"].as_u64();
    assert!(measured.iter().any(|trial| wrong(trial).unwrap() > 0));

    let said = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let sentence = "1 of 2 servers sent wrong responses under load and is not ranked in those tables: half (hello:";
    assert!(said.contains(sentence), "{said}");
    assert!(
        said.contains("First wrong response of half: wrong_status"),
        "{said}"
    );
    let mut rows = ended.stdout.lines().map(str::split_whitespace);
    let is_first =
        |mut row: std::str::SplitWhitespace| row.next() == Some("1") && row.next() == Some("good");
    assert!(rows.any(is_first), "{}", ended.stdout);

    // The same server alone, and right.
    run(project.measure("good", "hello", &more)).with(0);
}
