//! `prony generators`: installed tools, and scripts that misbehave.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::processes::{await_none, token, with, write_script};
use crate::common::project::{Project, trials};
use crate::common::{Ended, Running, leave_out, repository, schema, until};
use nix::sys::signal::Signal;
use prony_testkit::contains;
use prony_testkit::table::rows;
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
    write_script(&project.path().join(format!("drivers/{id}/tool")), script);
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
    project.write(&format!("drivers/{id}/driver.toml"), manifest);
}

fn generators(project: &Project, words: &str) -> Ended {
    project.run(&format!("generators --duration 1 {words}"))
}

/// The record of the tools, which is that of a run.
fn record(project: &Project) -> Value {
    schema::valid("run", &project.read("all.json"))
}

/// The tool's entry in a record, if it is installed.
fn entry<'a>(record: &'a Value, id: &str) -> Option<&'a Value> {
    let mut tools = record["run"]["servers"].as_array().unwrap().iter();
    tools.find(|tool| tool["id"] == id)
}

/// Checks that a tool, if it is installed, gave expected responses, and no others, in all rounds of a case.
fn assert_measured(record: &Value, case: &str, id: &str, rounds: usize) {
    if entry(record, id).is_none() {
        // Distributions do not package these, so they are not required; other tests read captured output of them.
        if ["ghz", "hey", "k6", "oha"].contains(&id) {
            eprintln!("LEFT OUT {id}: it is not installed");
        } else {
            leave_out(id, "it is not installed");
        }
        return;
    }
    let measured = trials(record, id, "measured").into_iter();
    let measured: Vec<&Value> = measured
        .filter(|trial| trial["trial"]["workload"] == case)
        .collect();
    assert_eq!(measured.len(), rounds, "{case}: {id}");
    for trial in measured {
        let load = &trial["result"]["load"];
        let cost = &load["generator"];
        let over = |value: &Value, least: f64| value.as_f64() > Some(least);
        assert!(
            over(&load["outcomes"]["ok"], 0.0)
                && over(&load["duration_s"], 0.5)
                && over(&load["tool"]["latency"]["mean_ns"], 0.0)
                // The kernel may count all of the CPU time in one of the two modes.
                && (over(&cost["cpu_user_s"], 0.0) || over(&cost["cpu_system_s"], 0.0)),
            "{case}: {id}: {trial}"
        );
        let outcomes = load["outcomes"].as_object().unwrap().iter();
        let errors = outcomes.filter(|(name, _)| !["ok", "unfinished"].contains(&name.as_str()));
        let errors: u64 = errors.map(|(_, count)| count.as_u64().unwrap()).sum();
        assert_eq!(errors, 0, "{case}: {id}: {trial}");
    }
}

/// These tools, if they are installed, generate the load that their drivers describe, and their output is understood.
fn are_measured(tools: &[&str], rounds: usize) {
    let project = project(tools);
    let files = "--json all.json --markdown table.md";
    let words = format!("--cases hello:4 --rounds {rounds} {files}");
    let ended = generators(&project, &words).with(0);
    let record = record(&project);
    for id in tools {
        assert_measured(&record, "hello:4", id, rounds);
    }
    let markdown = project.read("table.md");
    for text in [&ended.stdout, &markdown] {
        let plural = if rounds == 1 { "" } else { "s" };
        contains(text, "hello, 4 connections");
        contains(text, &format!("{rounds} round{plural} of 1 s"));
        contains(text, "Prony 0.");
    }
    contains(&markdown, "| generator | requests/s |");
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
    let cases = rows(
        "
        hello-tls:4 | ab h2load hey k6 oha wrk
        h2c:2x4 | h2load oha
        h2:2x4 | h2load k6 oha
        h2:1x4 | h2load hey k6 oha
        grpc:2x4 | ghz h2load k6
        grpc-tls:2x4 | ghz h2load k6
        ",
    );
    let names: Vec<&str> = cases.iter().map(|[name, _]| *name).collect();
    let words = format!("--rounds 1 --cases {} --json all.json", names.join(","));
    generators(&project, &words).with(0);
    let record = record(&project);
    for [name, able] in cases {
        let able: Vec<&str> = able.split(' ').collect();
        for id in all {
            let serves = entry(&record, id).map(|tool| &tool["serves"]);
            if let Some(serves) = serves {
                let serves = serves.as_array().unwrap().iter().any(|case| case == name);
                assert_eq!(serves, able.contains(&id), "{name}: {id}");
            }
        }
        for id in able {
            assert_measured(&record, name, id, 1);
        }
    }
}

#[test]
fn wrong_arguments_manifests_and_missing_tools_are_reported() {
    let project = project(&["prony"]);
    project.check(
        "
        2 | generators --tools prny | there is no driver `prny`; did you mean `prony`?
        2 | generators --tools prony,prony | `prony` is named twice
        2 | generators --cases hello,page,hello | `hello` is named twice
        2 | generators --cases helo:1 | there is no case `helo`
        ",
    );
    add_script(&project, "absent", "word", "true");
    fs::remove_file(project.path().join("drivers/absent/tool")).unwrap();
    project.check("1 | generators --tools absent | absent is left out, because it is not installed; to install it: write it & none of these tools is installed");
    let manifest = "title = \"x\"\nprogramm = \"y\"\n";
    project.write("drivers/absent/driver.toml", manifest);
    project.check(
        "1 | generators | absent/driver.toml:2: unknown field `programm` & did you mean `program`?",
    );
}

#[test]
fn a_tool_that_fails_is_left_out_and_the_others_are_measured() {
    let project = project(&[]);
    let fails = "echo first >&2; echo because >&2; exit 4";
    add_script(&project, "bad", "word", fails);
    add_script(&project, "good", "word", "echo 50 responses in 1s");
    generators(&project, "--rounds 2 --cases hello:2,pipelined:2")
        .with(1)
        .prints("bad: failed: it ended with exit status: 4; its last lines of output: first")
        .prints("hello, 2 connections  2 rounds")
        .says("because");
}

#[test]
fn after_an_interrupt_results_are_shown_and_no_process_is_left() {
    let (project, token) = (project(&[]), token());
    // Succeeds once. Then it waits, in round 2 or a re-run of round 1, with a child that has the token in its command line too.
    let hangs = "cd \"$(dirname \"$0\")\"
[ -e ran ] && { touch waits; sh -c 'sleep 3600; true' $1; exit; }
touch ran
echo 50 responses in 1s";
    add_script(&project, "hangs", &token, hangs);
    let words = "generators --duration 1 --rounds 2 --cases hello:2";
    let running = Running::start(project.prony(words));
    let waits = project.path().join("drivers/hangs/waits");
    until("the tool", || {
        (waits.exists() && with(&token).len() >= 2).then_some(())
    });
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    ended
        .prints("hello, 2 connections  1 round of 1 s")
        .prints("hangs");
    await_none(&token);
}

/// The driver is Prony itself, which is always installed. For `sse` the server writes log lines, so Prony compares the
/// driver's count with the server's.
#[test]
fn a_suite_is_run_with_a_driver() {
    let project = project(&["prony"]).with(&["ceiling"]);
    // Both are long enough for a response even on a busy machine.
    let load = "--rounds 1 --duration 2s --warmup 2s --driver prony";
    project
        .run(&format!(
            "run tour --only ceiling --workloads hello,sse {load}"
        ))
        .with(0)
        .says("generated the load, not Prony");
    let record = project.export();
    let measured = trials(&record, "ceiling", "measured");
    assert_eq!(measured.len(), 2, "{record}");
    for trial in measured {
        let load = &trial["result"]["load"];
        let generator = load["generator"]["loop"].as_str().unwrap();
        assert!(generator.starts_with("Prony 0."), "{generator}");
        assert!(load["latency_ns"].is_null() && load["rate_per_s"].as_f64() > Some(0.0));
        for outcomes in [&load["outcomes"], &load["warmup"]["outcomes"]] {
            assert!(outcomes["ok"].as_u64() > Some(0), "{load}");
        }
    }
    let notes = record["run"]["notes"].to_string();
    contains(&notes, "not compared during the load");
}

#[test]
fn a_load_that_a_driver_cannot_generate_is_left_out() {
    let project = project(&[]).with(&["ceiling"]);
    add_script(&project, "whole", "word", "echo 50 responses in 1s");
    let run = "run --only ceiling --workloads hello --rounds 1 --duration 50ms --driver";
    project.check(&format!(
        "
        2 | {run} whole | left out: hello, which whole cannot load: it only takes durations in whole seconds
        2 | {run} hole | there is no driver `hole`; did you mean `whole`?
        "
    ));
}
