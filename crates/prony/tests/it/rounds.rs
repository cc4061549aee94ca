//! The reference server in every run, the baseline, and rounds that are added as needed.

use std::thread;
use std::time::Duration;

use crate::common::Running;
use crate::common::project::{Project, first_attempts, trials};
use nix::sys::signal::Signal;
use prony_testkit::server::Change;
use serde_json::{Value, json};

pub(crate) const CHANGES: [(&str, Change); 1] = [("late", |_, _| {
    thread::sleep(Duration::from_millis(400));
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

/// A project with both, and the ceiling.
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

/// Why the rounds of the only load of a run ended.
fn end_of(record: &Value) -> &Value {
    let ends = record["run"]["adaptive"]["ends"].as_array().unwrap();
    assert_eq!(ends.len(), 1, "{ends:?}");
    &ends[0]
}

#[test]
fn the_ceiling_is_measured_if_it_serves_a_workload_and_is_not_left_out() {
    let project = project();
    let ended = project.run("run two --baseline other").with(0);
    ended
        .says("measured as well: the ceiling")
        .says("--no-ceiling");
    let record = project.export();
    assert_eq!(ids(&record), ["one", "other", "ceiling"]);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 1);
    assert_eq!(record["run"]["baseline"], "other");

    // The suite's other server is left out, the ceiling is not.
    project.run("run two --only one").with(0);
    let record = project.export();
    assert_eq!(ids(&record), ["one", "ceiling"]);
    assert_eq!(record["run"]["baseline"], Value::Null);

    project.run("run two --no-ceiling").with(0).lacks("ceiling");
    assert_eq!(ids(&project.export()), ["one", "other"]);

    // The ceiling alone is not a reason to run a suite.
    project.edit("servers/one/server.toml", "\"hello\", ", "");
    let idle = project.run("run two --only one").with(2);
    idle.says("these servers serve none of the workloads: one");
}

#[test]
fn a_server_slower_than_the_load_is_measured_in_a_project_without_a_ceiling() {
    let project = Project::new();
    // Like a server with hardly any CPU time: its first response comes after the 50 ms.
    project.server("one", "late");
    project.server("other", "right");
    project.suite("two", TWO);
    project.run("run two").with(0);
    let record = project.export();
    assert_eq!(ids(&record), ["one", "other"]);
    let slow = trials(&record, "one", "measured");
    assert_eq!(slow.len(), 1, "{record}");
    let outcomes = &slow[0]["result"]["load"]["outcomes"];
    assert!(outcomes["ok"].as_u64() >= Some(2), "{outcomes}");
}

#[test]
fn rounds_are_added_up_to_the_maximum_if_no_interval_is_narrow_enough() {
    let project = project();
    project
        .run("run two --precision 0.001% --rounds 6 --only one")
        .with(0)
        .says("until every comparison is within ±0.001 %")
        .says("round 1 (target ±0.001 %), up to ")
        .says(" so far, target ±0.001 %), up to ");
    let record = project.export();
    let (run, end) = (&record["run"], end_of(&record));
    assert_eq!(run["rounds"], 6);
    assert_eq!(run["end"], "complete");
    assert_eq!(run["adaptive"]["precision"], 0.00001);
    assert_eq!(run["adaptive"]["budget_s"], 1800.0);
    let found = [&end["workload"], &end["rounds"], &end["reason"]];
    assert_eq!(found, [&json!("hello"), &json!(6), &json!("most-rounds")]);
    assert!(end["widest"].as_f64() > Some(0.00001), "{end}");
    assert_eq!(first_attempts(&record).len(), 12);
}

#[test]
fn a_budget_that_is_spent_ends_the_rounds() {
    let project = project();
    project
        .run("run two --precision 0.001% --budget 1ms --only one")
        .with(0);
    let record = project.export();
    let end = end_of(&record);
    assert_eq!(end["reason"], "budget");
    // The least number of rounds runs nevertheless.
    let rounds = end["rounds"].as_u64().unwrap();
    assert!(rounds >= 2, "{end}");
    assert_eq!(first_attempts(&record).len() as u64, 2 * rounds);
}

#[test]
fn a_suite_may_have_a_precision_itself() {
    let project = project();
    let precise = "rounds = 1\nprecision = \"50%\"\nbudget = \"1m\"";
    project.edit("suites/two.toml", "rounds = 1", precise);
    project.run("run two --rounds 7").with(0);
    let record = project.export();
    let adaptive = &record["run"]["adaptive"];
    assert_eq!([&adaptive["precision"], &adaptive["budget_s"]], [0.5, 60.0]);
    let rounds = end_of(&record)["rounds"].as_u64().unwrap();
    assert!((2..=7).contains(&rounds), "{adaptive}");
    assert_eq!(record["run"]["notes"], json!([]), "nothing was changed");
}

#[test]
fn wrong_baselines_precisions_and_budgets_are_reported() {
    let project = project();
    project.check(
        "
        2 | run two --baseline othre | did you mean `other`?
        2 | run two --baseline ceiling --no-ceiling | the baseline `ceiling` is not among the servers of this run of `two`: one, other
        2 | run two --baseline other --only one | run of `two`: one, ceiling
        2 | run two --budget 10m | add --precision, for instance --precision 3%
        2 | run two --precision 3 | write one in percent, for instance 3%
        2 | run two --precision 0% | more than 0%
        2 | run two --precision 3% --rounds 201 | there can be at most 200 rounds
        ",
    );
    assert!(!project.state("prony.sqlite").exists(), "nothing was begun");
}

#[test]
fn an_interrupted_run_records_its_rounds() {
    let project = project();
    let words = "run two --precision 0.001% --only one";
    let mut running = Running::start(project.prony(words));
    running.await_stderr("round 3 (");
    running.signal(Signal::SIGINT);
    running.end().with(130);
    let record = project.export();
    assert_eq!(record["run"]["end"], "interrupted");
    let end = end_of(&record);
    assert_eq!(end["reason"], "interrupted");
    assert!(end["rounds"].as_u64() >= Some(2), "{end}");
    assert!(first_attempts(&record).len() >= 4);
}
