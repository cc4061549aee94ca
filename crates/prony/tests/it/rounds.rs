//! The reference server in every run, the baseline, and rounds that are added as needed.

use std::thread;
use std::time::Duration;

use crate::common::project::{Project, first_attempts, trials};
use crate::common::{Running, run, schema};
use nix::sys::signal::Signal;
use prony_testkit::server::Change;
use serde_json::{Value, json};

pub const CHANGES: [(&str, Change); 1] = [("late", |_, _| {
    thread::sleep(Duration::from_millis(100));
})];

/// A suite of two servers.
const TWO: &str = r#"title = "Two servers"
about = "One load."
rounds = 1
servers = ["one", "other"]
[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 2, duration = "50ms", warmup = "10ms", warmup_limit = "0s", timeout = "5s" }
"#;

fn project() -> Project {
    let project = Project::new().with(&["ceiling"]);
    project.server("one", "right");
    project.server("other", "right");
    project.suite("two", TWO);
    project
}

fn ids(record: &Value) -> Vec<&str> {
    let servers = record["run"]["servers"].as_array().unwrap().iter();
    servers.map(|one| one["id"].as_str().unwrap()).collect()
}

#[test]
fn the_ceiling_is_measured_if_it_serves_a_workload_and_is_not_left_out() {
    let project = project();
    let ended = project.run(&["run", "two"]).with(0);
    ended
        .says("measured as well: the ceiling")
        .says("--no-ceiling");
    let record = project.export();
    assert_eq!(ids(&record), ["one", "other", "ceiling"]);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 1);
    assert_eq!(record["run"]["baseline"], Value::Null);

    // The suite's other server is left out, the ceiling is not.
    project.run(&["run", "two", "--only", "one"]).with(0);
    assert_eq!(ids(&project.export()), ["one", "ceiling"]);

    let ended = project.run(&["run", "two", "--no-ceiling"]).with(0);
    assert!(!ended.stderr.contains("ceiling"), "{}", ended.all());
    assert_eq!(ids(&project.export()), ["one", "other"]);

    // The ceiling alone is not a reason to run a suite.
    project.edit("one", "\"hello\", ", "");
    let idle = project.run(&["run", "two", "--only", "one"]).with(2);
    idle.says("these servers serve none of the workloads: one");
}

#[test]
fn a_project_without_a_ceiling_runs_without_it() {
    let project = Project::new();
    project.server("one", "right");
    project.server("other", "right");
    project.suite("two", TWO);
    project.run(&["run", "two"]).with(0);
    assert_eq!(ids(&project.export()), ["one", "other"]);
}

#[test]
fn the_baseline_is_recorded_and_must_take_part() {
    let project = project();
    project.run(&["run", "two", "--baseline", "other"]).with(0);
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    assert_eq!(record["run"]["baseline"], "other");
    for (arguments, told) in [
        (&["--baseline", "othre"][..], "did you mean `other`?"),
        (
            &["--baseline", "ceiling", "--no-ceiling"],
            "the baseline `ceiling` is not among the servers of this run of `two`: one, other",
        ),
        (
            &["--baseline", "other", "--only", "one"],
            "run of `two`: one, ceiling",
        ),
    ] {
        let mut command = project.prony(&["run", "two"]);
        command.args(arguments);
        run(command).with(2).says(told);
    }
}

#[test]
fn rounds_are_added_up_to_the_maximum_if_no_interval_is_narrow_enough() {
    let project = project();
    let mut command = project.prony(&["run", "two", "--precision", "0.001%"]);
    command.args(["--rounds", "6", "--only", "one"]);
    let ended = run(command)
        .with(0)
        .says("until every comparison is within ±0.001 %");
    let ended = ended.says("round 1 (target ±0.001 %), up to ");
    ended.says(" so far, target ±0.001 %), up to ");
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    let run = &record["run"];
    assert_eq!(
        (&run["rounds"], &run["end"]),
        (&json!(6), &json!("complete"))
    );
    let adaptive = &run["adaptive"];
    assert_eq!(adaptive["precision"], 0.00001);
    assert_eq!(adaptive["budget_s"], 1800.0);
    let ends = adaptive["ends"].as_array().unwrap();
    assert_eq!(ends.len(), 1);
    let end = &ends[0];
    assert_eq!(
        (&end["workload"], &end["rounds"]),
        (&json!("hello"), &json!(6))
    );
    assert_eq!(end["reason"], "most-rounds");
    assert!(end["widest"].as_f64().unwrap() > 0.00001, "{end}");
    assert_eq!(first_attempts(&record).len(), 12);
}

#[test]
fn a_budget_that_is_spent_ends_the_rounds() {
    let project = project();
    let mut command = project.prony(&["run", "two", "--precision", "0.001%"]);
    command.args(["--budget", "1ms", "--only", "one"]);
    run(command).with(0);
    let record = project.export();
    let end = &record["run"]["adaptive"]["ends"][0];
    assert_eq!(end["reason"], "budget");
    // The least number of rounds runs nevertheless.
    let rounds = end["rounds"].as_u64().unwrap();
    assert!(rounds >= 2, "{end}");
    assert_eq!(first_attempts(&record).len() as u64, 2 * rounds);
}

#[test]
fn a_suite_may_ask_for_precision_itself() {
    let project = project();
    let precise = TWO.replace(
        "rounds = 1",
        "rounds = 1\nprecision = \"50%\"\nbudget = \"1m\"",
    );
    project.suite("precise", &precise);
    project.run(&["run", "precise", "--rounds", "7"]).with(0);
    let record = project.export();
    let adaptive = &record["run"]["adaptive"];
    assert_eq!(
        (&adaptive["precision"], &adaptive["budget_s"]),
        (&json!(0.5), &json!(60.0))
    );
    let rounds = adaptive["ends"][0]["rounds"].as_u64().unwrap();
    assert!((2..=7).contains(&rounds), "{adaptive}");
    assert_eq!(record["run"]["notes"], json!([]), "nothing was changed");
}

#[test]
fn wrong_precisions_and_budgets_are_reported() {
    let project = project();
    for (arguments, told) in [
        (
            &["--budget", "10m"][..],
            "add --precision, for instance --precision 3%",
        ),
        (
            &["--precision", "3"],
            "write one in percent, for instance 3%",
        ),
        (&["--precision", "0%"], "more than 0%"),
        (&["--precision", "3%", "--budget", "0s"], "longer than 0"),
        (
            &["--precision", "3%", "--rounds", "201"],
            "there can be at most 200 rounds",
        ),
    ] {
        let mut command = project.prony(&["run", "two"]);
        command.args(arguments);
        run(command).with(2).says(told);
    }
    assert!(
        !project.state("prony.sqlite").exists(),
        "nothing was started"
    );
}

#[test]
fn an_interrupted_run_records_its_rounds() {
    let project = project();
    let mut command = project.prony(&["run", "two", "--precision", "0.001%"]);
    command.args(["--only", "one"]);
    let mut running = Running::start(command);
    running.await_stderr("round 3 (");
    running.signal(Signal::SIGINT);
    running.end().with(130);
    let record = schema::run(&project.run(&["export"]).with(0).stdout);
    assert_eq!(record["run"]["end"], "interrupted");
    let end = &record["run"]["adaptive"]["ends"][0];
    assert_eq!(end["reason"], "interrupted");
    assert!(end["rounds"].as_u64().unwrap() >= 2, "{end}");
    assert!(first_attempts(&record).len() >= 4);
}

#[test]
fn a_server_slower_than_the_load_is_measured() {
    let project = Project::new();
    // Like a server with hardly any CPU time: its first response comes after the 50 ms.
    project.server("one", "late");
    project.server("other", "right");
    project.suite("two", TWO);
    project.run(&["run", "two"]).with(0);
    let record = project.export();
    let slow = trials(&record, "one", "measured");
    assert_eq!(slow.len(), 1, "{record}");
    let outcomes = &slow[0]["result"]["load"]["outcomes"];
    assert!(outcomes["ok"].as_u64().unwrap() >= 2, "{outcomes}");
}
