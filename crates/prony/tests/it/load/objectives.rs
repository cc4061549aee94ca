//! `--objective`: verdicts, exit statuses and reports.

use prony_testkit::contains;
use std::fs;
use std::path::Path;

use roxmltree::Document;
use serde_json::Value;

use crate::common::{Ended, run};
use crate::load::{Ceiling, load, result};

/// Runs a load of the reference server with all three files.
fn judged(folder: &Path, objectives: &[&str], urls: &[&str], status: i32) -> (Ended, Value) {
    let ceiling = Ceiling::start();
    let mut command = load(folder, &["-c2", "-t1", "-d500ms"]);
    for objective in objectives {
        command.args(["--objective", objective]);
    }
    command.args(words!(
        "--json load.json --junit load.xml --markdown load.md"
    ));
    command.args(urls.iter().map(|path| ceiling.url(path)));
    let ended = run(command).with(status);
    (ended, result(folder, "load.json"))
}

fn verdicts(result: &Value) -> Vec<&str> {
    let all = result["objectives"].as_array().unwrap().iter();
    all.map(|one| one["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_load_that_meets_its_objectives_exits_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let objectives = ["p99 < 30s, rate > 1/h", "max<=1m"];
    let (ended, result) = judged(folder.path(), &objectives, &["hello"], 0);
    let ended = ended.prints("Objectives:   ");
    assert_eq!(result["objectives"][0]["objective"], "p99<30s");
    // On a busy machine the intervals may be wide; a maximum has none.
    assert!(!verdicts(&result).contains(&"missed"), "{}", ended.stdout);
    assert_eq!(verdicts(&result)[2], "met");
    // Errors have a limit without being named.
    assert_eq!(result["objectives"][3]["objective"], "errors<0.1%");
    assert_eq!(result["timeline"]["slow"][0]["from_ns"], 30_000_000_000_u64);
    let markdown = fs::read_to_string(folder.path().join("load.md")).unwrap();
    assert!(markdown.starts_with("### Prony objectives: "), "{markdown}");
    assert!(markdown.contains(" | p99 &lt; 30s | "), "{markdown}");
}

#[test]
fn a_missed_objective_has_an_exit_status_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let objectives = ["p50 < 1ns, rate > 1000M/s", "max < 1m"];
    let (ended, result) = judged(folder.path(), &objectives, &["hello", "hello?again"], 5);
    ended
        .prints("Objectives:   2 of 4 missed")
        .prints("  missed     rate > 1000M/s: ");
    assert_eq!(verdicts(&result)[..3], ["missed", "missed", "met"]);
    let xml = fs::read_to_string(folder.path().join("load.xml")).unwrap();
    let xml = Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("tests"), Some("5"));
    assert_eq!(xml.root_element().attribute("failures"), Some("2"));
    let failed = xml
        .descendants()
        .filter(|node| node.has_tag_name("failure"));
    let failed: Vec<&str> = failed
        .filter_map(|node| node.parent()?.attribute("name"))
        .collect();
    assert_eq!(failed, ["p50 < 1ns", "rate > 1000M/s"]);
    let markdown = fs::read_to_string(folder.path().join("load.md")).unwrap();
    assert!(
        markdown.starts_with("### Prony objectives: 2 of 4 missed"),
        "{markdown}"
    );
    contains(&markdown, "| **missed** | rate &gt; 1000M/s | ");
}

#[test]
fn errors_miss_the_limit_that_nobody_named() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, result) = judged(folder.path(), &["p99<30s"], &["hello", "no-such"], 5);
    ended.prints("  missed     errors < 0.1%: ");
    assert!(result["timeline"]["errors"].is_array());
}

#[test]
fn a_load_without_an_ok_response_failed_and_missed_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, result) = judged(folder.path(), &["p99<30s"], &["no-such"], 1);
    ended.prints("p99 < 30s: no response was ok");
    assert_eq!(verdicts(&result), ["missed", "missed"]);
    let xml = fs::read_to_string(folder.path().join("load.xml")).unwrap();
    let xml = Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("failures"), Some("3"));
}

#[test]
fn without_objectives_the_reports_have_the_load_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, result) = judged(folder.path(), &[], &["hello"], 0);
    assert!(!ended.stdout.contains("Objectives"), "{}", ended.stdout);
    assert!(result.get("objectives").is_none());
    assert!(result["timeline"].get("slow").is_none());
    let xml = fs::read_to_string(folder.path().join("load.xml")).unwrap();
    let xml = Document::parse(&xml).unwrap();
    assert_eq!(xml.root_element().attribute("tests"), Some("1"));
    let markdown = fs::read_to_string(folder.path().join("load.md")).unwrap();
    assert!(markdown.starts_with("### Prony: "), "{markdown}");
}

#[test]
fn a_wrong_objective_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (objective, told) in [
        (
            "p99 < 50ms, failures < 1%",
            "`failures < 1%` (at character 13): unknown name",
        ),
        ("p99 < 50", "`50` is not a duration"),
        ("", "there is no objective"),
        ("-1", "it is not an objective"),
        ("p99<1s,p99<2s", "p99 has two limits"),
    ] {
        let arguments = ["--objective", objective, "http://127.0.0.1:9/"];
        run(load(folder.path(), &arguments))
            .with(2)
            .says("--objective: ")
            .says(told);
    }
    let capacity = words!("--find-capacity --objective p99<1s http://127.0.0.1:9/");
    run(load(folder.path(), &capacity))
        .with(2)
        .says("cannot be used with");
    let slo = ["--find-capacity", "--slo", "rate>5", "http://127.0.0.1:9/"];
    run(load(folder.path(), &slo))
        .with(2)
        .says("remove `rate>5/s`");
}
