//! Servers that get faster under load: Prony warms them up until they no longer do, and keeps running those that take long.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::common::project::{Project, trials};
use crate::common::{Ended, Running, processes, run, schema};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Few connections, so that even a slow server responds often on each.
const FEW: &str = r#"
title = "A few connections"
about = "What these tests measure."
rounds = 3
servers = ["slow", "ceiling"]

[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 4, duration = "300ms", warmup = "100ms", timeout = "10s" }
"#;

/// A handler that spends `extra_s` of CPU time on a response: an expression that may contain `used`, the CPU time of
/// its process so far, and `age`, the time since its first request, in seconds. With `used`, a busy machine only makes
/// the warm-up longer.
fn handler(extra_s: &str) -> String {
    handler_from_request(1, extra_s)
}

/// A [`handler`] that spends no extra time before its `first` request, from which `age` counts.
fn handler_from_request(first: u32, extra_s: &str) -> String {
    format!(
        "    def do_GET(self):
        used = time.process_time()
        right.count = right.__dict__.get('count', 0) + 1
        if right.count < {first}:
            return super().do_GET()
        age = time.monotonic() - right.__dict__.setdefault('began', time.monotonic())
        until = time.thread_time() + {extra_s}
        while time.thread_time() < until:
            pass
        super().do_GET()"
    )
}

/// 30 ms a response at first, a seventh of that after each second of CPU time.
const WARMS_UP: &str = "0.03 * 2.7 ** (-2 * used)";
/// The most CPU time that a response of a warm one may take, in seconds.
const WARM_S: f64 = 0.008;
/// Long enough for a machine with a tenth of a CPU to spare.
const LONG: [&str; 2] = ["--warmup-limit", "60s"];

/// These tests run one at a time: side by side, each server would have too small a part of a CPU.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn project(workload: &str) -> Project {
    let project = Project::new().with(&["ceiling"]);
    project.suite("few", &FEW.replace("\"hello\"", &format!("{workload:?}")));
    project
}

/// A constant rate, so that only CPU time per response shows whether the server gets faster.
fn schedule(project: &Project, rate: &str) {
    let scheduled = format!("shape = \"rate\", rate = {rate:?}");
    project.suite("few", &FEW.replace("shape = \"closed\"", &scheduled));
}

fn measured(project: &Project, server: &str) -> Vec<Value> {
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    let trials = trials(&record, server, "measured");
    trials
        .into_iter()
        .map(|one| one["result"].clone())
        .collect()
}

/// The field of each trial's warm-up.
fn each<'a>(results: &'a [Value], field: &str) -> Vec<&'a Value> {
    results.iter().map(|one| &one["warm_up"][field]).collect()
}

/// CPU time per response while it was measured.
fn cost_s(result: &Value) -> f64 {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let load = &result["load"];
    let ok = number(&load["outcomes"]["ok"]) + number(&load["warmup"]["outcomes"]["ok"]);
    let server = &result["server"];
    (number(&server["cpu_user_s"]) + number(&server["cpu_system_s"])) / ok
}

fn run_few(project: &Project, more: &[&str]) -> Ended {
    let mut command = project.prony(&["run", "few"]);
    command.args(more);
    run(command)
}

#[test]
fn a_jit_compiled_server_is_measured_warm_and_kept() {
    let _alone = alone();
    // A workload with log lines, whose count must still be right.
    let project = project("page-log");
    project.handler("slow", &handler(WARMS_UP));
    let ended = run_few(&project, &LONG).with(0);
    let ended = ended.says("slow × page-log, round 1: took ");
    ended.says("Prony keeps it running");
    let slow = measured(&project, "slow");
    assert_eq!(slow.len(), 3);
    for result in &slow {
        assert!(cost_s(result) < WARM_S, "{} s: {result}", cost_s(result));
        assert_eq!(result["warm_up"]["still_improving"], false, "{result}");
    }
    assert_eq!(each(&slow, "process"), ["new", "kept", "kept"]);
    let found_s = slow[0]["warm_up"]["time_to_warm_s"].as_f64().unwrap();
    let searched_s = slow[0]["warm_up"]["searched_s"].as_f64().unwrap();
    // It takes at least 1.5 s of CPU time.
    assert!(
        (1.0..searched_s).contains(&found_s),
        "{found_s} of {searched_s}"
    );
    assert!(searched_s < 60.0, "up to the limit: {searched_s}");
    // Startup belongs to a process, not to a trial.
    let startups: Vec<bool> = slow.iter().map(|one| one["startup_ns"].is_u64()).collect();
    assert_eq!(startups, [true, false, false]);
}

#[test]
fn a_server_without_a_warm_up_restarts_for_each_trial() {
    let _alone = alone();
    let project = project("hello");
    // The CPU time of its responses is nearly the same on any machine.
    schedule(&project, "40/s");
    project.handler("slow", &handler("0.005"));
    run_few(&project, &["--only", "slow", "--no-ceiling"]).with(0);
    let fast = measured(&project, "slow");
    assert_eq!(each(&fast, "process"), ["new", "new", "new"]);
    assert!(fast.iter().all(|one| one["startup_ns"].is_u64()));
    let searched_s = each(&fast, "searched_s");
    assert!(searched_s[0].as_f64().unwrap() >= 2.0, "{searched_s:?}");
    assert_eq!(searched_s[1..], [0.0, 0.0]);
    assert!(fast[0]["warm_up"]["time_to_warm_s"].as_f64().unwrap() <= 1.0);
}

#[test]
fn a_server_that_keeps_getting_faster_is_marked_at_the_limit() {
    let _alone = alone();
    let project = project("hello");
    // The CPU time falls to a fifth within half a second, which a few responses show, and the limit is the earliest
    // instant at which Prony decides anything. Verification sends fewer than 20 requests, so `age` counts from the
    // start of the load, however long after verification that is.
    schedule(&project, "200/s");
    let extra_s = "0.02 * 2.7 ** (-3.2 * (max(1, age) - 1.25))";
    project.handler("slow", &handler_from_request(20, extra_s));
    let ended = run_few(&project, &["--warmup-limit", "2s", "--rounds", "2"]).with(0);
    ended
        .says("still getting faster after ")
        .says("the server may be faster than shown");
    let slow = measured(&project, "slow");
    assert_eq!(slow[0]["warm_up"]["still_improving"], true);
    assert_eq!(slow[0]["warm_up"]["time_to_warm_s"], Value::Null);
    assert_eq!(slow[0]["warm_up"]["limit_s"], 2.0);
    assert_eq!(each(&slow, "process"), ["new", "kept"]);
}

#[test]
fn a_cold_load_stays_cold_and_an_exact_warm_up_exact() {
    let _alone = alone();
    let project = project("hello");
    project.handler("slow", &handler(WARMS_UP));
    project.suite("cold", &FEW.replace("\"100ms\"", "\"0s\""));
    project
        .run(&["run", "cold", "--no-ceiling", "--only", "slow"])
        .with(0);
    let cold = measured(&project, "slow");
    assert_eq!(cold.len(), 3);
    for result in &cold {
        assert_eq!(result["warm_up"], Value::Null);
        assert!(result["startup_ns"].is_u64(), "a process for each trial");
        assert!(cost_s(result) > WARM_S, "{}", cost_s(result));
    }
    run_few(
        &project,
        &["--only", "slow", "--no-ceiling", "--warmup", "50ms"],
    )
    .with(0);
    let exact = measured(&project, "slow");
    assert_eq!(each(&exact, "searched_s"), [0.0, 0.0, 0.0]);
    assert_eq!(each(&exact, "process"), ["new", "new", "new"]);
}

#[test]
fn a_kept_server_that_ends_is_restarted_and_warmed_up() {
    let _alone = alone();
    let project = project("hello");
    // Its trials are far enough apart that it is idle for a second at least once. Then the first process ends.
    let apart = FEW
        .replace("rounds = 3", "rounds = 4")
        .replace("300ms", "1500ms");
    project.suite("few", &apart);
    let dies = "import threading
active = [0, time.time()]
def watch():
    while True:
        time.sleep(0.05)
        idle = active[0] == 0 and time.time() - active[1] > 1
        if idle and time.process_time() > 2 and not os.path.exists('died'):
            open('died', 'w').close()
            os._exit(3)
threading.Thread(target=watch, daemon=True).start()
class Changed(right.Handler):
    def do_GET(self):
        active[0] += 1
        used = time.process_time()
        until = time.thread_time() + 0.03 * 2.7 ** (-2 * used)
        while time.thread_time() < until:
            pass
        try:
            super().do_GET()
        finally:
            active[0] -= 1
            active[1] = time.time()
right.Handler = Changed
";
    project.python("slow", dies, "server");
    let ended = run_few(&project, &LONG).with(0);
    ended.says("ENDED    slow × hello: the process that was kept running ended with exit code 3");
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    let trials = record["trials"].as_array().unwrap().iter();
    let slow = trials.filter(|one| one["trial"]["server"] == "slow");
    let slow: Vec<Value> = slow.map(|one| one["result"].clone()).collect();
    assert_eq!(slow[0]["warm_up"]["process"], "new");
    let restarted = |one: &&Value| one["warm_up"]["process"] == "restarted";
    let restarted: Vec<&Value> = slow.iter().filter(restarted).collect();
    assert_eq!(restarted.len(), 1, "{:?}", each(&slow, "process"));
    assert!(restarted[0]["startup_ns"].is_u64());
    assert!(restarted[0]["warm_up"]["time_to_warm_s"].is_number());
    for result in &slow {
        assert!(cost_s(result) < WARM_S, "{} s: {result}", cost_s(result));
    }
}

#[test]
fn no_kept_server_outlives_an_interrupt_or_the_run() {
    let _alone = alone();
    for interrupted in [true, false] {
        let project = project("hello");
        let token = processes::token();
        let class = format!(
            "class Changed(right.Handler):\n{}\nright.Handler = Changed\n",
            handler(WARMS_UP)
        );
        project.python("slow", &class, &token);
        let mut command = project.prony(&["run", "few", LONG[0], LONG[1]]);
        if interrupted {
            // It must not end by itself before the signal, however slow the machine is.
            command.args(["--rounds", "100"]);
        }
        let mut running = Running::start(command);
        running.await_stderr("Prony keeps it running");
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
