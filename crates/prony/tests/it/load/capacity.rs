//! `--find-capacity`, on servers whose capacity is known.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Ended, Running};
use crate::load::{Ceiling, Folder, Holds, schema};

/// 4 workers of 10 ms serve 400 a second, whatever the machine does.
const SERVICE: &str = "--service fixed:10ms --workers 4";
const CAPACITY: f64 = 400.0;
/// A machine may be busy for a while, but not in this many tries.
const TRIES: usize = 3;

/// Trials of less than 0.3 s are too short to be called noisy, so that searches end alike on a machine that is busy. The
/// lowest rates take six times as long as the others.
const SHORT: &str = "--find-capacity --warmup 10ms -d30ms --arrivals even -t1 --seed=1";

/// What most searches here require: a tenth of the responses is late, which a short stall cannot cause.
const OBJECTIVE: &str = "--objective p90<40ms,errors<1%";

/// A search that writes its result and its curve, in a folder with these files.
struct Searched {
    ended: Ended,
    result: Value,
    chart: Option<String>,
}

fn search(files: &[(&str, &str)], flags: &str) -> Searched {
    let folder = Folder::with(files);
    let ended = folder.load(format!("{flags} --chart curve.svg"));
    let chart = folder.path("curve.svg");
    Searched {
        result: schema::valid("capacity", &folder.read("result.json")),
        chart: chart.exists().then(|| folder.read("curve.svg")),
        ended,
    }
}

/// Flows of two requests and a pause, which does not occupy the server.
fn two_requests(url: &str) -> String {
    format!("GET {url}\nHTTP 200\nGET {url}\n[Options]\ndelay: 50ms\nHTTP 200\n")
}

/// Searches of a few short steps. What they find depends on the machine; how a search goes on is tested in simulated
/// time (`crates/lab/run/src/capacity`), and its summary with golden files.
#[test]
fn a_search_shows_and_writes_what_it_tries() {
    let server = Ceiling::with(SERVICE);
    let url = server.url("hello");
    let flow = two_requests(&url);
    for (target, unit, held) in [
        (&*url, "", "load.flows=false requests_per_flow=null"),
        (
            "shop.hurl",
            " of flows",
            "load.flows=true requests_per_flow=2.0",
        ),
    ] {
        let steps = "--repeats 1 --precision 50% --curve-steps 2 --budget 3s";
        let flags = format!("{SHORT} {OBJECTIVE} {steps} {target}");
        let searched = search(&[("shop.hurl", &flow)], &flags);
        let ended = searched
            .ended
            .says(&format!("looking for the highest rate{unit} at which "))
            .says("closed loop  ")
            .says("approach")
            .prints("objective: p90<40ms,errors<1%")
            .prints("open loop, evenly spaced")
            .prints("Capacity: ");
        assert!(matches!(ended.code, Some(0 | 1 | 4)), "{}", ended.report());
        if target == "shop.hurl" {
            ended.prints("  2 requests of shop.hurl in each flow\n");
        }
        let result = searched.result;
        result.holds(&format!(
            "load.arrivals=even attempts.0.purpose=approach {held}"
        ));
        for attempt in result["attempts"].as_array().unwrap() {
            attempt.holds("noise.server=seen");
        }
        let has_curve = !result["curve"].as_array().unwrap().is_empty();
        assert_eq!(searched.chart.is_some(), has_curve);
    }
}

/// The capacity is right. On a busy machine, such as one that runs many tests at a time, there may be no
/// result; then Prony says so, and why.
#[test]
#[ignore = "full check: searches a real capacity"]
fn the_known_capacity_of_a_server_is_found() {
    let server = Ceiling::with(SERVICE);
    let url = server.url("hello");
    found(CAPACITY, &[], &url);
}

#[test]
#[ignore = "full check: searches a real capacity"]
fn the_known_capacity_of_a_server_for_flows_is_found() {
    let server = Ceiling::with(SERVICE);
    let flow = two_requests(&server.url("hello"));
    let Some((ended, result)) = found(CAPACITY / 2.0, &[("shop.hurl", &*flow)], "shop.hurl") else {
        return;
    };
    let per_s = result["found"]["per_s"].as_f64().unwrap();
    let requests_per_s = 2.0 * per_s;
    ended.prints(" flows/s (").prints(&format!(
        "Capacity: {per_s:.0} flows/s ({requests_per_s:.0} requests/s; "
    ));
}

/// The result of a search whose capacity should be this one; `None` if there was none and Prony has said why.
fn found(capacity: f64, files: &[(&str, &str)], target: &str) -> Option<(Ended, Value)> {
    let mut wrong = Vec::new();
    for _ in 0..TRIES {
        let steps = "-t1 --seed=1 --warmup 200ms -d1s --arrivals even --repeats 3 --curve-steps 5 --budget 90s";
        let searched = search(
            files,
            &format!("--find-capacity {OBJECTIVE} {steps} {target}"),
        );
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
        let ended = tells(ended, &result);
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
        let all = ended.report();
        let refusals = ["a best estimate: ", "Capacity: unknown: "];
        let is_said = refusals.iter().any(|said| ended.stdout.contains(said));
        assert!(ended.code == Some(4) && is_said, "{all}");
        let evidence = format!("{noisy} of {} attempts were noisy", attempts.len());
        assert!(ended.stdout.contains(&evidence), "{all}");
        prony_testkit::contains(&ended.stderr, "(noisy: ");
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
fn tells(ended: Ended, result: &Value) -> Ended {
    let ended = ended
        .says("looking for the highest rate")
        .says("closed loop  ")
        .says("approach")
        .says("finding 3/3")
        .says("confirming")
        .prints("objective: p90<40ms,errors<1%")
        .prints("open loop, evenly spaced")
        .prints("Capacity: ")
        .prints(" findings)")
        .prints("Latency ")
        .prints("Knee: ");
    result.holds("ended=complete load.arrivals=even found.confirmed=true");
    let findings = result["found"]["findings_per_s"].as_array().unwrap();
    assert!((3..=6).contains(&findings.len()), "{findings:?}");
    for attempt in result["attempts"].as_array().unwrap() {
        attempt.holds("noise.server=seen");
    }
    assert_eq!(result["curve"].as_array().unwrap().len(), 5);
    let lines = ended.lines("  ");
    let rates = lines.iter().filter(|line| line.contains("/s ")).count();
    assert_eq!(rates, 5, "{}", ended.all());
    ended
}

/// A server this slow makes the first rate a low one, so that the search is soon at the lowest.
#[test]
fn if_no_rate_holds_the_search_says_so_and_why() {
    let server = Ceiling::with("--service fixed:20ms --workers 1");
    let flags = format!("{SHORT} --objective mean<1ms -c1 {}", server.url("hello"));
    let Searched {
        ended,
        result,
        chart,
    } = search(&[], &flags);
    // A stall may make the lowest rates long enough to be noisy.
    if is_refused(&ended, &result) {
        return;
    }
    assert!(chart.is_none());
    result.holds("found.known=nothing curve=[]");
    ended
        .with(1)
        .prints("Capacity: none. Not even 1/s holds: mean was ")
        .says("failed   mean was ")
        .says("no chart was written, because there is no curve");
}

#[test]
fn a_spent_budget_shows_what_is_known_by_then() {
    let server = Ceiling::with(SERVICE);
    let url = server.url("hello");
    let flags = format!("{SHORT} --objective p50<1s --budget 300ms {url}");
    let Searched { ended, result, .. } = search(&[], &flags);
    result.holds("ended=budget");
    assert_eq!(result["attempts"].as_array().unwrap().len(), 1);
    // What the rate showed depends on the machine.
    ended
        .with(1)
        .prints("and no more is known")
        .prints("The budget of 0.3 s ended the search after 0 of 6 findings;");
}

/// How a search ends to which this happens after its first guess, and the reason in its result.
fn after(event: impl FnOnce(&Running, Ceiling)) -> (Ended, Value) {
    let (server, folder) = (Ceiling::with(SERVICE), Folder::new());
    let mut running = folder.start(format!(
        "{SHORT} --objective p50<1s {}",
        server.url("hello")
    ));
    running.await_stderr("approach");
    event(&running, server);
    let ended = running.end();
    let result = schema::valid("capacity", &folder.read("result.json"));
    (ended, result["ended"].clone())
}

#[test]
fn an_interrupt_shows_what_is_known_by_then() {
    let mut still_there = None;
    let (ended, reason) = after(|running, server| {
        running.signal(Signal::SIGINT);
        still_there = Some(server);
    });
    ended
        .with(130)
        .prints("Interrupted: this is the result so far.");
    assert_eq!(reason, "interrupted");
}

#[test]
fn a_server_that_ends_ends_the_search() {
    let mut port = None;
    let (ended, reason) = after(|_, server| port = Some(server.stop()));
    ended
        .with(1)
        .prints("and no more is known")
        .prints("After the last rate the server sent no ok responses")
        .says("the server sends no ok responses any more: ");
    assert_eq!(reason, "unsettled");
}

#[test]
fn a_search_without_an_expected_response_is_reported() {
    let server = Ceiling::start();
    let url = server.url("hello");
    let wrong = format!("GET {url}\nHTTP 200\nGET {url}\nHTTP 404\n");
    let missing = format!("GET {url}\nHTTP 200\n[Captures]\nid: header \"x-none\"\n");
    let folder = Folder::with(&[("wrong.hurl", &wrong), ("missing.hurl", &missing)]);
    folder.refuses(
        1,
        &format!(
            "
            {SHORT} {url}/no-such | error: no response was as expected: … 404
            {SHORT} wrong.hurl | error: no flow was ok: … wrong.hurl:4:6:
            {SHORT} missing.hurl | error: no flow was ok: … missing.hurl:4:5:
        "
        ),
    );
}

/// Users who pause for 50 ms: 5 of them begin at most 100 flows a second, whatever the server does.
#[test]
fn too_few_connections_for_the_pauses_are_not_a_capacity() {
    let server = Ceiling::start();
    let url = server.url("hello");
    let file = format!("GET {url}\nGET {url}\n[Options]\ndelay: 50ms\n");
    let flags = "slow.hurl -c5 --max-connections 5 --objective mean<5s --timeout 1s --repeats 2";
    let flags = format!("{SHORT} {flags} --curve-steps 0 --budget 5s");
    let Searched { ended, result, .. } = search(&[("slow.hurl", &file)], &flags);
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
