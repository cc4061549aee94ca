//! `--objective`: verdicts, exit statuses and reports.

use roxmltree::Document;
use serde_json::Value;

use crate::common::Ended;
use crate::load::{Ceiling, Folder, Holds};
use prony_testkit::{contains, starts_with};

/// A load with all its reports.
struct Judged {
    ended: Ended,
    result: Value,
    markdown: String,
    /// How many tests JUnit's report has, how many of them failed, and the names of those.
    junit: (usize, usize, Vec<String>),
}

/// Runs a load of these URLs of the reference server, or of flows of two requests.
fn judged(objectives: &str, targets: &str, status: i32) -> Judged {
    let (ceiling, folder) = (Ceiling::start(), Folder::new());
    let request = format!("GET {}\nHTTP 200\n", ceiling.url("hello"));
    folder.write("flows.hurl", request.repeat(2));
    let targets = targets.split(' ').map(|target| match target {
        "flows.hurl" => target.to_owned(),
        path => ceiling.url(path),
    });
    let targets = targets.collect::<Vec<_>>().join(" ");
    let flags = "-c2 -t1 -d2s --junit load.xml --markdown load.md";
    let ended = folder.load(format!("{flags} {objectives} {targets}"));
    let ended = ended.with(status);
    let xml = folder.read("load.xml");
    let xml = Document::parse(&xml).unwrap();
    let number = |name| xml.root_element().attribute(name).unwrap().parse().unwrap();
    let failures = xml
        .descendants()
        .filter(|node| node.has_tag_name("failure"));
    let failed = failures.map(|node| node.parent().unwrap().attribute("name").unwrap().to_owned());
    Judged {
        ended,
        result: folder.result(),
        markdown: folder.read("load.md"),
        junit: (number("tests"), number("failures"), failed.collect()),
    }
}

fn verdicts(result: &Value) -> Vec<&str> {
    let all = result["objectives"].as_array().unwrap().iter();
    all.map(|one| one["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_load_that_meets_its_objectives_exits_with_0() {
    let objectives = "--objective 'p99 < 30s, rate > 1/h' --objective max<=1m";
    for (target, loaded) in [
        ("hello", "\n\nGET http://127.0.0.1:"),
        ("flows.hurl", "\n\nhttp://127.0.0.1:"),
    ] {
        let judged = judged(objectives, target, 0);
        let (markdown, verdicts) = (judged.markdown, verdicts(&judged.result));
        judged.ended.prints("Objectives:   ");
        // On a busy machine the intervals may be wide; a maximum has none.
        assert!(!verdicts.contains(&"missed"), "{verdicts:?}");
        assert_eq!(verdicts[2], "met");
        // Errors have a limit without being named.
        let objectives = &judged.result["objectives"];
        objectives.holds("0.objective=p99<30s 3.objective=errors<0.1%");
        judged.result.holds("timeline.slow.0.from_ns=30000000000");
        starts_with(&markdown, "### Prony objectives: ");
        contains(&markdown, " | p99 &lt; 30s | ");
        contains(&markdown, loaded);
        let has_flows = markdown.contains(" ok flows, ");
        assert_eq!(has_flows, target == "flows.hurl", "{markdown}");
    }
}

#[test]
fn a_missed_objective_has_an_exit_status_of_its_own() {
    let objectives = "--objective 'p50 < 1ns, rate > 1000M/s' --objective 'max < 1m'";
    for targets in ["hello hello?again", "flows.hurl"] {
        let judged = judged(objectives, targets, 5);
        let (markdown, verdicts) = (judged.markdown, verdicts(&judged.result));
        judged
            .ended
            .prints("Objectives:   2 of 4 missed")
            .prints("  missed     rate > 1000M/s: ");
        assert_eq!(verdicts[..3], ["missed", "missed", "met"]);
        let failed = ["p50 < 1ns", "rate > 1000M/s"].map(str::to_owned);
        assert_eq!(judged.junit, (5, 2, failed.into()));
        starts_with(&markdown, "### Prony objectives: 2 of 4 missed");
        contains(&markdown, "| **missed** | rate &gt; 1000M/s | ");
    }
}

#[test]
fn errors_miss_the_limit_that_nobody_named() {
    let judged = judged("--objective p99<30s", "hello no-such", 5);
    judged.ended.prints("  missed     errors < 0.1%: ");
    assert!(judged.result["timeline"]["errors"].is_array());
}

#[test]
fn a_load_without_an_ok_response_failed_and_missed_nothing_else() {
    let judged = judged("--objective p99<30s", "no-such", 1);
    judged.ended.prints("p99 < 30s: no response was ok");
    assert_eq!(verdicts(&judged.result), ["missed", "missed"]);
    assert_eq!(judged.junit.1, 3);
}

#[test]
fn without_objectives_the_reports_have_the_load_alone() {
    let judged = judged("", "hello", 0);
    judged.ended.lacks("Objectives");
    assert!(judged.result.get("objectives").is_none());
    assert!(judged.result["timeline"].get("slow").is_none());
    assert_eq!(judged.junit.0, 1);
    starts_with(&judged.markdown, "### Prony: ");
}
