//! Suites other than the tour: quick runs, all of them at once, published figures, measures with their own
//! rounds and shapes, and servers in other folders.

use std::fs;

use crate::common::project::{Project, trials};
use crate::common::{Ended, Running};
use nix::sys::signal::Signal;
use prony_testkit::contains;
use serde_json::{Value, json};

/// A suite with a quick run, two measures and a document.
const SMALL: &str = r#"title = "A small suite"
about = "Two loads, and a document."
notes = ["It is small."]
rounds = 3
servers = ["ceiling"]
[quick]
rounds = 1
duration = "100ms"
requests = 40
[[measure]]
id = "busy"
workloads = ["hello"]
load = { shape = "closed", connections = 4, duration = "1m", warmup = "0s", timeout = "5s" }
[[measure]]
id = "users"
workloads = ["byte"]
rounds = 1
quick = { rounds = 2 }
load = { shape = "users-open", users = 4, think_time = "10ms", requests = 40000, warmup = "0s", timeout = "5s" }
[published]
document = "The document"
machine = "Its machine"
method = "Its method"
[[published.table]]
title = "Its table"
measure = "busy"
columns = ["rate"]
rows = [{ name = "First", server = "ceiling", workload = "hello", rate = [100, 200] }]
"#;

/// A suite that is already short.
const SHORT: &str = r#"title = "A short suite"
about = "One load."
rounds = 1
servers = ["ceiling"]
[[measure]]
workloads = ["page"]
load = { shape = "closed", connections = 4, duration = "50ms", warmup = "10ms", warmup_limit = "0s", timeout = "5s" }
"#;

fn project() -> Project {
    let project = Project::new().with(&["ceiling"]);
    fs::remove_file(project.path().join("suites/tour.toml")).unwrap();
    project.suite("small", SMALL);
    project.suite("short", SHORT);
    project
}

/// The trials of one workload.
fn of<'a>(record: &'a Value, workload: &str) -> Vec<&'a Value> {
    let mut measured = trials(record, "ceiling", "measured");
    measured.retain(|one| one["trial"]["workload"] == workload);
    measured
}

#[test]
fn a_quick_run_says_so_and_has_the_shapes_of_the_full_one() {
    let project = project();
    project
        .run("run small --quick")
        .with(0)
        .says("This is a quick run")
        .says("1 to 2 rounds")
        .says("busy: 1 round of 100ms (in full 3 rounds of 1m)")
        .says("users: 2 rounds of 40 requests (in full 1 round of 40000 requests)");
    let record = project.export();
    let notes = record["run"]["notes"].as_array().unwrap();
    assert_eq!(notes[0], "It is small.");
    contains(notes[1].as_str().unwrap(), "This is a quick run");
    let id = record["run"]["id"].as_str().unwrap();
    let report = project.read(&format!(".prony/runs/{id}/report.md"));
    contains(&report, "This is a quick run");

    assert_eq!(record["run"]["rounds"], 2);
    let (busy, users) = (of(&record, "hello"), of(&record, "byte"));
    assert_eq!((busy.len(), users.len()), (1, 2));
    let load = |trial: &Value| {
        let load = &trial["trial"]["load"];
        let shape = json!([load["shape"], load["connections"], load["think_time_s"]]);
        (shape, json!([load["duration_s"], load["requests"]]))
    };
    let (shape, bounds) = load(busy[0]);
    assert_eq!(shape, json!(["closed", 4, null]));
    assert_eq!(bounds, json!([0.1, null]));
    for trial in users {
        let (shape, bounds) = load(trial);
        assert_eq!(shape, json!(["users-open", 4, 0.01]));
        assert_eq!(bounds, json!([null, 40]));
        assert_eq!(trial["result"]["load"]["requests"], 40);
        assert_eq!(trial["result"]["load"]["ended"], "requests");
    }
    // The document is recorded with the load that was measured.
    let published = &record["run"]["published"];
    assert_eq!(published["document"], "The document");
    let table = &published["tables"][0];
    assert_eq!(table["title"], "Its table");
    // Each round has random arrivals of its own.
    let mut measured = busy[0]["trial"]["load"].clone();
    measured["seed"] = json!(0);
    assert_eq!(table["load"], measured);
    assert_eq!(table["rows"][0]["figures"]["rate"], json!([100.0, 200.0]));
    let serves = record["run"]["servers"][0]["serves"].as_array().unwrap();
    assert!(serves.contains(&json!("hello")));
}

#[test]
fn a_short_suite_is_not_called_quick_and_unmeasured_tables_are_left_out() {
    let project = project();
    let ended = project.run("run short --quick").with(0);
    ended.says("the suite `short` is already short: --quick changes nothing");
    assert_eq!(project.export()["run"]["notes"], json!([]));
    // A published table of another workload.
    project.run("run small --quick --workloads byte").with(0);
    assert_eq!(project.export()["run"]["published"], Value::Null);
}

#[test]
fn the_command_line_bounds_loads_of_every_shape() {
    let project = project();
    project.run("run small --rounds 1 --duration 150ms").with(0);
    let record = project.export();
    let users = of(&record, "byte")[0];
    assert_eq!(users["trial"]["load"]["duration_s"], 0.15);
    assert_eq!(users["trial"]["load"]["requests"], 40_000);
    assert_eq!(users["result"]["load"]["ended"], "duration");
    let bounded = "run small --requests 20 --rounds 1 --workloads hello";
    project.run(bounded).with(0);
    let record = project.export();
    let busy = of(&record, "hello")[0];
    assert_eq!(busy["trial"]["load"]["duration_s"], 60.0);
    assert_eq!(busy["result"]["load"]["requests"], 20);
}

/// What the summary of all suites says of one.
fn summary<'a>(ended: &'a Ended, suite: &str) -> &'a str {
    let lines = ended.lines(&format!("  {suite} "));
    lines.last().copied().unwrap_or_default()
}

#[test]
fn all_suites_run_one_after_the_other_each_with_its_report_whatever_is_wrong_with_others() {
    let project = project();
    project.suite("broken", "title = 1\n");
    project.suite("foreign", &SHORT.replace("ceiling", "celing"));
    let ended = project
        .run("run --all --quick")
        .with(1)
        .says("broken.toml:1: ")
        .says("suite 3 of 4: short")
        .says("suite 4 of 4: small")
        .says("the suite `foreign`: there is no server `celing`");
    let listed = project.run("report --list").with(0).stdout;
    let cpus = ["short", "small"].map(|suite| {
        let line = summary(&ended, suite);
        let count = ["3 trials", "1 trial"][usize::from(suite == "short")];
        contains(line, &format!("complete, {count}"));
        contains(line, " s, run ");
        let run = line.rsplit(' ').next().unwrap().trim_end_matches(')');
        contains(&listed, run);
        let folder = project.state("runs").join(run);
        assert!(folder.join("report.html").is_file(), "{line}");
        let json = project.run(&format!("export {run}")).with(0).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["run"]["cpus"].clone()
    });
    // Builds and servers of the second suite have all CPUs that the first one had.
    assert_eq!(cpus[0], cpus[1]);
    for suite in ["broken", "foreign"] {
        contains(summary(&ended, suite), "failed: ");
    }
}

#[test]
fn suites_without_the_chosen_workloads_are_left_out() {
    let project = project();
    let ended = project.run("run --all --workloads page").with(0);
    let left_out = "left out: the suite `small` has none of these workloads";
    contains(summary(&ended, "small"), left_out);
    project.check(
        "
        2 | run --all --workloads quote | these flags leave nothing to run in any suite
        2 | run --all --workloads pagge | did you mean `page`?
        2 | run short --all | --all
        ",
    );
}

#[test]
fn an_interrupt_ends_all_suites() {
    let project = project();
    let all = "run --all --duration 60s --workloads page,hello";
    let mut running = Running::start(project.prony(all));
    running.await_stderr("round 1 of 1");
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    contains(summary(&ended, "short"), "interrupted");
    let small = summary(&ended, "small");
    assert!(small.ends_with("not started"), "{}", ended.all());
}

#[test]
fn a_server_without_the_suites_workloads_is_left_out_and_suites_are_listed() {
    let project = project();
    project.command("only-hello", &["true"]);
    let all = r#"["hello", "byte", "page", "page-log", "sse", "sse-20k", "quote"]"#;
    project.edit("servers/only-hello/server.toml", all, r#"["hello"]"#);
    project.check(
        "
        0 | run short --only ceiling,only-hello | left out, because they serve none of these workloads: only-hello
        2 | run short --only only-hello | in the suite `short` these servers serve none of the workloads: only-hello
        0 | list suites | >\x20 small  A small suite (1 server: hello, byte) & >         Two loads, and a document.
        ",
    );
}

/// A suite with several requests in flight over each connection, of HTTP/1.1 and HTTP/2.
const IN_FLIGHT: &str = r#"title = "Several requests in flight"
about = "Two protocols."
rounds = 1
servers = ["ceiling"]
[[measure]]
workloads = ["hello", "hello-h2"]
load = { shape = "closed", connections = 2, streams_per_connection = 4, duration = "50ms", warmup = "10ms", warmup_limit = "0s", timeout = "5s" }
"#;

#[test]
fn requests_in_flight_are_pipelined_over_http1_and_streams_over_http2() {
    let project = project();
    project.suite("in-flight", IN_FLIGHT);
    let report = project.run("run in-flight").with(0);
    let loads = report.stdout.lines();
    let loads: Vec<&str> = loads
        .filter(|line| line.contains("2 connections, closed loop"))
        .collect();
    for words in ["pipelined 4 deep", "4 streams per connection"] {
        contains(&loads.join("\n"), words);
    }
    let record = project.export();
    for trial in record["trials"].as_array().unwrap() {
        let is_http2 = trial["trial"]["workload"] == "hello-h2";
        for load in [&trial["trial"]["load"], &trial["result"]["load"]["load"]] {
            assert_eq!(load["multiplexed"], is_http2, "{load}");
            assert_eq!(load["pipeline"], 4);
        }
    }
}
