//! `prony load FILE.hurl`.

use prony_testkit::contains;
use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Ended, Running, run, until};
use crate::load::{Ceiling, load, outcome, result};
use prony_testkit::recorder::HttpServer;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// `prony load` of a file of the folder, whose variable `host` is that server.
fn flows(folder: &Path, port: u16, arguments: &[&str]) -> Command {
    let mut command = load(folder, arguments);
    command.args(["--variable", &format!("host=127.0.0.1:{port}")]);
    command.args(["-t1", "--json", "result.json"]);
    command
}

/// Two requests; the second one needs the response to the first.
const GREETING: &str = "GET http://{{host}}/hello\nHTTP 200\n[Captures]\ngreeting: body\n\
                        GET http://{{host}}/hello?again={{greeting}}\nHTTP 200\n[Asserts]\nbody == {{greeting}}\n";

fn counts(result: &Value) -> [u64; 3] {
    ["ok", "failed", "unfinished"].map(|name| result["flows"][name].as_u64().unwrap())
}

#[test]
fn flows_are_shown_and_recorded() {
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", GREETING)]));
    let ended = run(flows(
        folder.path(),
        ceiling.port,
        &["a.hurl", "-n20", "-c2"],
    ))
    .with(0);
    let ended = ended
        .prints("  2 requests of a.hurl in each flow\n")
        .prints("  40 requests in ")
        .prints("  20 ok flows, ")
        .prints("\n  Flow (pauses included): p50 ")
        .prints("\n  Request ");
    let rows: Vec<Vec<&str>> = { ended.lines("  GET /hello (line ") }
        .iter()
        .map(|line| line.split_whitespace().take(6).collect())
        .collect();
    let expected = |line| vec!["GET", "/hello", "(line", line, "20", "0"];
    assert_eq!(rows, [expected("1)"), expected("5)")]);
    let result = result(folder.path(), "result.json");
    assert_eq!(counts(&result), [20, 0, 0]);
    assert_eq!(result["load"]["flows"], true);
    let entries = result["flows"]["entries"].as_array().unwrap();
    let of_entries: Vec<_> = entries
        .iter()
        .map(|entry| {
            (
                entry["name"].as_str().unwrap(),
                entry["requests"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        of_entries,
        [("GET /hello (line 1)", 20), ("GET /hello (line 5)", 20)]
    );
    assert_eq!(outcome(&result, "ok"), 40);
}

#[test]
fn every_shape_and_protocol_has_flows() {
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", GREETING)]));
    for shape in [
        &["-c2"][..],
        &["-c2", "--think-time", "1ms"],
        &["--rate", "1k/s"],
        &["--rate", "1k/s", "--arrivals", "poisson"],
        &["--stages", "500/s:10ms,1k/s"],
        &["--users", "3", "--think-time", "1ms"],
        &["--users", "3", "--think-time", "1ms", "--open"],
        &["-c2", "--http2"],
        &["-c2", "--no-keepalive"],
    ] {
        let flags = [shape, &["a.hurl", "-n20"]].concat();
        run(flows(folder.path(), ceiling.port, &flags)).with(0);
        let result = result(folder.path(), "result.json");
        assert_eq!(counts(&result), [20, 0, 0], "{shape:?}");
        assert_eq!(outcome(&result, "ok"), 40, "{shape:?}");
    }
}

#[test]
fn each_flow_has_values_of_its_own() {
    let server = HttpServer::start();
    let host = format!("host={}", server.address);
    let folder = folder(&[
        (
            "a.hurl",
            "GET http://{{host}}/{{id}}/{{name}}/{{n}}\n[Query]\ntoken: {{token}}\nrun: {{run}}\nx: {{x}}\n",
        ),
        ("ids.csv", "id\n1\n2\n3\n"),
        ("names.jsonl", "{\"name\": \"ann\"}\n{\"name\": \"bob\"}\n"),
    ]);
    let flags = [
        "a.hurl",
        "-n4",
        "-c1",
        "--rows",
        "ids.csv",
        "--rows",
        "names.jsonl",
        "--counter",
        "n=7",
        "--random",
        "x=5..5",
        "--secret",
        "token=sesame2",
        "--variable",
        &host,
        "--json",
        "result.json",
    ];
    let mut command = load(folder.path(), &flags);
    command.env("HURL_VARIABLE_run", "night");
    let ended = run(command).with(0).prints("  seed ");
    let query = "?token=sesame2&run=night&x=5";
    let expected =
        ["1/ann/7", "2/bob/8", "3/ann/9", "1/bob/10"].map(|path| format!("GET /{path}{query}"));
    assert_eq!(server.lines(), expected);
    let recorded = fs::read_to_string(folder.path().join("result.json")).unwrap();
    assert!(!recorded.contains("sesame2") && !ended.all().contains("sesame2"));
    contains(&recorded, "GET /{{id}}/{{name}}/{{n}}");
}

#[test]
fn a_failed_assert_has_its_place_and_no_secret() {
    let text = "GET http://{{host}}/hello\nHTTP 200\n[Asserts]\nbody contains \"{{token}}\"\n";
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", text)]));
    let flags = ["a.hurl", "-n5", "-c1", "--secret", "token=sesame2"];
    let ended = run(flows(folder.path(), ceiling.port, &flags)).with(1);
    let ended = ended
        .prints("  0 ok flows, 0/s, 5 failed\n")
        .prints("a.hurl:4:0: Assert failure: ")
        .prints("***");
    assert!(!ended.all().contains("sesame2"), "{}", ended.all());
    let result = result(folder.path(), "result.json");
    assert_eq!(outcome(&result, "wrong_body"), 5);
    assert_eq!(counts(&result), [0, 5, 0]);
    let wrong = &result["flows"]["entries"][0]["first_wrong"]["outcome"];
    assert_eq!(wrong, "wrong_body");
}

#[test]
fn a_flow_that_fails_after_its_first_request_leaves_ok_responses() {
    let text = "GET http://{{host}}/hello\nGET http://{{host}}/no-such\nHTTP 200\nGET http://{{host}}/hello?3\n";
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", text)]));
    run(flows(
        folder.path(),
        ceiling.port,
        &["a.hurl", "-n6", "-c2", "--junit", "load.xml"],
    ))
    .with(1)
    .prints("  0 ok flows, 0/s, 6 failed\n")
    .prints(
        "    First error (wrong status): a.hurl:3:6: Assert status code: actual value is <404>\n",
    );
    let result = result(folder.path(), "result.json");
    assert_eq!(
        (outcome(&result, "ok"), outcome(&result, "wrong_status")),
        (6, 6)
    );
    let entries = result["flows"]["entries"].as_array().unwrap();
    let requests: Vec<u64> = entries
        .iter()
        .map(|it| it["requests"].as_u64().unwrap())
        .collect();
    assert_eq!(requests, [6, 6, 0]);
    let junit = fs::read_to_string(folder.path().join("load.xml")).unwrap();
    contains(
        &junit,
        "no flow was ok: 6 failed; the first of GET /no-such: a.hurl:3:6: ",
    );
}

#[test]
fn a_load_in_which_no_flow_ended_has_failed() {
    let text = "GET http://{{host}}/hello\nGET http://{{host}}/hello\n[Options]\ndelay: 1h\n";
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", text)]));
    let flags = ["a.hurl", "-d500ms", "-c2", "--junit", "load.xml"];
    for event_loop in ["io_uring", "epoll"] {
        let flags = [&flags[..], &["--loop", event_loop]].concat();
        run(flows(folder.path(), ceiling.port, &flags))
            .with(1)
            .prints("  0 ok flows, 0/s, 2 in progress at the end\n")
            .prints("  No flow ended in time: measure longer than a flow takes\n");
        let result = result(folder.path(), "result.json");
        assert_eq!((outcome(&result, "ok"), counts(&result)), (2, [0, 0, 2]));
        let junit = fs::read_to_string(folder.path().join("load.xml")).unwrap();
        let why = "no flow was ok: 2 in progress at the end; measure longer than a flow takes";
        assert!(junit.contains(why), "{junit}");
    }
}

#[test]
fn a_flow_that_cannot_go_on_says_why() {
    let text = "GET http://{{host}}/hello\nHTTP 200\n[Captures]\nnext: body\nGET {{next}}\n";
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", text)]));
    run(flows(
        folder.path(),
        ceiling.port,
        &["a.hurl", "-n4", "-c1"],
    ))
    .with(1)
    .prints("a.hurl:5:5: Invalid URL: ");
    let result = result(folder.path(), "result.json");
    assert_eq!(counts(&result), [0, 4, 0]);
    assert_eq!(result["flows"]["failed_without_request"], 4);
    let reason = result["flows"]["first_failure"].as_str().unwrap();
    assert!(reason.starts_with("a.hurl:5:5: Invalid URL: "), "{reason}");
}

#[test]
fn a_load_whose_flows_send_nothing_has_failed() {
    let text = "GET http://{{host}}/hello\n[Options]\nskip: {{skip}}\n";
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", text)]));
    let flags = ["a.hurl", "-n4", "-c1", "--variable", "skip=true"];
    run(flows(folder.path(), ceiling.port, &flags)).with(1);
    let result = result(folder.path(), "result.json");
    assert_eq!((outcome(&result, "ok"), counts(&result)), (0, [4, 0, 0]));
}

#[test]
fn files_are_read_beside_the_hurl_file() {
    let server = HttpServer::start();
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("flows");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("body.bin"), b"\0\xffx").unwrap();
    fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    fs::write(
        inside.join("a.hurl"),
        format!("PUT {}x\nfile,body.bin;\n", server.url()),
    )
    .unwrap();
    run(load(folder.path(), &["flows/a.hurl", "-n1", "-c1"]))
        .with(0)
        .prints("  1 request of flows/a.hurl in each flow\n");
    assert_eq!(server.first().body, b"\0\xffx");
    fs::write(
        inside.join("b.hurl"),
        format!("PUT {}x\nfile,../secret.txt;\n", server.url()),
    )
    .unwrap();
    run(load(folder.path(), &["flows/b.hurl", "-n1", "-c1"]))
        .with(2)
        .says("flows/b.hurl:2:6: ")
        .says("unauthorized access to file ../secret.txt");
    assert_eq!(server.count(), 1);
}

/// Both reports of a load with objectives.
fn judged(objective: &str, status: i32) -> (Ended, String, Value) {
    let (ceiling, folder) = (Ceiling::start(), folder(&[("a.hurl", GREETING)]));
    let flags = [
        "a.hurl",
        "-d500ms",
        "-c2",
        "--objective",
        objective,
        "--markdown",
        "load.md",
    ];
    let ended = run(flows(folder.path(), ceiling.port, &flags)).with(status);
    let markdown = fs::read_to_string(folder.path().join("load.md")).unwrap();
    (ended, markdown, result(folder.path(), "result.json"))
}

#[test]
fn objectives_judge_the_requests_of_flows() {
    let (ended, markdown, result) = judged("p99 < 30s", 0);
    ended.prints("Objectives:   ");
    assert!(markdown.starts_with("### Prony objectives: "), "{markdown}");
    assert!(markdown.contains(" ok flows, "), "{markdown}");
    assert!(markdown.contains("\n\nhttp://127.0.0.1:"), "{markdown}");
    assert_eq!(result["objectives"][0]["objective"], "p99<30s");
    assert_ne!(result["objectives"][0]["verdict"], "missed");
    let (ended, markdown, _) = judged("rate > 1000M/s", 5);
    ended.prints("  missed     rate > 1000M/s: ");
    assert!(
        markdown.starts_with("### Prony objectives: 1 of 2 missed"),
        "{markdown}"
    );
}

#[test]
fn an_interrupted_load_keeps_its_flows() {
    let (server, folder) = (
        HttpServer::start(),
        folder(&[(
            "a.hurl",
            "GET http://{{host}}/1\nGET http://{{host}}/2\n[Options]\ndelay: 1h\n",
        )]),
    );
    let running = Running::start(flows(
        folder.path(),
        server.address.port(),
        &["a.hurl", "-d1h", "-c2"],
    ));
    until("both users", || (server.count() == 2).then_some(()));
    // The client takes the responses a little later.
    std::thread::sleep(std::time::Duration::from_millis(200));
    running.signal(Signal::SIGINT);
    running
        .end()
        .with(130)
        .prints("  0 ok flows, 0/s, 2 in progress at the end\n");
    let result = result(folder.path(), "result.json");
    assert_eq!(result["ended"], "interrupted");
    assert_eq!(counts(&result), [0, 0, 2]);
}

#[test]
fn bad_input_is_reported_before_the_load() {
    let server = HttpServer::start();
    let files = folder(&[
        ("good.hurl", "GET http://{{host}}/\n"),
        (
            "wrong.hurl",
            "GET http://{{host}}/\nHTTP 200\n[Asserts]\nstatus equals 200\n",
        ),
        (
            "refused.hurl",
            "GET http://{{host}}/\n[Options]\nproxy: localhost:3128\n",
        ),
        (
            "response.hurl",
            "GET http://{{host}}/\nHTTP 200\n[Asserts]\nbody == {{id}}\n",
        ),
        ("undefined.hurl", "GET http://{{host}}/\nX-Id: {{id}}\n"),
        ("body.hurl", "POST http://{{host}}/\n{\"id\": {{id}}}\n"),
        ("empty.hurl", "# nothing\n"),
        ("two.hurl", "GET http://{{host}}/\nGET http://other/\n"),
        ("rows.csv", "id\n1\n"),
        ("names.csv", "id,newUuid\n1,2\n"),
        ("empty.csv", "id,name\n"),
        ("short.csv", "id,name\n1,ann\n2\n"),
        ("bad.jsonl", "{\"id\": 1}\n{id: 2}\n"),
    ]);
    std::fs::create_dir(files.path().join("folder.hurl")).unwrap();
    let url = server.url();
    for (arguments, told) in [
        (&["wrong.hurl"][..], "--> wrong.hurl:4:8\n"),
        (&["wrong.hurl"], " 4 | status equals 200\n   |        ^ "),
        (
            &["refused.hurl"],
            " 3 | proxy: localhost:3128\n   | ^ Prony does not support the option proxy\n",
        ),
        (
            &["response.hurl"],
            "response.hurl:4:11: the variable `id` is not defined; give it with --variable id=VALUE",
        ),
        (
            &["undefined.hurl"],
            "undefined.hurl:2:9: the variable `id` is not defined; give it with --variable id=VALUE",
        ),
        (
            &["body.hurl"],
            "body.hurl:2:10: the variable `id` is not defined",
        ),
        (&["empty.hurl"], "empty.hurl has no entries"),
        (
            &["two.hurl"],
            "two.hurl:2:5: http://other/ is on another server than ",
        ),
        (
            &["good.hurl", "--rows", "empty.csv"],
            "empty.csv has no rows",
        ),
        (
            &["good.hurl", "--rows", "short.csv"],
            "short.csv has 1 instead of 2 columns in line 3",
        ),
        (
            &["good.hurl", "--rows", "bad.jsonl"],
            "bad.jsonl has no JSON object in line 2: ",
        ),
        (
            &["good.hurl", "--rows", "rows.csv", "--variable", "id=1"],
            "rows.csv sets the variable `id`, which has another source",
        ),
        (
            &["good.hurl", "--rows", "rows.csv", "--rows", "rows.csv"],
            "rows.csv sets the variable `id`, which has another source",
        ),
        (
            &["good.hurl", "--variable", "id=1", "--counter", "id"],
            "--counter id sets the variable `id`, which has another source",
        ),
        (
            &["good.hurl", "--variable", "id"],
            "--variable id: write NAME=VALUE",
        ),
        (&["good.hurl", "--secret", "=x"], "write NAME=VALUE"),
        (
            &["good.hurl", "--variable", "newDate=x"],
            "--variable newDate sets `newDate`, which cannot be the name of a variable: ",
        ),
        (
            &["good.hurl", "--counter", "newUuid"],
            "--counter newUuid sets `newUuid`, which cannot be the name of a variable: ",
        ),
        (
            &["good.hurl", "--random", "a b=1..5"],
            "--random a b=1..5 sets `a b`, which cannot be the name of a variable: ",
        ),
        (
            &["good.hurl", "--rows", "names.csv"],
            "names.csv sets `newUuid`, which cannot be the name of a variable: ",
        ),
        (
            &["good.hurl", "--counter", "id=many"],
            "--counter id=many: `many` is not a whole number",
        ),
        (
            &["good.hurl", "--random", "id=5..1"],
            "--random id=5..1: the smaller number comes first: write 1..5",
        ),
        (
            &["good.hurl", "-X", "POST"],
            "-X does not go with a Hurl file; write it into good.hurl",
        ),
        (
            &["good.hurl", "-H", "A: b"],
            "-H does not go with a Hurl file",
        ),
        (
            &["good.hurl", "-b", "x"],
            "--body does not go with a Hurl file",
        ),
        (
            &["good.hurl", "--order", "random"],
            "--order does not go with a Hurl file",
        ),
        (
            &["good.hurl", "--expect-status", "200"],
            "--expect-status does not go with a Hurl file",
        ),
        (
            &["good.hurl", "--pipeline", "2"],
            "pipelining cannot be combined with a scenario",
        ),
        (&["good.hurl", &url], "good.hurl must be the only target"),
        (&["good.hurl", "undefined.hurl"], "must be the only target"),
        (&["--rows", "rows.csv", &url], "--rows needs a Hurl file"),
        (
            &["--variable", "id=1", &url],
            "--variable needs a Hurl file",
        ),
        (
            &["--think-time", "1s", &url],
            "--think-time needs --users, or a Hurl file",
        ),
    ] {
        let mut command = load(files.path(), arguments);
        command.args(["-n1", "-c1"]);
        if arguments[0].ends_with(".hurl") {
            command.args(["--variable", &format!("host={}", server.address)]);
        }
        run(command).with(2).says(told);
    }
    // What is not the fault of the command line.
    for (arguments, told) in [
        (&["none.hurl"][..], "none.hurl: No such file or directory"),
        (&["folder.hurl"], "folder.hurl: it is not a file"),
        (
            &["good.hurl", "--rows", "none.csv"],
            "none.csv cannot be read: No such file or directory",
        ),
        (
            &["good.hurl", "--rows", "."],
            ". cannot be read: Is a directory",
        ),
    ] {
        let mut command = load(files.path(), arguments);
        command.args(["-n1", "--variable", "host=127.0.0.1:1"]);
        run(command).with(1).says(told);
    }
    assert_eq!(server.count(), 0);
}
