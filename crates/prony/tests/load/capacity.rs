//! `--find-capacity`, on servers whose capacity is known.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Ended, Running, run, schema};
use crate::{Ceiling, load};

/// 4 workers of 10 ms serve 400 a second, whatever the machine does.
const SERVICE: [&str; 4] = ["--service", "fixed:10ms", "--workers", "4"];
const CAPACITY: f64 = 400.0;
/// A machine may be busy for a while; it is not in all of so many tries.
const TRIES: usize = 3;

/// Trials so short that the whole search takes some seconds.
const SHORT: [&str; 7] = [
    "--find-capacity",
    "--warmup",
    "200ms",
    "--arrivals",
    "even",
    "-t1",
    "--seed=1",
];

fn find(server: &Ceiling, more: &[&str]) -> (Ended, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("hello");
    let mut command = load(folder.path(), &SHORT);
    command.args(["--json", "result.json"]).args(more).arg(url);
    (run(command), folder)
}

fn written(folder: &tempfile::TempDir) -> Value {
    schema::capacity(&fs::read_to_string(folder.path().join("result.json")).unwrap())
}

#[test]
fn the_capacity_of_a_server_is_found_that_is_known_by_construction() {
    let server = Ceiling::with(&SERVICE);
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        // What is served too late for a tenth of the answers is no moment's stall.
        let asked = ["--slo", "p90<40ms,errors<1%", "--precision", "4%", "-d1s"];
        let more = [
            "--repeats",
            "2",
            "--curve-steps",
            "5",
            "--chart",
            "curve.svg",
        ];
        let (ended, folder) = find(&server, &[&asked[..], &more[..]].concat());
        let result = written(&folder);
        let found = result["answer"]["per_s"].as_f64();
        if found.is_none_or(|found| (found / CAPACITY - 1.0).abs() > 0.1) {
            wrong.push(ended.all());
            continue;
        }
        tells(&ended.with(0), &result);
        let chart = fs::read_to_string(folder.path().join("curve.svg")).unwrap();
        assert!(chart.contains("capacity ") && chart.contains("p90&lt;40ms"));
        return;
    }
    panic!("{TRIES} times: {}", wrong.join("\n\n"));
}

/// What a search that has found a capacity says and writes.
fn tells(ended: &Ended, result: &Value) {
    let all = ended.all();
    for part in [
        "looking for the greatest rate",
        "closed loop",
        "approach",
        "finding 2/2",
        "asked: p90<40ms,errors<1%",
        "open loop, evenly spaced",
        "Capacity: ",
        "of 2 findings",
        "Latency against rate (from the scheduled arrival)",
        "Knee: ",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(result["ended"], "complete");
    assert_eq!(result["load"]["arrivals"], "even");
    assert_eq!(
        result["answer"]["findings_per_s"].as_array().unwrap().len(),
        2
    );
    let curve = result["curve"].as_array().unwrap();
    assert_eq!(curve.len(), 5);
    assert_eq!(
        ended
            .lines("  ")
            .iter()
            .filter(|line| line.contains("/s "))
            .count(),
        5,
        "{all}"
    );
}

#[test]
fn where_nothing_holds_it_says_so_and_why() {
    let server = Ceiling::with(&SERVICE);
    let (ended, folder) = find(&server, &["--slo", "p50<1ms", "-d200ms"]);
    let result = written(&folder);
    assert_eq!(result["answer"]["known"], "nothing", "{}", ended.all());
    assert!(result["curve"].as_array().unwrap().is_empty());
    ended
        .with(1)
        .prints("Capacity: none. Not even 1/s holds: p50 was ")
        .says("failed   p50 was ");
}

#[test]
fn a_budget_that_is_over_leaves_what_is_known() {
    let server = Ceiling::with(&SERVICE);
    let (ended, folder) = find(&server, &["--slo", "p90<1s", "--budget", "1s", "-d1s"]);
    let result = written(&folder);
    assert_eq!(result["ended"], "budget");
    assert_eq!(result["attempts"].as_array().unwrap().len(), 1);
    ended
        .with(1)
        .prints("Capacity: not found yet; ")
        .prints("The budget of 1 s ended it after 0 of 6 findings.");
}

#[test]
fn what_is_known_when_the_user_stops_it_is_shown() {
    let server = Ceiling::with(&SERVICE);
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command
        .args(["-d1s", "--json", "result.json"])
        .arg(server.url("hello"));
    let mut running = Running::start(command);
    running.await_stderr("approach");
    running.signal(Signal::SIGINT);
    running
        .end()
        .with(130)
        .prints("Stopped: this is what was known by then.");
    assert_eq!(written(&folder)["ended"], "interrupted");
}

#[test]
fn a_server_that_is_gone_ends_the_search() {
    let server = Ceiling::with(&SERVICE);
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command
        .args(["-d1s", "--json", "result.json"])
        .arg(server.url("hello"));
    let mut running = Running::start(command);
    running.await_stderr("approach");
    drop(server);
    running
        .end()
        .with(1)
        .prints("Capacity: not found yet; ")
        .prints("After the last of them the server answered no request right")
        .says("the server answers no request right any more: ");
    assert_eq!(written(&folder)["ended"], "unsettled");
}

#[test]
fn a_server_that_answers_wrong_is_told() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command.arg(server.url("no-such-path"));
    run(command)
        .with(1)
        .says("error: no answer was right: ")
        .says("404");
}

#[test]
fn wrong_command_lines_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["--slo", "p98<10ms"][..], "nothing is called `p98`"),
        (&["--slo", "p99<10"], "write for instance p99<10ms"),
        (&["--precision", "2"], "write for instance 2%"),
        (&["--repeats", "0"], "from 1 to 1000"),
        (&["--budget", "0s"], "longer than 0"),
        (&["--rate", "5k/s"], "cannot be used with"),
        (&["--stages", "1k/s:1s"], "cannot be used with"),
        (&["--users", "5"], "cannot be used with"),
        (&["--sequential"], "cannot be used with"),
        (&["-n100"], "cannot be used with"),
        (&["-d0s"], "it must be from 1ms to 30 days"),
    ] {
        let mut command = load(folder.path(), &["--find-capacity"]);
        command.args(arguments).arg("http://127.0.0.1:1/");
        run(command).with(2).says(told);
    }
    for flag in [
        &["--slo", "p99<10ms"][..],
        &["--precision", "1%"],
        &["--chart", "curve.svg"],
    ] {
        let mut command = load(folder.path(), flag);
        command.arg("http://127.0.0.1:1/");
        run(command).with(2).says("--find-capacity");
    }
}
