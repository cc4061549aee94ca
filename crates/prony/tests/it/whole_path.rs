//! The whole path with real servers: built, verified, loaded, measured, compared, recorded.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::common::project::{Project, first_attempts, trials};
use crate::common::{self, leave_out, schema};
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
    let ended = project
        .run(&[
            "run",
            "tour",
            "--only",
            &servers.join(","),
            "--rounds",
            "2",
            "--duration",
            "100ms",
            "--warmup",
            "10ms",
            "--seed",
            "7",
        ])
        .with(0)
        .says("round 1 of 2")
        .says("round 2 of 2");

    let run = export(&project);
    assert_eq!(run["run"]["end"], "complete");
    assert_eq!(run["run"]["seed"], 7);
    for side in ["server", "load"] {
        let cpus = run["run"]["cpus"][side].as_array().unwrap();
        assert!(!cpus.is_empty(), "the CPUs of the {side} are not recorded");
    }
    order_is_interleaved(&run, &servers);
    for server in &servers {
        assert!(ended.stdout.contains(server), "{server}: {}", ended.stdout);
        let measured = trials(&run, server, "measured");
        assert_eq!(measured.len(), ROUNDS * WORKLOADS.len(), "{server}");
        for trial in measured {
            figures_are_sound(trial);
        }
    }
    let go = run["run"]["servers"].as_array().unwrap().iter();
    for server in go.filter(|one| one["id"] == "go-nethttp") {
        assert!(server["artefact_bytes"].as_u64().unwrap() > 100_000);
        assert!(server["version"].is_string());
    }

    let id = run["run"]["id"].as_str().unwrap();
    files_are_written(&project, id, &run, &servers);
    the_report_can_be_had_again(&project, id, &ended.stdout);
    assert_eq!(csv_lines(&project), run["trials"].as_array().unwrap().len());
}

fn export(project: &Project) -> Value {
    let json = project.run(&["export", "--format", "json"]).with(0);
    schema::run(&json.stdout)
}

/// Each round has every server with every workload once, and ends before the next.
fn order_is_interleaved(run: &Value, servers: &[&str]) {
    let all = run["trials"].as_array().unwrap();
    for (sequence, one) in all.iter().enumerate() {
        assert_eq!(one["trial"]["sequence"], sequence);
    }
    let round_of = |one: &Value| one["trial"]["round"].as_u64();
    assert!(all.is_sorted_by_key(round_of));
    let trials = first_attempts(run);
    let a_round = servers.len() * WORKLOADS.len();
    assert_eq!(trials.len(), ROUNDS * a_round);
    for (place, one) in trials.iter().enumerate() {
        assert_eq!(one["trial"]["round"], place / a_round + 1);
    }
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let order = |round: &[&Value]| -> Vec<(String, String)> {
        round
            .iter()
            .map(|one| {
                (
                    text(&one["trial"]["server"]),
                    text(&one["trial"]["workload"]),
                )
            })
            .collect()
    };
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

fn files_are_written(project: &Project, id: &str, run: &Value, servers: &[&str]) {
    let folder = project.state("runs").join(id);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let (markdown, html) = (read("report.md"), read("report.html"));
    for server in servers {
        assert!(markdown.contains(server) && html.contains(server));
    }
    assert!(html.contains("<svg"), "the page contains its charts");
    assert_eq!(&schema::run(&read("record.json")), run);
    let charts: Vec<String> = fs::read_dir(folder.join("charts"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for workload in WORKLOADS {
        for kind in ["throughput", "latency", "memory"] {
            let chart = format!("{workload}-{kind}.svg");
            assert!(charts.contains(&chart), "{chart} is none of {charts:?}");
            assert!(read(&format!("charts/{chart}")).contains("</svg>"));
        }
    }
}

fn the_report_can_be_had_again(project: &Project, id: &str, shown_first: &str) {
    let folder = project.state("runs").join(id);
    let first = fs::read_to_string(folder.join("report.md")).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let again = project.run(&["report", id]).with(0);
    // The tables follow the paths of the report and, after a run, of the record.
    let tables = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    assert_eq!(tables(&again.stdout), tables(shown_first));
    assert_eq!(
        fs::read_to_string(folder.join("report.md")).unwrap(),
        first,
        "the report from the store"
    );
    let list = project.run(&["report", "--list"]).with(0);
    let line = list.lines(id);
    assert_eq!(line.len(), 1, "{}", list.stdout);
    assert!(line[0].contains("complete"), "{}", list.stdout);

    let elsewhere = project.path().join("elsewhere");
    let out = elsewhere.to_str().unwrap();
    project.run(&["report", "--out", out]).with(0);
    assert!(elsewhere.join("report.html").is_file());
}

/// How many trials the CSV has; each line must have as many fields as the first.
fn csv_lines(project: &Project) -> usize {
    let file = project.path().join("trials.csv");
    let path = file.to_str().unwrap();
    project
        .run(&["export", "--format", "csv", "-o", path])
        .with(0);
    let text = fs::read_to_string(file).unwrap();
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
    let store = project.path().join("records/mine.sqlite");
    fs::create_dir(store.parent().unwrap()).unwrap();
    let store = store.to_str().unwrap();
    let measure = project.measure("ceiling", "hello", &["--rounds", "1", "--store", store]);
    common::run(measure).with(0).prints("records/mine.sqlite");
    assert!(!project.state("prony.sqlite").exists());

    let outside = tempfile::tempdir().unwrap();
    let mut export = common::prony(["export", "--store", store]);
    export.current_dir(&outside);
    let record = schema::run(&common::run(export).with(0).stdout);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 1);
    let mut report = common::prony(["report", "--store", store, "--out", "here"]);
    report.current_dir(&outside);
    common::run(report).with(0).prints("ceiling");
    assert!(outside.path().join("here/report.html").is_file());
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let project = Project::new().with(&["ceiling"]);
    let order = |seed: &str| {
        let more = ["--rounds", "3", "--seed", seed, "--requests", "10"];
        common::run(project.measure("ceiling", "hello,page,sse", &more)).with(0);
        let record = project.export();
        let trials = first_attempts(&record).into_iter();
        let workload = |one: &Value| one["trial"]["workload"].as_str().unwrap().to_owned();
        trials.map(workload).collect::<Vec<_>>()
    };
    let first = order("42");
    assert_eq!(first.len(), 9);
    assert_eq!(order("42"), first);
    assert!((1..8).any(|seed: u32| order(&seed.to_string()) != first));
}
