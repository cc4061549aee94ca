//! Expected responses.

use std::fs;

use crate::common::run;
use crate::load::{Ceiling, load, loaded, outcome, result};

const HELLO: &str = "hello from prony\n";

#[test]
fn expected_responses_are_ok() {
    let ceiling = Ceiling::start();
    let hello = ceiling.url("hello");
    let counted = |flags: &[&str]| {
        let all = [flags, &["-n50", "-c2", &hello]].concat();
        outcome(&loaded(&all).1, "ok")
    };
    assert_eq!(counted(&["--expect-status", "200"]), 50);
    assert_eq!(counted(&["--expect-length", "17"]), 50);
    assert_eq!(counted(&["--expect-body", HELLO, "--check-every", "1"]), 50);
    let missing = ["-n50", "--expect-status", "404", &ceiling.url("missing")];
    assert_eq!(outcome(&loaded(&missing).1, "ok"), 50);
}

#[test]
fn wrong_responses_are_reported_with_their_first_difference() {
    let (ceiling, folder) = (Ceiling::start(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("right.txt"), "hello from PRONY\n").unwrap();
    for (flags, kind, told) in [
        (
            &["--expect-status", "204"][..],
            "wrong_status",
            "First error (wrong status): expected status 204, got 200",
        ),
        (
            &["--expect-length", "18"],
            "wrong_body",
            "First error (wrong body): expected a body of 18 bytes, got 17",
        ),
        (
            &["--expect-body", "@right.txt", "--check-every", "1"],
            "wrong_body",
            r"at byte 11: `PRONY\n`, got 17 bytes, at byte 11: `prony\n`",
        ),
    ] {
        let mut command = load(folder.path(), flags);
        command.args(words!("-n20 -c2 --json result.json", &ceiling.url("hello")));
        run(command).with(1).prints(told);
        let result = result(folder.path(), "result.json");
        assert_eq!(outcome(&result, kind), 20, "{flags:?}");
        assert_eq!(result["rate_per_s"], 0.0);
    }
}

#[test]
fn bodies_are_compared_in_samples() {
    let ceiling = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    // As long as the right body, but different: only compared responses are found wrong.
    let flags = ["--expect-body", "HELLO FROM PRONY\n", "--check-every", "10"];
    let mut command = load(folder.path(), &flags);
    command.args(words!(
        "-n100 -c1 -t1 --json result.json",
        &ceiling.url("hello")
    ));
    run(command).with(0).prints("10 wrong body");
    let result = result(folder.path(), "result.json");
    assert_eq!(outcome(&result, "wrong_body"), 10);
    assert_eq!(outcome(&result, "ok"), 90);
}

#[test]
fn short_bodies_are_all_compared_and_long_ones_estimated() {
    let ceiling = Ceiling::start();
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--expect-body", "HELLO FROM PRONY\n", "-n100", "-c1", "-t1"];
    let mut command = load(folder.path(), &flags);
    command.arg(ceiling.url("hello"));
    run(command).with(1).prints("100 wrong body");

    let page = fs::read(crate::common::repository().join("workloads/assets/page-100k.html"));
    let mut page = page.unwrap();
    *page.last_mut().unwrap() = b'!';
    fs::write(folder.path().join("page.html"), page).unwrap();
    let flags = words!("--expect-body @page.html -n300 -c1 -t1 --json");
    let mut command = load(folder.path(), &flags);
    command.args(["result.json", &ceiling.url("")]);
    let ended = run(command);
    let checked = &result(folder.path(), "result.json")["checked"];
    let compared = checked["compared"].as_u64().unwrap();
    assert_eq!(checked["wrong"], compared, "every response is wrong");
    let compared = prony_model::exact(compared);
    let sampled = format!(
        "Sampled: about 100.0 % of responses were wrong ({compared} of {compared} compared)"
    );
    assert!(ended.stdout.contains(&sampled), "{}", ended.all());
}

#[test]
fn the_first_byte_is_measured_on_request() {
    let ceiling = Ceiling::start();
    let page = ceiling.url("");
    let (shown, result) = loaded(&["--first-byte", "-n50", "-c2", &page]);
    assert!(shown.contains("  First byte: p50 "), "{shown}");
    let first = result["first_byte_ns"]["max"].as_u64().unwrap();
    let whole = result["latency_ns"]["max"].as_u64().unwrap();
    assert!(first <= whole, "{first} {whole}");
    let (shown, result) = loaded(&["-n50", "-c2", &page]);
    assert!(!shown.contains("First byte"), "{shown}");
    assert!(result["first_byte_ns"].is_null());
}

#[test]
fn percentiles_of_a_load_count_every_ok_response() {
    let folder = tempfile::tempdir().unwrap();
    let ceiling = Ceiling::start();
    let mut command = load(folder.path(), &["-c2", "-t1", "-n", "500"]);
    command.args(["--json", "load.json", "--hgrm", "load.hgrm"]);
    command.arg(ceiling.url("byte"));
    run(command).with(0);
    let ok = &result(folder.path(), "load.json")["outcomes"]["ok"];
    let percentiles = fs::read_to_string(folder.path().join("load.hgrm")).unwrap();
    let last = percentiles
        .lines()
        .rfind(|line| !line.starts_with('#'))
        .unwrap();
    let cells: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(
        cells[1..],
        ["1.000000000000", &ok.to_string()],
        "{percentiles}"
    );
}
