//! `--find-capacity`, on servers whose capacity is known.

use std::fs;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Ended, Running, run, schema};
use crate::load::{Ceiling, load};

/// 4 workers of 10 ms serve 400 a second, whatever the machine does.
const SERVICE: [&str; 4] = ["--service", "fixed:10ms", "--workers", "4"];
const CAPACITY: f64 = 400.0;
/// A machine may be busy for a while, but not in this many tries.
const TRIES: usize = 3;

/// Trials of less than 0.3 s are too short to be called noisy, so that searches without a result end alike on
/// a machine that is busy.
const SHORT: [&str; 8] = [
    "--find-capacity",
    "--warmup",
    "50ms",
    "-d200ms",
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

/// The capacity is right. On a busy machine, such as one that runs many tests at a time, there may be no
/// result; then Prony says so, and why.
#[test]
fn the_known_capacity_of_a_server_is_found() {
    let server = Ceiling::with(&SERVICE);
    let url = server.url("hello");
    let Some((ended, result)) = found(CAPACITY, &[], &[&url]) else {
        return;
    };
    ended.prints("objective (--slo): p90<40ms,errors<1%");
    assert_eq!(result["load"]["flows"], false);
    assert_eq!(result["requests_per_flow"], Value::Null);
}

/// Each flow has two requests and a pause, which does not occupy the server.
#[test]
fn the_known_capacity_of_a_server_for_flows_is_found() {
    let server = Ceiling::with(&SERVICE);
    let file = format!(
        "GET {url}\nHTTP 200\nGET {url}\n[Options]\ndelay: 50ms\nHTTP 200\n",
        url = server.url("hello")
    );
    let files = [("shop.hurl", &*file)];
    let Some((ended, result)) = found(CAPACITY / 2.0, &files, &["shop.hurl"]) else {
        return;
    };
    let ended = ended
        .says("looking for the highest rate of flows at which ")
        .prints("  2 requests of shop.hurl in each flow\n")
        .prints(" flows/s (");
    let per_s = result["found"]["per_s"].as_f64().unwrap();
    ended.prints(&format!(
        "Capacity: {per_s:.0} flows/s ({:.0} requests/s; ",
        2.0 * per_s
    ));
    assert_eq!(result["load"]["flows"], true);
    assert_eq!(result["requests_per_flow"], 2.0);
}

/// The result of a search whose capacity should be this one; `None` if there was none and Prony has said why.
fn found(capacity: f64, files: &[(&str, &str)], target: &[&str]) -> Option<(Ended, Value)> {
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut command = load(folder.path(), &["--find-capacity", "-t1", "--seed=1"]);
        command.args(["--warmup", "200ms", "-d1s", "--arrivals", "even"]);
        // A tenth of the responses is late, which a short stall cannot cause.
        command.args(["--slo", "p90<40ms,errors<1%", "--repeats", "3"]);
        command.args([
            "--curve-steps",
            "5",
            "--chart",
            "curve.svg",
            "--budget",
            "90s",
        ]);
        command.args(["--json", "result.json"]).args(target);
        let ended = run(command);
        let result = written(&folder);
        // On a busy machine it may be a lower bound, which is not confirmed.
        let is_capacity = result["found"]["known"] == "capacity";
        let found = result["found"]["per_s"].as_f64().filter(|_| is_capacity);
        if found.is_none() && is_refused(&ended, &result) {
            return None;
        }
        let is_right = found.is_some_and(|found| (found / capacity - 1.0).abs() <= 0.1);
        if !is_right || result["ended"] != "complete" {
            wrong.push(ended.all());
            continue;
        }
        let ended = ended.with(0);
        if is_unconfirmed(&ended, &result) {
            return None;
        }
        tells(&ended, &result);
        let chart = fs::read_to_string(folder.path().join("curve.svg")).unwrap();
        assert!(chart.contains("capacity ") && chart.contains("p90&lt;40ms"));
        return Some((ended, result));
    }
    panic!("{TRIES} times: {}", wrong.join("\n\n"));
}

/// Whether there was no result because the machine was noisy, with the evidence.
fn is_refused(ended: &Ended, result: &Value) -> bool {
    let attempts = result["attempts"].as_array().unwrap();
    let of = |attempt: &&Value| attempt["noise"]["noisy"].as_array().map_or(0, Vec::len) > 0;
    let noisy = attempts.iter().filter(of).count();
    let is_refused = result["found"]["known"] == "imprecise" && noisy > 0;
    if is_refused {
        assert_eq!(ended.code, Some(4), "{}", ended.all());
        let refusals = ["Capacity: not precise enough: ", "Capacity: unknown: "];
        let is_said = refusals.iter().any(|said| ended.stdout.contains(said));
        assert!(is_said, "{}", ended.all());
        assert!(ended.stdout.contains(&format!(
            "{noisy} of {} attempts were noisy",
            attempts.len()
        )));
        assert!(ended.stderr.contains("Prony tries this rate again"));
    }
    is_refused
}

/// Whether the right capacity was not confirmed, because every try of one of the two rates was inconclusive.
fn is_unconfirmed(ended: &Ended, result: &Value) -> bool {
    if result["found"]["confirmed"] == true {
        return false;
    }
    assert!(ended.stdout.contains(", not confirmed"), "{}", ended.all());
    let attempts = result["attempts"].as_array().unwrap().iter();
    let is_inconclusive = |attempt: &Value| {
        attempt["verdict"] == "limited" || attempt["noise"]["noisy"] != serde_json::json!([])
    };
    let mut confirming = attempts.filter(|attempt| attempt["purpose"] == "confirm");
    assert!(confirming.any(is_inconclusive), "{}", ended.all());
    true
}

/// Checks what a search that found a capacity shows and writes.
fn tells(ended: &Ended, result: &Value) {
    let all = ended.all();
    for part in [
        "looking for the highest rate",
        "closed loop  ",
        "approach",
        "finding 3/3",
        "confirming",
        "objective (--slo): p90<40ms,errors<1%",
        "open loop, evenly spaced",
        "Capacity: ",
        " findings)",
        "Latency ",
        "Knee: ",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(result["ended"], "complete");
    assert_eq!(result["load"]["arrivals"], "even");
    assert_eq!(result["found"]["confirmed"], true);
    let findings = result["found"]["findings_per_s"].as_array().unwrap();
    assert!((3..=6).contains(&findings.len()), "{findings:?}");
    for attempt in result["attempts"].as_array().unwrap() {
        assert_eq!(attempt["noise"]["server"], "seen", "{attempt}");
    }
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
fn if_no_rate_holds_the_search_says_so_and_why() {
    let server = Ceiling::with(&SERVICE);
    let (ended, folder) = find(&server, &["--slo", "p50<1ms"]);
    let result = written(&folder);
    // The lowest rates take longer, so a busy machine may make them noisy.
    if is_refused(&ended, &result) {
        return;
    }
    assert_eq!(result["found"]["known"], "nothing", "{}", ended.all());
    assert!(result["curve"].as_array().unwrap().is_empty());
    ended
        .with(1)
        .prints("Capacity: none. Not even 1/s holds: p50 was ")
        .says("failed   p50 was ");
}

#[test]
fn a_spent_budget_shows_what_is_known_by_then() {
    let server = Ceiling::with(&SERVICE);
    let (ended, folder) = find(&server, &["--slo", "p50<1s", "--budget", "300ms"]);
    let result = written(&folder);
    assert_eq!(result["ended"], "budget");
    assert_eq!(result["attempts"].as_array().unwrap().len(), 1);
    ended
        .with(1)
        .prints("Capacity: not found yet; ")
        .prints("The budget of 0.3 s ended the search after 0 of 6 findings;");
}

#[test]
fn an_interrupt_shows_what_is_known_by_then() {
    let server = Ceiling::with(&SERVICE);
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command
        .args(["--json", "result.json"])
        .arg(server.url("hello"));
    let mut running = Running::start(command);
    running.await_stderr("approach");
    running.signal(Signal::SIGINT);
    running
        .end()
        .with(130)
        .prints("Interrupted: this is the result so far.");
    assert_eq!(written(&folder)["ended"], "interrupted");
}

#[test]
fn a_server_that_ends_ends_the_search() {
    let server = Ceiling::with(&SERVICE);
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command
        .args(["--slo", "p50<1s", "--json", "result.json"])
        .arg(server.url("hello"));
    let mut running = Running::start(command);
    running.await_stderr("approach");
    drop(server);
    running
        .end()
        .with(1)
        .prints("Capacity: not found")
        .prints("After the last rate the server sent no ok responses")
        .says("the server sends no ok responses any more: ");
    assert_eq!(written(&folder)["ended"], "unsettled");
}

#[test]
fn a_server_that_responds_wrongly_is_reported() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command.arg(server.url("no-such-path"));
    run(command)
        .with(1)
        .says("error: no response was as expected: ")
        .says("404");
}

#[test]
fn flows_that_all_fail_are_reported() {
    let server = Ceiling::start();
    let url = server.url("hello");
    for (text, told) in [
        (
            format!("GET {url}\nHTTP 200\nGET {url}\nHTTP 404\n"),
            "wrong.hurl:4:6: ",
        ),
        (
            format!("GET {url}\nHTTP 200\n[Captures]\nid: header \"x-none\"\n"),
            "wrong.hurl:4:5: ",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wrong.hurl"), text).unwrap();
        let mut command = load(folder.path(), &SHORT);
        command.arg("wrong.hurl");
        run(command)
            .with(1)
            .says("error: no flow was ok: ")
            .says(told);
    }
}

/// Users who pause for 0.2 s: 20 of them begin at most 100 flows a second, whatever the server does.
#[test]
fn too_few_connections_for_the_pauses_are_not_a_capacity() {
    let server = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let url = server.url("hello");
    let file = format!("GET {url}\nGET {url}\n[Options]\ndelay: 200ms\n");
    fs::write(folder.path().join("slow.hurl"), file).unwrap();
    let mut command = load(folder.path(), &["slow.hurl", "--find-capacity", "-t1"]);
    command.args(["-c20", "--max-connections", "20", "--arrivals", "even"]);
    command.args(["--slo", "p50<50ms", "--repeats", "2", "--timeout", "1s"]);
    command.args(["--warmup", "100ms", "-d400ms", "--curve-steps", "0"]);
    command.args(["--json", "result.json"]);
    let ended = run(command);
    let result = written(&folder);
    if is_refused(&ended, &result) {
        return;
    }
    ended
        .with(0)
        .prints("Capacity: at least ")
        .prints("all 20 connections were in a flow, and ")
        .prints(" or connections (--max-connections)");
    let found = &result["found"];
    assert_eq!(found["known"], "at-least");
    assert!(found["per_s"].as_f64().unwrap() < 105.0, "{found}");
}

#[test]
fn wrong_command_lines_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (&["--slo", "p100<10ms"][..], "unknown name `p100`"),
        (&["--slo", "p99<10"], "write for instance p99<10ms"),
        (&["--precision", "2"], "write for instance 10%"),
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
