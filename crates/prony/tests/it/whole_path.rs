//! The whole path with real servers: built, verified, loaded, measured, compared, recorded.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::common::project::{Project, first_attempts, trials};
use crate::common::{leave_out, run, schema};
use prony_testkit::contains;
use serde_json::Value;

const ROUNDS: usize = 2;
const WORKLOADS: [&str; 3] = ["hello", "page", "sse"];

/// The repository's servers that build quickly, and Go's if Go is installed.
fn servers() -> Vec<&'static str> {
    let mut servers = vec!["ceiling", "python-httpserver"];
    let go = Command::new("go").arg("version").output();
    if go.is_ok_and(|output| output.status.success()) {
        servers.push("go-nethttp");
    } else {
        leave_out("go-nethttp", "Go is not installed");
    }
    servers
}

#[test]
fn real_servers_are_measured_compared_and_recorded() {
    let servers = servers();
    let project = Project::new().with(&servers);
    let only = servers.join(",");
    let short = "--rounds 2 --duration 100ms --warmup 10ms --seed 7";
    let ended = project
        .run(&format!("run tour --only {only} {short}"))
        .with(0)
        .says("round 1 of 2")
        .says("round 2 of 2");

    let record = project.export();
    let run = &record["run"];
    assert_eq!(run["end"], "complete");
    assert_eq!(run["seed"], 7);
    for side in ["server", "load"] {
        let cpus = run["cpus"][side].as_array().unwrap();
        assert!(!cpus.is_empty(), "the CPUs of the {side} are not recorded");
    }
    order_is_interleaved(&record, &servers);
    for server in &servers {
        contains(&ended.stdout, server);
        let measured = trials(&record, server, "measured");
        assert_eq!(measured.len(), ROUNDS * WORKLOADS.len(), "{server}");
        measured.into_iter().for_each(figures_are_sound);
    }
    let go = run["servers"].as_array().unwrap().iter();
    for server in go.filter(|one| one["id"] == "go-nethttp") {
        assert!(server["artefact_bytes"].as_u64() > Some(100_000));
        assert!(server["version"].is_string());
    }

    let id = run["id"].as_str().unwrap();
    files_are_written(&project, id, &record, &servers);
    the_report_can_be_had_again(&project, id, &ended.stdout);
    let count = record["trials"].as_array().unwrap().len();
    assert_eq!(csv_lines(&project), count);
}

/// Each round has every server with every workload once, and ends before the next.
fn order_is_interleaved(record: &Value, servers: &[&str]) {
    let all = record["trials"].as_array().unwrap();
    for (sequence, one) in all.iter().enumerate() {
        assert_eq!(one["trial"]["sequence"], sequence);
    }
    assert!(all.is_sorted_by_key(|one| one["trial"]["round"].as_u64()));
    let trials = first_attempts(record);
    let a_round = servers.len() * WORKLOADS.len();
    assert_eq!(trials.len(), ROUNDS * a_round);
    for (place, one) in trials.iter().enumerate() {
        assert_eq!(one["trial"]["round"], place / a_round + 1);
    }
    let pair = |one: &&Value| {
        let trial = &one["trial"];
        (trial["server"].to_string(), trial["workload"].to_string())
    };
    let order = |round: &[&Value]| round.iter().map(pair).collect::<Vec<_>>();
    let rounds: Vec<_> = trials.chunks(a_round).map(order).collect();
    for round in &rounds {
        let different: BTreeSet<_> = round.iter().collect();
        assert_eq!(different.len(), a_round, "{round:?}");
    }
    assert_ne!(rounds[0], rounds[1], "each round has its own order");
}

fn figures_are_sound(trial: &Value) {
    let result = &trial["result"];
    let load = &result["load"];
    let outcomes = load["outcomes"].as_object().unwrap();
    let count = |value: &Value| value.as_u64().unwrap();
    let sum: u64 = outcomes.values().map(count).sum();
    assert_eq!(sum, count(&load["requests"]), "{trial}");
    assert!(count(&outcomes["ok"]) > 0, "{trial}");
    // At the end of a closed loop some are in flight.
    let errors = sum - count(&outcomes["ok"]) - count(&outcomes["unfinished"]);
    assert_eq!(errors, 0, "{trial}");
    let server = &result["server"];
    assert!(count(&server["peak_memory_bytes"]) > 100_000, "{trial}");
    let cpu = |name: &str| server[name].as_f64().unwrap();
    assert!(cpu("cpu_user_s") + cpu("cpu_system_s") > 0.0, "{trial}");
    assert!(count(&result["startup_ns"]) > 0, "{trial}");
    assert!(load["latency_ns"]["p50"].as_u64().unwrap() > 0, "{trial}");
    let logged = trial["trial"]["workload"] == "sse";
    assert_eq!(result["log_lines"].is_object(), logged, "{trial}");
    if logged {
        let lines = |name: &str| count(&result["log_lines"][name]);
        assert!(lines("least") >= count(&outcomes["ok"]), "{trial}");
        let owed = lines("least")..=lines("most");
        assert!(owed.contains(&lines("written")), "{trial}");
    }
}

fn files_are_written(project: &Project, id: &str, record: &Value, servers: &[&str]) {
    let read = |name: &str| project.read(&format!(".prony/runs/{id}/{name}"));
    let (markdown, html) = (read("report.md"), read("report.html"));
    for server in servers {
        contains(&markdown, server);
        contains(&html, server);
    }
    contains(&html, "<svg");
    assert_eq!(&schema::valid("run", &read("record.json")), record);
    for workload in WORKLOADS {
        for kind in ["throughput", "latency", "memory"] {
            contains(&read(&format!("charts/{workload}-{kind}.svg")), "</svg>");
        }
    }
}

fn the_report_can_be_had_again(project: &Project, id: &str, shown_first: &str) {
    let report = format!(".prony/runs/{id}/report.md");
    let first = project.read(&report);
    fs::remove_dir_all(project.state("runs").join(id)).unwrap();
    let again = project.run(&format!("report {id}")).with(0);
    // The tables follow the paths of the report and, after a run, of the record.
    let tables = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    assert_eq!(tables(&again.stdout), tables(shown_first));
    assert_eq!(project.read(&report), first, "the report from the store");
    let list = project.run("report --list").with(0);
    let line = list.lines(id);
    assert!(line.len() == 1 && line[0].contains("complete"), "{list:?}");
    project.run("report --out elsewhere").with(0);
    assert!(project.path().join("elsewhere/report.html").is_file());
}

/// How many trials the CSV has; each line must have as many fields as the first.
fn csv_lines(project: &Project) -> usize {
    project.run("export --format csv -o trials.csv").with(0);
    let text = project.read("trials.csv");
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    assert!(head.starts_with("run,sequence,"), "{head}");
    // No field of a good trial contains a comma.
    let fields = head.split(',').count();
    lines
        .map(|line| assert_eq!(line.split(',').count(), fields, "{line}"))
        .count()
}

#[test]
fn the_record_can_be_read_without_a_project() {
    let project = Project::new().with(&["ceiling"]);
    fs::create_dir(project.path().join("records")).unwrap();
    let store = format!("--store {}/records/mine.sqlite", project.path().display());
    let more = format!("--rounds 1 {store}");
    let measured = run(project.measure("ceiling", "hello", &more)).with(0);
    measured.prints("records/mine.sqlite");
    assert!(!project.state("prony.sqlite").exists());

    let outside = Project::empty();
    let exported = outside.run(&format!("export {store}")).with(0);
    let record = schema::valid("run", &exported.stdout);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 1);
    let reported = outside.run(&format!("report --out here {store}")).with(0);
    reported.prints("ceiling");
    assert!(outside.path().join("here/report.html").is_file());
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let project = Project::new().with(&["ceiling"]);
    let order = |seed: u32| {
        let more = format!("--rounds 3 --seed {seed} --requests 10");
        run(project.measure("ceiling", "hello,page,sse", &more)).with(0);
        let record = project.export();
        let trials = first_attempts(&record).into_iter();
        let workloads = trials.map(|one| one["trial"]["workload"].to_string());
        workloads.collect::<Vec<_>>()
    };
    let first = order(42);
    assert_eq!(first.len(), 9);
    assert_eq!(order(42), first);
    assert!((1..8).any(|seed| order(seed) != first));
}
