//! `prony calibrate`: the machine's limits, whatever they are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::project::Project;
use crate::common::{Running, schema, until};
use nix::sys::signal::Signal;
use serde_json::Value;

/// Checks that percentiles of durations are in order.
fn assert_ordered(percentiles: &Value) {
    let number = |name: &str| percentiles[name].as_u64();
    let (p50, max) = (number("p50").unwrap(), number("max").unwrap());
    let p99 = number("p99").unwrap_or(max);
    assert!(p50 > 0 && p50 <= p99 && p99 <= max, "{percentiles}");
    assert!(number("count").unwrap() > 0);
}

/// The processes in this folder.
fn running_in(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

/// Checks that all limits were measured.
fn assert_complete(found: &Value) {
    assert!(found["clock"]["read_ns"].as_f64().unwrap() > 0.0);
    assert_ordered(&found["wakeups"]["sleeping"]);
    assert_ordered(&found["wakeups"]["spinning"]);
    assert_ordered(&found["round_trips"]["one_cpu"]);
    let engine = &found["engine"];
    assert_ordered(&engine["latency_ns"]);
    for side in ["generator", "server"] {
        let cost = &engine[side];
        let part = |name: &str| cost[name].as_f64().unwrap();
        assert!(part("user_ns") + part("system_ns") > 0.0, "{cost}");
    }
    for way in ["sleeping", "spinning"] {
        let rates = found["schedule_lag"][way].as_array().unwrap();
        assert!(!rates.is_empty(), "{way}");
        let per_s: Vec<f64> = rates
            .iter()
            .map(|at| at["rate_per_s"].as_f64().unwrap())
            .collect();
        assert!(per_s.is_sorted() && per_s[0] == 1000.0, "{per_s:?}");
    }
}

#[test]
#[ignore = "full check: measures the whole machine"]
fn every_limit_is_measured_shown_and_written() {
    let project = Project::new();
    project
        .run("calibrate --quick --json limits.json")
        .with(0)
        .says("measuring the clock")
        .prints("What this means")
        .prints("are the machine's own")
        .prints("A request costs the generator");
    assert_complete(&schema::valid("calibrate", &project.read("limits.json")));
}

/// It takes as long as the limits are measured, about 5 s.
#[test]
fn a_shared_cpu_is_noted() {
    let cpu = prony_kernel::allowed_cpus().unwrap()[0];
    let cpus = format!("--server-cpus {cpu} --load-cpus {cpu}");
    let ended = Project::new()
        .run(&format!("calibrate --quick --json - {cpus}"))
        .with(0)
        .says("measuring the clock")
        .says("Server and generator share a CPU");
    // Only the JSON is on standard output.
    let found = schema::valid("calibrate", &ended.stdout);
    assert_complete(&found);
    assert_eq!(found["round_trips"]["two_cpus"], Value::Null);
}

#[test]
fn what_was_measured_before_a_signal_is_shown() {
    let project = Project::new();
    let command = project.prony("calibrate --quick --json limits.json");
    let mut running = Running::start(command);
    running.await_stderr("measuring the schedule lag");
    running.signal(Signal::SIGINT);
    running.end().with(130).prints("What this means");
    let found = schema::valid("calibrate", &project.read("limits.json"));
    assert!(found["engine"].is_object());
    // Servers run in the project's folder.
    let folder = project.path().canonicalize().unwrap();
    until("the end of every server", || {
        running_in(&folder).is_empty().then_some(())
    });
}
