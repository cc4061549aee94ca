//! `prony generators`: installed tools, and scripts that misbehave.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::common::processes::{await_none, token, with};
use crate::common::project::{Project, trials};
use crate::common::{self, Running, leave_out, repository, until};
use nix::sys::signal::Signal;
use serde_json::Value;

/// A project with these drivers of the repository.
fn project(drivers: &[&str]) -> Project {
    let project = Project::new();
    let folder = project.path().join("drivers");
    fs::create_dir(&folder).unwrap();
    let repository = repository().canonicalize().unwrap();
    for id in drivers {
        symlink(repository.join("drivers").join(id), folder.join(id)).unwrap();
    }
    project
}

/// Adds a driver whose tool is a shell script; `argument` is in the tool's command line, so that a test can find it.
fn add_script(project: &Project, id: &str, argument: &str, script: &str) {
    let folder = project.path().join("drivers").join(id);
    fs::create_dir(&folder).unwrap();
    let program = folder.join("tool");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let manifest = format!(
        r#"title = "{id}"
program = "{{driver}}/tool"
install = "write it"

[arguments]
before = ["{argument}"]
closed = []
duration = ["{{seconds}}"]

[output]
format = "text"
ok = {{ pattern = '(\d+) responses' }}
duration = {{ pattern = 'in (\S+)', unit = "written" }}
"#
    );
    fs::write(folder.join("driver.toml"), manifest).unwrap();
}

const SHORT: [&str; 4] = ["--duration", "1", "--rounds", "2"];

fn generators<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["generators"][..], &SHORT, arguments].concat()
}

fn run(project: &Project, arguments: &[&str]) -> common::Ended {
    project.run(&generators(arguments))
}

/// Checks that a tool, if it is installed, gave expected responses, and no others, in all rounds of a case.
fn assert_measured(case: &Value, id: &str, rounds: usize) {
    let name = &case["name"];
    let tools = case["tools"].as_array().unwrap();
    let Some(tool) = tools.iter().find(|tool| tool["tool"] == id) else {
        // Distributions do not package these, so they are not required; other tests read captured output of them.
        match ["ghz", "hey", "k6", "oha"].contains(&id) {
            true => eprintln!("LEFT OUT {id}: it is not installed"),
            false => leave_out(id, "it is not installed"),
        }
        return;
    };
    assert!(tool["cannot"].is_null(), "{name}: {tool}");
    let measured = tool["rounds"].as_array().unwrap();
    assert_eq!(measured.len(), rounds, "{name}: {id}");
    for round in measured {
        let reported = &round["reported"];
        assert!(reported["ok"].as_u64() > Some(0), "{name}: {id}: {round}");
        assert!(
            reported["duration_s"].as_f64() > Some(0.5),
            "{name}: {id}: {round}"
        );
        assert!(
            reported["latency"]["mean_ns"].as_f64() > Some(0.0),
            "{name}: {id}: {round}"
        );
        // The kernel may count all of the CPU time in one of the two modes.
        let cpu_s = |mode: &str| round["usage"][mode].as_f64().unwrap();
        assert!(
            cpu_s("cpu_user_s") + cpu_s("cpu_system_s") > 0.0,
            "{name}: {id}: {round}"
        );
        let errors = reported["errors"].as_object().unwrap().values();
        let errors: u64 = errors.map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(
            (errors, reported["wrong_status"].as_u64().unwrap_or(0)),
            (0, 0),
            "{name}: {id}: {round}"
        );
    }
}

/// These tools, if they are installed, generate the load that their drivers describe, and their output is understood.
fn are_measured(tools: &[&str], rounds: usize) {
    let project = project(tools);
    let file = |name: &str| project.path().join(name).to_str().unwrap().to_owned();
    let (json, markdown) = (file("all.json"), file("table.md"));
    let count = rounds.to_string();
    let words = ["generators", "--duration", "1", "--cases", "hello:4"];
    let files = ["--rounds", &count, "--json", &json, "--markdown", &markdown];
    let ended = project.run(&[&words[..], &files].concat()).with(0);
    let document: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let hello = &document["cases"][0];
    for id in tools {
        assert_measured(hello, id, rounds);
    }
    let markdown = fs::read_to_string(markdown).unwrap();
    for text in [&ended.stdout, &markdown] {
        let plural = if rounds == 1 { "" } else { "s" };
        let case = format!("hello, 4 connections; {rounds} round{plural} of 1 s");
        assert!(text.contains(&case), "{text}");
        assert!(text.contains("Prony 0."), "{text}");
    }
    assert!(
        markdown.contains("| generator | requests/s |"),
        "{markdown}"
    );
    // The log of the reference server is removed when the server ends.
    assert!(!project.state("runs/generators/reference.log").exists());
}

#[test]
fn prony_is_measured_as_other_tools_are() {
    are_measured(&["prony"], 1);
}

#[test]
#[ignore = "full check: each tool takes whole seconds"]
fn every_installed_tool_is_measured() {
    are_measured(&["ab", "h2load", "hey", "k6", "oha", "prony", "wrk"], 2);
}

/// Over TLS, HTTP/2 and gRPC, against the reference server; every other tool says that it does not support the protocol.
#[test]
#[ignore = "full check: each tool takes whole seconds"]
fn every_installed_tool_is_measured_over_tls_http2_and_grpc() {
    let all = ["ab", "ghz", "h2load", "hey", "k6", "oha", "wrk"];
    let project = project(&all);
    let json = project.path().join("all.json");
    let cases: [(&str, &[&str]); 6] = [
        ("hello-tls:4", &["ab", "h2load", "hey", "k6", "oha", "wrk"]),
        ("h2c:2x4", &["h2load", "oha"]),
        ("h2:2x4", &["h2load", "k6", "oha"]),
        ("h2:1x4", &["h2load", "hey", "k6", "oha"]),
        ("grpc:2x4", &["ghz", "h2load", "k6"]),
        ("grpc-tls:2x4", &["ghz", "h2load", "k6"]),
    ];
    let names = cases.map(|(name, _)| name).join(",");
    let file = json.to_str().unwrap();
    let arguments = ["generators", "--duration", "1", "--rounds", "1"];
    let arguments = [&arguments[..], &["--cases", &names, "--json", file]].concat();
    project.run(&arguments).with(0);
    let text = fs::read_to_string(json).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    for (number, (_, able)) in cases.iter().enumerate() {
        let case = &document["cases"][number];
        for id in *able {
            assert_measured(case, id, 1);
        }
        for tool in case["tools"].as_array().unwrap() {
            let id = tool["tool"].as_str().unwrap();
            let cannot = tool["cannot"].as_str().unwrap_or_default();
            assert_eq!(
                cannot.is_empty(),
                able.contains(&id),
                "{}: {tool}",
                case["name"]
            );
        }
    }
}

#[test]
fn wrong_arguments_manifests_and_missing_tools_are_reported() {
    let project = project(&["prony"]);
    run(&project, &["--tools", "prny"])
        .with(2)
        .says("there is no driver `prny`; did you mean `prony`?");
    run(&project, &["--tools", "prony,prony"])
        .with(2)
        .says("`prony` is named twice");
    run(&project, &["--cases", "helo:1"])
        .with(2)
        .says("there is no case `helo`");
    run(&project, &["--freeze", "2s/1s"])
        .with(2)
        .says("a freeze must be longer than 0");
    add_script(&project, "absent", "word", "true");
    fs::remove_file(project.path().join("drivers/absent/tool")).unwrap();
    run(&project, &["--tools", "absent"])
        .with(1)
        .says("absent is left out, because it is not installed; to install it: write it")
        .says("none of these tools is installed");
    let manifest = project.path().join("drivers/absent/driver.toml");
    fs::write(manifest, "title = \"x\"\nprogramm = \"y\"\n").unwrap();
    run(&project, &[])
        .with(1)
        .says("absent/driver.toml:2: unknown field `programm`")
        .says("did you mean `program`?");
}

#[test]
fn a_tool_that_fails_is_left_out_and_the_others_are_measured() {
    let project = project(&[]);
    add_script(
        &project,
        "bad",
        "word",
        "echo first >&2; echo because >&2; exit 4",
    );
    add_script(&project, "good", "word", "echo 50 responses in 1s");
    let ended = run(&project, &["--cases", "hello:2,pipelined:2"]).with(1);
    ended
        .prints("bad: failed: it ended with exit status: 4; its last lines of output: first")
        .prints("hello, 2 connections; 2 rounds")
        .says("because");
}

#[test]
fn after_an_interrupt_results_are_shown_and_no_process_is_left() {
    let (project, token) = (project(&[]), token());
    // Succeeds in round 1. In round 2 it waits, with a child that has the token in its command line too.
    let hangs = "cd \"$(dirname \"$0\")\"
[ -e ran ] && { sh -c 'sleep 3600; true' $1; exit; }
touch ran
echo 50 responses in 1s";
    add_script(&project, "hangs", &token, hangs);
    let arguments = generators(&["--cases", "hello:2"]);
    let mut running = Running::start(project.prony(&arguments));
    running.await_stderr("round 2 of 2");
    until("the tool", || (with(&token).len() >= 2).then_some(()));
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    ended
        .prints("hello, 2 connections; 1 round of 1 s")
        .prints("hangs");
    await_none(&token);
}

/// The driver is Prony itself, which is always installed. For `sse` the server writes log lines, so Prony compares the
/// driver's count with the server's.
#[test]
fn a_suite_is_run_with_a_driver() {
    let project = project(&["prony"]).with(&["ceiling"]);
    let more = ["--rounds", "1", "--duration", "500ms", "--driver", "prony"];
    let ended = common::run(project.measure("ceiling", "hello,sse", &more)).with(0);
    let record = project.export();
    let measured = trials(&record, "ceiling", "measured");
    assert_eq!(measured.len(), 2, "{}", ended.all());
    for trial in measured {
        let load = &trial["result"]["load"];
        let generator = load["generator"]["loop"].as_str().unwrap();
        assert!(generator.starts_with("Prony 0."), "{generator}");
        assert!(load["outcomes"]["ok"].as_u64().unwrap() > 0, "{load}");
        assert!(load["latency_ns"].is_null() && load["rate_per_s"].as_f64().unwrap() > 0.0);
        assert!(
            load["warmup"]["outcomes"]["ok"].as_u64().unwrap() > 0,
            "{load}"
        );
    }
    let notes = record["run"]["notes"].to_string();
    assert!(notes.contains("not compared during the load"), "{notes}");
    ended.says("generated the load, not Prony");
}

#[test]
fn a_load_that_a_driver_cannot_generate_is_left_out() {
    let project = project(&[]).with(&["ceiling"]);
    add_script(&project, "whole", "word", "echo 50 responses in 1s");
    let short = ["--rounds", "1", "--driver", "whole"];
    common::run(project.measure("ceiling", "hello", &short))
        .with(2)
        .says("left out: hello, which whole cannot load: it only takes durations in whole seconds");
    let unknown = ["--rounds", "1", "--driver", "hole"];
    common::run(project.measure("ceiling", "hello", &unknown))
        .with(2)
        .says("there is no driver `hole`; did you mean `whole`?");
}
