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

/// Trials of less than 0.3 s are too short to be called noisy, so that searches end alike on a machine that is busy. The
/// lowest rates take six times as long as the others.
const SHORT: [&str; 8] = [
    "--find-capacity",
    "--warmup",
    "10ms",
    "-d30ms",
    "--arrivals",
    "even",
    "-t1",
    "--seed=1",
];

/// What every search here requires: a tenth of the responses is late, which a short stall cannot cause.
const SLO: [&str; 2] = ["--slo", "p90<40ms,errors<1%"];

/// A search that writes its result and its curve, in a folder with these files.
struct Searched {
    ended: Ended,
    result: Value,
    chart: Option<String>,
}

fn search(files: &[(&str, &str)], flags: &[&[&str]]) -> Searched {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let written = ["--json", "result.json", "--chart", "curve.svg"];
    let ended = run(load(
        folder.path(),
        &[&flags.concat(), &written[..]].concat(),
    ));
    let json = fs::read_to_string(folder.path().join("result.json"));
    let json = json.unwrap_or_else(|_| panic!("{}", ended.all()));
    Searched {
        result: schema::capacity(&json),
        chart: fs::read_to_string(folder.path().join("curve.svg")).ok(),
        ended,
    }
}

/// Flows of two requests and a pause, which does not occupy the server.
fn two_requests(url: &str) -> String {
    format!("GET {url}\nHTTP 200\nGET {url}\n[Options]\ndelay: 50ms\nHTTP 200\n")
}

/// Searches of a few short steps. What they find depends on the machine; how a search goes on is tested in simulated
/// time (`crates/capacity`), and its summary with golden files.
#[test]
fn a_search_shows_and_writes_what_it_tries() {
    let server = Ceiling::with(&SERVICE);
    let url = server.url("hello");
    let flow = two_requests(&url);
    for (files, target, flows, per_flow) in [
        (&[][..], &*url, false, Value::Null),
        (&[("shop.hurl", &*flow)], "shop.hurl", true, 2.0.into()),
    ] {
        let steps = ["--repeats", "1", "--precision", "50%", "--curve-steps", "2"];
        let flags = [&SHORT[..], &SLO, &steps, &["--budget", "3s", target]];
        let Searched {
            ended,
            result,
            chart,
        } = search(files, &flags);
        let unit = if flows { " of flows" } else { "" };
        let ended = ended
            .says(&format!("looking for the highest rate{unit} at which "))
            .says("closed loop  ")
            .says("approach")
            .prints("objective (--slo): p90<40ms,errors<1%")
            .prints("open loop, evenly spaced")
            .prints("Capacity: ");
        assert!([Some(0), Some(1), Some(4)].contains(&ended.code));
        assert_eq!(result["load"]["arrivals"], "even");
        assert_eq!(result["load"]["flows"], flows);
        assert_eq!(result["requests_per_flow"], per_flow);
        if flows {
            ended.prints("  2 requests of shop.hurl in each flow\n");
        }
        let attempts = result["attempts"].as_array().unwrap();
        assert_eq!(attempts[0]["purpose"], "approach");
        for attempt in attempts {
            assert_eq!(attempt["noise"]["server"], "seen", "{attempt}");
        }
        let has_curve = !result["curve"].as_array().unwrap().is_empty();
        assert_eq!(chart.is_some(), has_curve);
    }
}

/// The capacity is right. On a busy machine, such as one that runs many tests at a time, there may be no
/// result; then Prony says so, and why.
#[test]
#[ignore = "full check: searches a real capacity"]
fn the_known_capacity_of_a_server_is_found() {
    let server = Ceiling::with(&SERVICE);
    let url = server.url("hello");
    found(CAPACITY, &[], &url);
}

#[test]
#[ignore = "full check: searches a real capacity"]
fn the_known_capacity_of_a_server_for_flows_is_found() {
    let server = Ceiling::with(&SERVICE);
    let flow = two_requests(&server.url("hello"));
    let Some((ended, result)) = found(CAPACITY / 2.0, &[("shop.hurl", &*flow)], "shop.hurl") else {
        return;
    };
    let per_s = result["found"]["per_s"].as_f64().unwrap();
    ended.prints(" flows/s (").prints(&format!(
        "Capacity: {per_s:.0} flows/s ({:.0} requests/s; ",
        2.0 * per_s
    ));
}

/// The result of a search whose capacity should be this one; `None` if there was none and Prony has said why.
fn found(capacity: f64, files: &[(&str, &str)], target: &str) -> Option<(Ended, Value)> {
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        let steps = ["--find-capacity", "-t1", "--seed=1", "--warmup", "200ms"];
        let more = ["-d1s", "--arrivals", "even", "--repeats", "3"];
        let curve = ["--curve-steps", "5", "--budget", "90s", target];
        let searched = search(files, &[&steps, &more, &SLO, &curve]);
        let (ended, result) = (searched.ended, searched.result);
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
        let chart = searched.chart.unwrap();
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

/// A server this slow makes the first rate a low one, so that the search is soon at the lowest.
#[test]
fn if_no_rate_holds_the_search_says_so_and_why() {
    let server = Ceiling::with(&["--service", "fixed:20ms", "--workers", "1"]);
    let url = server.url("hello");
    let Searched {
        ended,
        result,
        chart,
    } = search(&[], &[&SHORT, &["--slo", "mean<1ms", "-c1", &url]]);
    // A stall may make the lowest rates long enough to be noisy.
    if is_refused(&ended, &result) {
        return;
    }
    assert_eq!(result["found"]["known"], "nothing", "{}", ended.all());
    assert!(result["curve"].as_array().unwrap().is_empty() && chart.is_none());
    ended
        .with(1)
        .prints("Capacity: none. Not even 1/s holds: mean was ")
        .says("failed   mean was ")
        .says("no chart was written, because there is no curve");
}

#[test]
fn a_spent_budget_shows_what_is_known_by_then() {
    let server = Ceiling::with(&SERVICE);
    let url = server.url("hello");
    let Searched { ended, result, .. } = search(
        &[],
        &[&SHORT, &["--slo", "p50<1s", "--budget", "300ms", &url]],
    );
    assert_eq!(result["ended"], "budget");
    assert_eq!(result["attempts"].as_array().unwrap().len(), 1);
    // What the rate showed depends on the machine.
    ended
        .with(1)
        .prints("Capacity: not found")
        .prints("The budget of 0.3 s ended the search after 0 of 6 findings;");
}

/// How a search ends to which this happens after its first guess, and its result.
fn after(event: impl FnOnce(&Running, Ceiling)) -> (Ended, Value) {
    let server = Ceiling::with(&SERVICE);
    let folder = tempfile::tempdir().unwrap();
    let mut command = load(folder.path(), &SHORT);
    command.args(["--slo", "p50<1s", "--json", "result.json"]);
    command.arg(server.url("hello"));
    let mut running = Running::start(command);
    running.await_stderr("approach");
    event(&running, server);
    let ended = running.end();
    let json = fs::read_to_string(folder.path().join("result.json")).unwrap();
    (ended, schema::capacity(&json))
}

#[test]
fn an_interrupt_shows_what_is_known_by_then() {
    let mut still_there = None;
    let (ended, result) = after(|running, server| {
        running.signal(Signal::SIGINT);
        still_there = Some(server);
    });
    ended
        .with(130)
        .prints("Interrupted: this is the result so far.");
    assert_eq!(result["ended"], "interrupted");
}

#[test]
fn a_server_that_ends_ends_the_search() {
    let (ended, result) = after(|_, server| drop(server));
    ended
        .with(1)
        .prints("Capacity: not found")
        .prints("After the last rate the server sent no ok responses")
        .says("the server sends no ok responses any more: ");
    assert_eq!(result["ended"], "unsettled");
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

/// Users who pause for 50 ms: 5 of them begin at most 100 flows a second, whatever the server does.
#[test]
fn too_few_connections_for_the_pauses_are_not_a_capacity() {
    let server = Ceiling::start();
    let url = server.url("hello");
    let file = format!("GET {url}\nGET {url}\n[Options]\ndelay: 50ms\n");
    let flags = ["slow.hurl", "-c5", "--max-connections", "5"];
    let slo = ["--slo", "mean<5s", "--timeout", "1s", "--repeats", "2"];
    let steps = ["--curve-steps", "0", "--budget", "5s"];
    let files = [("slow.hurl", &*file)];
    let Searched { ended, result, .. } = search(&files, &[&SHORT, &flags, &slo, &steps]);
    let found = &result["found"];
    assert_ne!(found["known"], "capacity", "{}", ended.all());
    // On a busy machine every attempt may be noisy.
    if found["known"] == "at-least" {
        assert!(found["per_s"].as_f64().is_none_or(|per_s| per_s < 105.0));
        ended
            .says("all 5 connections were in a flow, and ")
            .prints("Capacity: at least ")
            .prints(" or connections (--max-connections)");
    }
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
