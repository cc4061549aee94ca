//! Servers that get faster under load: Prony warms them up until they no longer do, and keeps running those that take
//! long. When a server is warm is decided by `prony_stats::Course`, whose tests take no time.

use std::fs;
use std::path::Path;
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::project::{Project, trials};
use crate::common::{Running, processes};
use nix::sys::signal::Signal;
use prony_testkit::server::{self, Change, Request};
use serde_json::Value;

pub(crate) const CHANGES: [(&str, Change); 4] = [
    ("speeds-up", |request, _| speed_up(request)),
    ("speeds-up-and-ends", |request, _| {
        static WATCH: Once = Once::new();
        speed_up(request);
        if request.number > LOADED {
            WATCH.call_once(|| drop(thread::spawn(end_while_the_other_is_loaded)));
        }
    }),
    ("says-when-it-is-under-load", |request, _| {
        if request.number > LOADED {
            fs::write(UNDER_LOAD, "").unwrap();
        }
    }),
    ("is-compiled", |request, _| {
        spend(3_000_000 / (1 + request.number as u64 / 16));
    }),
];

/// Verification and the first probes take fewer requests than this.
const LOADED: usize = 20;

/// A load gets much faster after 2.9 s, shortly before the last quarter of the longest search for the warm-up: a busy machine
/// cannot hide that, even if the server gets its first requests a second late. It takes no CPU time.
fn speed_up(request: &Request) {
    static LOADED_SINCE: OnceLock<Instant> = OnceLock::new();
    if request.number > LOADED {
        let is_fast =
            LOADED_SINCE.get_or_init(Instant::now).elapsed() > Duration::from_millis(2900);
        thread::sleep(Duration::from_millis(if is_fast { 2 } else { 150 }));
    }
}

/// Some nanoseconds of CPU time for each step.
fn spend(steps: u64) {
    for step in 0..steps {
        std::hint::black_box(step);
    }
}

/// The other server's file, seen from a server's folder.
const UNDER_LOAD: &str = "../../under-load";

/// Ends the process with exit code 3 when another server has been under load since it was started: then it is idle. It
/// does so once.
fn end_while_the_other_is_loaded() {
    while !Path::new(UNDER_LOAD).exists() {
        thread::sleep(Duration::from_millis(1));
    }
    if fs::create_dir("died").is_ok() {
        std::process::exit(3);
    }
}

/// Enough connections that a slow server responds often.
const SUITE: &str = r#"
title = "Slow servers"
about = "What these tests measure."
rounds = 3
servers = ["slow"]

[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 32, duration = "100ms", warmup = "10ms", timeout = "10s" }
"#;

/// Before it, `speeds-up` is still speeding up.
const RUN: &str = "run slow --warmup-limit 4s";

/// A project with a server `slow` and a suite for it.
fn project(change: &str, suite: &str) -> Project {
    let project = Project::new();
    project.server("slow", change);
    project.suite("slow", suite);
    project
}

fn measured(project: &Project) -> Vec<Value> {
    let record = project.export();
    let trials = trials(&record, "slow", "measured");
    trials
        .into_iter()
        .map(|one| one["result"].clone())
        .collect()
}

/// The field of each trial's warm-up.
fn each<'a>(results: &'a [Value], field: &str) -> Vec<&'a Value> {
    results.iter().map(|one| &one["warm_up"][field]).collect()
}

/// Which trials have a startup time. It belongs to a process, not to a trial.
fn startups(results: &[Value]) -> Vec<bool> {
    results
        .iter()
        .map(|one| one["startup_ns"].is_u64())
        .collect()
}

#[test]
#[ignore = "full check: the server needs seconds of CPU time to be warm"]
fn a_jit_compiled_server_is_measured_warm_and_kept() {
    // A workload with log lines, whose count must still be right.
    let suite = SUITE.replace("hello", "page-log");
    let project = project("is-compiled", &suite);
    let ended = project.run("run slow --warmup-limit 60s");
    let ended = ended.with(0).says("slow × page-log, round 1: took ");
    ended.says("Prony keeps it running");
    let slow = measured(&project);
    assert_eq!(each(&slow, "process"), ["new", "kept", "kept"]);
    assert_eq!(each(&slow, "still_improving"), [false, false, false]);
    let found_s = slow[0]["warm_up"]["time_to_warm_s"].as_f64().unwrap();
    let searched_s = slow[0]["warm_up"]["searched_s"].as_f64().unwrap();
    assert!(
        found_s > 0.0 && found_s < searched_s,
        "{found_s} of {searched_s}"
    );
    assert!(searched_s < 60.0, "up to the limit: {searched_s}");
    assert_eq!(startups(&slow), [true, false, false]);
}

#[test]
fn a_server_that_keeps_getting_faster_is_marked_at_the_limit_and_kept() {
    // A workload with log lines, whose count must still be right.
    let suite = SUITE.replace("hello", "page-log");
    let project = project("speeds-up", &suite);
    project
        .run(&format!("{RUN} --rounds 2"))
        .with(0)
        .says("still getting faster after ")
        .says("the server may be faster than shown");
    let slow = measured(&project);
    assert_eq!(slow[0]["warm_up"]["still_improving"], true);
    assert_eq!(slow[0]["warm_up"]["time_to_warm_s"], Value::Null);
    assert_eq!(slow[0]["warm_up"]["limit_s"], 4.0);
    assert_eq!(each(&slow, "process"), ["new", "kept"]);
    assert_eq!(startups(&slow), [true, false]);
}

#[test]
fn a_server_without_a_warm_up_restarts_for_each_trial() {
    // At a constant rate only CPU time per response shows whether the server gets faster, and so few responses show little.
    let suite = SUITE.replace("shape = \"closed\"", "shape = \"rate\", rate = \"40/s\"");
    let project = project("right", &suite);
    project.run("run slow --warmup-limit 400ms").with(0);
    let fast = measured(&project);
    assert_eq!(each(&fast, "process"), ["new", "new", "new"]);
    assert_eq!(startups(&fast), [true; 3]);
    let searched_s = each(&fast, "searched_s");
    assert!(searched_s[0].as_f64().unwrap() >= 0.4, "{searched_s:?}");
    assert_eq!(searched_s[1..], [0.0, 0.0]);
    assert!(fast[0]["warm_up"]["time_to_warm_s"].is_number());
    assert_eq!(each(&fast, "still_improving"), [false; 3]);
}

#[test]
fn a_cold_load_stays_cold_and_an_exact_warm_up_exact() {
    let project = project("speeds-up", SUITE);
    project.suite("cold", &SUITE.replace("\"10ms\"", "\"0s\""));
    project.run("run cold").with(0);
    let cold = measured(&project);
    assert_eq!(cold.len(), 3);
    assert!(cold.iter().all(|one| one["warm_up"].is_null()));
    assert_eq!(startups(&cold), [true; 3], "a process for each trial");

    project.run("run slow --warmup 50ms").with(0);
    let exact = measured(&project);
    assert_eq!(each(&exact, "searched_s"), [0.0, 0.0, 0.0]);
    assert_eq!(each(&exact, "process"), ["new", "new", "new"]);
}

#[test]
fn a_kept_server_that_ends_is_restarted_and_warmed_up() {
    let suite = SUITE.replace("[\"slow\"]", "[\"slow\", \"other\"]");
    let project = project("right", &suite);
    let script = format!("rm -f {UNDER_LOAD}; exec \"$0\" \"$@\"");
    project.wrapped("slow", &script, "speeds-up-and-ends", "server");
    project.server("other", "says-when-it-is-under-load");
    // At the latest in round 2, the other server is under load while the first one is kept.
    project
        .run(RUN)
        .with(0)
        .says("ENDED    slow × hello: the process that was kept running ended with exit code 3");
    // On a busy machine the trial with the new process may be a re-run.
    let record = project.export();
    let attempts = record["trials"].as_array().unwrap().iter();
    let of_slow = attempts.filter(|one| one["trial"]["server"] == "slow");
    let slow: Vec<Value> = of_slow.map(|one| one["result"].clone()).collect();
    let process = each(&slow, "process");
    assert_eq!(process[0], "new");
    let restarted = slow
        .iter()
        .filter(|one| one["warm_up"]["process"] == "restarted");
    let restarted: Vec<&Value> = restarted.collect();
    assert_eq!(restarted.len(), 1, "{process:?}");
    assert!(restarted[0]["startup_ns"].is_u64());
    let searched_s = restarted[0]["warm_up"]["searched_s"].as_f64();
    assert!(searched_s > Some(0.0), "{}", restarted[0]);
}

#[test]
fn no_kept_server_outlives_an_interrupt_or_the_run() {
    for interrupted in [true, false] {
        let project = project("right", SUITE);
        let token = processes::token();
        project.command("slow", &server::command("speeds-up", &token));
        // It must not end by itself before the signal, however slow the machine is.
        let rounds = if interrupted { "--rounds 1000" } else { "" };
        let command = project.prony(&format!("{RUN} {rounds}"));
        let mut running = Running::start(command);
        running.await_stderr("still getting faster after ");
        if interrupted {
            processes::await_any(&token);
            running.signal(Signal::SIGINT);
            running.end().with(130);
        } else {
            running.end().with(0);
        }
        processes::await_none(&token);
    }
}
