//! Suites other than the tour: quick runs, all of them at once, published figures, measures with their own
//! rounds and shapes, and servers in other folders.

use std::fs;

use crate::common::Running;
use crate::common::project::{Project, trials};
use crate::common::{self, run, schema};
use nix::sys::signal::Signal;
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
    project.without_suite("tour");
    project.suite("small", SMALL);
    project.suite("short", SHORT);
    project
}

#[test]
fn a_quick_run_says_so_and_has_the_shapes_of_the_full_one() {
    let project = project();
    let ended = project.run(&["run", "small", "--quick"]).with(0);
    let ended = ended.says("This is a quick run").says("1 to 2 rounds");
    let ended = ended.says("busy: 1 round of 100ms (in full 3 rounds of 1m)");
    ended.says("users: 2 rounds of 40 requests (in full 1 round of 40000 requests)");
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    let notes = record["run"]["notes"].as_array().unwrap();
    assert_eq!(notes[0], "It is small.");
    assert!(notes[1].as_str().unwrap().contains("This is a quick run"));
    let id = record["run"]["id"].as_str().unwrap();
    let report = fs::read_to_string(project.state(&format!("runs/{id}/report.md"))).unwrap();
    assert!(report.contains("This is a quick run"), "{report}");

    assert_eq!(record["run"]["rounds"], 2);
    let measured = trials(&record, "ceiling", "measured");
    let of = |workload: &str| -> Vec<&Value> {
        let all = measured.iter().copied();
        all.filter(|one| one["trial"]["workload"] == workload)
            .collect()
    };
    let (busy, users) = (of("hello"), of("byte"));
    assert_eq!((busy.len(), users.len()), (1, 2));
    let load = &busy[0]["trial"]["load"];
    assert_eq!(
        (&load["shape"], &load["connections"]),
        (&json!("closed"), &json!(4))
    );
    assert_eq!(
        (&load["duration_s"], &load["requests"]),
        (&json!(0.1), &Value::Null)
    );
    for trial in users {
        let load = &trial["trial"]["load"];
        assert_eq!(
            (&load["shape"], &load["think_time_s"]),
            (&json!("users-open"), &json!(0.01))
        );
        assert_eq!(
            (&load["duration_s"], &load["requests"]),
            (&Value::Null, &json!(40))
        );
        assert_eq!(trial["result"]["load"]["requests"], 40);
        assert_eq!(trial["result"]["load"]["ended"], "requests");
    }
    // The document is recorded with the load that was measured.
    let published = &record["run"]["published"];
    assert_eq!(published["document"], "The document");
    let table = &published["tables"][0];
    // Each round has random arrivals of its own.
    let mut measured = busy[0]["trial"]["load"].clone();
    measured["seed"] = json!(0);
    assert_eq!(table["load"], measured);
    assert_eq!(table["rows"][0]["figures"]["rate"], json!([100.0, 200.0]));
    let serves = record["run"]["servers"][0]["serves"].as_array().unwrap();
    assert!(serves.contains(&json!("hello")));
}

#[test]
fn a_short_suite_is_not_called_quick() {
    let project = project();
    let ended = project.run(&["run", "short", "--quick"]).with(0);
    ended.says("the suite `short` is already short: --quick changes nothing");
    assert_eq!(project.export()["run"]["notes"], json!([]));
}

#[test]
fn the_command_line_bounds_loads_of_every_shape() {
    let project = project();
    let more = ["--rounds", "1", "--duration", "150ms"];
    let mut command = project.prony(&["run", "small"]);
    command.args(more);
    run(command).with(0);
    let record = project.export();
    let of_users = trials(&record, "ceiling", "measured")
        .into_iter()
        .find(|one| one["trial"]["workload"] == "byte")
        .unwrap();
    assert_eq!(of_users["trial"]["load"]["duration_s"], 0.15);
    assert_eq!(of_users["trial"]["load"]["requests"], 40_000);
    assert_eq!(of_users["result"]["load"]["ended"], "duration");
    let mut command = project.prony(&["run", "small", "--requests", "20", "--rounds", "1"]);
    command.args(["--workloads", "hello"]);
    run(command).with(0);
    let record = project.export();
    assert_eq!(
        record["run"]["published"]["tables"][0]["title"],
        "Its table"
    );
    let busy = trials(&record, "ceiling", "measured")[0];
    assert_eq!(busy["trial"]["load"]["duration_s"], 60.0);
    assert_eq!(busy["result"]["load"]["requests"], 20);
    for (option, value) in [("--requests", "0"), ("--duration", "0s"), ("--rounds", "0")] {
        project.run(&["run", "small", option, value]).with(2);
    }
}

#[test]
fn all_suites_run_one_after_the_other_each_with_its_report() {
    let project = project();
    let ended = project.run(&["run", "--all", "--quick"]).with(0);
    let ended = ended
        .says("suite 1 of 2: short")
        .says("suite 2 of 2: small");
    let listed = project.run(&["report", "--list"]).with(0).stdout;
    for (suite, trials) in [("short", "1 trial"), ("small", "3 trials")] {
        let line = ended
            .lines(&format!("  {suite} "))
            .pop()
            .unwrap_or_default();
        let run = line.rsplit(' ').next().unwrap_or_default();
        let run = run.trim_end_matches(')');
        assert!(line.contains(&format!("complete, {trials}")), "{line}");
        assert!(line.contains(" s, run "), "{line}");
        assert!(listed.contains(run), "{listed}");
        let folder = project.state("runs").join(run);
        assert!(folder.join("report.html").is_file(), "{line}");
    }
    // Builds and servers of the second suite have all CPUs that the first one had.
    let cpus = |id: &str| {
        let json = project.run(&["export", id]).with(0).stdout;
        serde_json::from_str::<Value>(&json).unwrap()["run"]["cpus"].clone()
    };
    let runs: Vec<&str> = listed
        .split_whitespace()
        .filter(|word| word.contains("-s"))
        .collect();
    assert_eq!(runs.len(), 2, "{listed}");
    assert_eq!(cpus(runs[0]), cpus(runs[1]));
}

#[test]
fn a_faulty_suite_does_not_stop_the_others() {
    let project = project();
    project.suite("broken", "title = 1\n");
    project.suite("foreign", &SHORT.replace("ceiling", "celing"));
    let ended = project.run(&["run", "--all", "--quick"]).with(1);
    let ended = ended.says("broken.toml:1: ");
    let ended = ended.says("the suite `foreign`: there is no server `celing`");
    for (suite, outcome) in [
        ("broken", "failed: "),
        ("foreign", "failed: "),
        ("short", "complete, 1 trial"),
        ("small", "complete, 3 trials"),
    ] {
        let line = ended
            .lines(&format!("  {suite} "))
            .pop()
            .unwrap_or_default();
        assert!(line.contains(outcome), "{line}");
    }
}

#[test]
fn suites_without_the_chosen_workloads_are_left_out() {
    let project = project();
    let ended = project
        .run(&["run", "--all", "--workloads", "page"])
        .with(0);
    let small = ended.lines("  small").pop().unwrap_or_default();
    assert!(small.contains("left out: the suite `small` has none of these workloads"));
    let none = project
        .run(&["run", "--all", "--workloads", "quote"])
        .with(2);
    none.says("these flags leave nothing to run in any suite");
    let unknown = project
        .run(&["run", "--all", "--workloads", "pagge"])
        .with(2);
    unknown.says("did you mean `page`?");
    let both = project.run(&["run", "short", "--all"]).with(2);
    both.says("--all");
}

#[test]
fn an_interrupt_ends_all_suites() {
    let project = project();
    let mut command = project.prony(&["run", "--all", "--duration", "60s"]);
    command.args(["--workloads", "page,hello"]);
    let mut running = Running::start(command);
    running.await_stderr("round 1 of 1");
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    let line = |suite: &str| ended.lines(suite).pop().unwrap_or_default().to_owned();
    assert!(line("  short ").contains("interrupted"), "{}", ended.all());
    assert!(line("  small ").ends_with("not started"), "{}", ended.all());
}

#[test]
fn a_server_in_another_folder_joins_the_suite() {
    let project = project();
    let elsewhere = Project::new();
    elsewhere.server("my-server", "right");
    let folder = elsewhere.path().join("servers/my-server");
    let path = folder.to_str().unwrap();
    project
        .run(&["run", "short", "--server", path])
        .with(0)
        .prints("my-server");
    let record = project.export();
    for server in ["ceiling", "my-server"] {
        assert_eq!(trials(&record, server, "measured").len(), 1, "{server}");
    }
    // In addition to the named ones; a folder of the project itself is one of them.
    project.server("beside", "right");
    let here = project.path().join("servers/beside");
    let mut command = project.prony(&["run", "short", "--only", "beside", "--server", path]);
    command.args(["--server", here.to_str().unwrap()]);
    run(command).with(0);
    let record = project.export();
    let servers = record["run"]["servers"].as_array().unwrap();
    let ids: Vec<&Value> = servers.iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["beside", "my-server", "ceiling"]);

    let clash = Project::new();
    clash.server("ceiling", "right");
    let clash = clash.path().join("servers/ceiling");
    let clash = clash.to_str().unwrap();
    let ended = project.run(&["run", "short", "--server", clash]).with(2);
    let ended = ended.says("two servers would have the id `ceiling`: ");
    ended
        .says(clash)
        .says("give one of them another name, for instance --server new=");
    let nowhere = project.run(&["run", "short", "--server", "../nowhere"]);
    nowhere.with(1).says("nowhere");
}

#[test]
fn a_server_without_the_suites_workloads_is_left_out() {
    let project = project();
    let serves_hello = common::project::manifest(&["true"]).replace(
        r#"["hello", "byte", "page", "page-log", "sse", "sse-20k", "quote"]"#,
        r#"["hello"]"#,
    );
    project.manifest("only-hello", &serves_hello);
    let ended = project.run(&["run", "short", "--only", "ceiling,only-hello"]);
    ended
        .with(0)
        .says("left out, because they serve none of these workloads: only-hello");
    let ended = project
        .run(&["run", "short", "--only", "only-hello"])
        .with(2);
    ended.says("in the suite `short` these servers serve none of the workloads: only-hello");
}

#[test]
fn a_server_with_some_of_the_workloads_is_measured_in_those() {
    let project = project();
    project.server("part", "right");
    project.edit("part", "\"hello\", ", "");
    project
        .run(&["run", "small", "--quick", "--only", "ceiling,part"])
        .with(0);
    let record = project.export();
    let measured = trials(&record, "part", "measured");
    assert_eq!(measured.len(), 2);
    assert!(
        measured
            .iter()
            .all(|one| one["trial"]["workload"] == "byte")
    );
}

#[test]
fn a_published_table_without_measured_rows_is_left_out() {
    let project = project();
    project
        .run(&["run", "small", "--quick", "--workloads", "byte"])
        .with(0);
    assert_eq!(project.export()["run"]["published"], Value::Null);
}

#[test]
fn suites_are_listed_with_their_description() {
    let ended = project().run(&["list", "suites"]).with(0);
    let ended = ended.prints("  small  A small suite (1 server: hello, byte)");
    ended.prints("         Two loads, and a document.");
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
    let report = project.run(&["run", "in-flight"]).with(0);
    let line = |loop_words: &str| {
        let lines = report.stdout.lines();
        let mut lines = lines.filter(|line| line.contains("2 connections, closed loop"));
        lines.any(|line| line.contains(loop_words))
    };
    assert!(line("pipelined 4 deep"), "{}", report.all());
    assert!(line("4 streams per connection"), "{}", report.all());
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    for trial in record["trials"].as_array().unwrap() {
        let is_http2 = trial["trial"]["workload"] == "hello-h2";
        for load in [&trial["trial"]["load"], &trial["result"]["load"]["load"]] {
            assert_eq!(load["multiplexed"], is_http2, "{load}");
            assert_eq!(load["pipeline"], 4);
        }
    }
}
