//! `prony load FILE.hurl`.

use std::fs;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Ended, run, until};
use crate::load::curl::sorted_head;
use crate::load::{Ceiling, Folder, Holds, Shows, silent_server};
use prony_testkit::recorder::HttpServer;
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

/// A load of this file on the reference server.
fn flows(text: &str, flags: &str) -> (Ended, Folder) {
    let (ceiling, folder) = (Ceiling::start(), Folder::with(&[("a.hurl", text)]));
    let host = format!("--variable host=127.0.0.1:{}", ceiling.port);
    let ended = folder.load(format!("a.hurl -t1 {host} {flags}"));
    (ended, folder)
}

/// Two requests; the second one needs the response to the first.
const GREETING: &str = "GET http://{{host}}/hello\nHTTP 200\n[Captures]\ngreeting: body\n\
                        GET http://{{host}}/hello?again={{greeting}}\nHTTP 200\n[Asserts]\nbody == {{greeting}}\n";

#[test]
fn flows_are_shown_and_recorded() {
    let (ended, folder) = flows(GREETING, "-n20 -c2");
    let ended = ended
        .with(0)
        .prints("  2 requests of a.hurl in each flow\n")
        .prints("  40 requests in ")
        .prints("  20 ok flows, ")
        .prints("\n  Flow (pauses included): p50 ")
        .prints("\n  Request ");
    let rows = ended.lines("  GET /hello (line ");
    let rows = rows.iter().map(|line| line.split_whitespace());
    let rows: Vec<Vec<&str>> = rows.map(|words| words.take(6).collect()).collect();
    let result = folder.result();
    result.holds("flows.ok=20 flows.failed=0 flows.unfinished=0 load.flows=true outcomes.ok=40");
    let entries = result["flows"]["entries"].as_array().unwrap();
    assert_eq!((rows.len(), entries.len()), (2, 2));
    for (nth, line) in ["1)", "5)"].into_iter().enumerate() {
        assert_eq!(rows[nth], ["GET", "/hello", "(line", line, "20", "0"]);
        assert_eq!(entries[nth]["name"], format!("GET /hello (line {line}"));
        entries[nth].holds("requests=20");
    }
}

#[test]
fn every_shape_and_protocol_has_flows() {
    for shape in [
        "-c2",
        "-c2 --think-time 1ms",
        "--rate 1k/s",
        "--rate 1k/s --arrivals poisson",
        "--stages 500/s:10ms,1k/s",
        "--users 3 --think-time 1ms",
        "--users 3 --think-time 1ms --open",
        "-c2 --http2",
        "-c2 --no-keepalive",
    ] {
        let (ended, folder) = flows(GREETING, &format!("-n20 {shape}"));
        ended.with(0);
        folder.holds("flows.ok=20 flows.failed=0 flows.unfinished=0 outcomes.ok=40");
    }
}

#[test]
fn each_flow_has_values_of_its_own() {
    let server = HttpServer::start();
    let text = "GET http://{{host}}/{{id}}/{{name}}/{{n}}\n[Query]\ntoken: {{token}}\nrun: {{run}}\nx: {{x}}\n";
    let folder = Folder::with(&[
        ("a.hurl", text),
        ("ids.csv", "id\n1\n2\n3\n"),
        ("names.jsonl", "{\"name\": \"ann\"}\n{\"name\": \"bob\"}\n"),
    ]);
    let values =
        "--rows ids.csv --rows names.jsonl --counter n=7 --random x=5..5 --secret token=sesame2";
    let flags = format!("a.hurl -n4 -c1 {values} --variable host={}", server.address);
    let mut command = folder.prony(format!("{flags} --json result.json"));
    command.env("HURL_VARIABLE_run", "night");
    let ended = run(command).with(0).prints("  seed ");
    let query = "?token=sesame2&run=night&x=5";
    let expected =
        ["1/ann/7", "2/bob/8", "3/ann/9", "1/bob/10"].map(|path| format!("GET /{path}{query}"));
    assert_eq!(server.lines(), expected);
    let recorded = folder.read("result.json");
    ended.lacks("sesame2");
    lacks(&recorded, "sesame2");
    contains(&recorded, "GET /{{id}}/{{name}}/{{n}}");
}

#[test]
fn flows_that_are_not_ok_say_why() {
    for (text, flags, shown, held) in [
        (
            "GET http://{{host}}/hello\nHTTP 200\n[Asserts]\nbody contains \"{{token}}\"\n",
            "-n5 -c1 --secret token=sesame2",
            "  0 ok flows, 0/s, 5 failed\n … a.hurl:4:0: Assert failure: … ***",
            "flows.ok=0 flows.failed=5 outcomes.wrong_body=5 flows.entries.0.first_wrong.outcome=wrong_body",
        ),
        // The responses to the requests before are ok.
        (
            "GET http://{{host}}/hello\nGET http://{{host}}/no-such\nHTTP 200\nGET http://{{host}}/hello?3\n",
            "-n6 -c2",
            "  0 ok flows, 0/s, 6 failed\n … ↳ First error (wrong status): a.hurl:3:6: Assert status code: actual value is <404>\n",
            "outcomes.ok=6 outcomes.wrong_status=6 flows.entries.0.requests=6 flows.entries.1.requests=6 flows.entries.2.requests=0",
        ),
        // A flow that cannot go on.
        (
            "GET http://{{host}}/hello\nHTTP 200\n[Captures]\nnext: body\nGET {{next}}\n",
            "-n4 -c1",
            "a.hurl:5:5: Invalid URL: ",
            "flows.ok=0 flows.failed=4 flows.unfinished=0 flows.failed_without_request=4",
        ),
        // Flows that send nothing.
        (
            "GET http://{{host}}/hello\n[Options]\nskip: {{skip}}\n",
            "-n4 -c1 --variable skip=true",
            "  4 ok flows",
            "outcomes.ok=0 flows.ok=4 flows.failed=0 flows.unfinished=0",
        ),
    ] {
        let (ended, folder) = flows(text, flags);
        let ended = ended.with(1).lacks("sesame2");
        ended.shows(shown);
        let result = folder.result();
        result.holds(held);
        let reason = result["flows"]["first_failure"].as_str();
        let cannot_go_on = reason.is_some_and(|it| it.starts_with(shown));
        assert_eq!(cannot_go_on, flags == "-n4 -c1", "{result}");
    }
}

#[test]
fn a_load_none_of_whose_flows_is_ok_has_failed() {
    let wrong = "GET http://{{host}}/hello\nGET http://{{host}}/no-such\nHTTP 200\n";
    let (_, folder) = flows(wrong, "-n6 -c2 --junit load.xml");
    let first = "no flow was ok: 6 failed; the first of GET /no-such: a.hurl:3:6: ";
    contains(&folder.read("load.xml"), first);
    let long = "GET http://{{host}}/hello\nGET http://{{host}}/hello\n[Options]\ndelay: 1h\n";
    for event_loop in ["io_uring", "epoll"] {
        let flags = format!("-d2s -c2 --junit load.xml --loop {event_loop}");
        let (ended, folder) = flows(long, &flags);
        ended
            .with(1)
            .prints("  0 ok flows, 0/s, 2 in progress at the end\n")
            .prints("  No flow ended in time: measure longer than a flow takes\n");
        folder.holds("outcomes.ok=2 flows.ok=0 flows.failed=0 flows.unfinished=2");
        let why = "no flow was ok: 2 in progress at the end; measure longer than a flow takes";
        contains(&folder.read("load.xml"), why);
    }
}

#[test]
fn an_entry_may_take_less_time_than_the_others() {
    let (_listener, url) = silent_server();
    let text = format!("GET {url}\n[Options]\nmax-time: 50ms\n");
    let folder = Folder::with(&[("slow.hurl", &text)]);
    let ended = folder.load("slow.hurl --sequential -n2 --timeout 10m");
    ended.with(1);
    let result = folder.result();
    result.holds("outcomes.timed_out=2");
    let detail = &result["flows"]["entries"][0]["first_wrong"]["detail"];
    assert_eq!(detail, "no whole response within 50ms");
}

#[test]
fn requests_are_those_of_hurl_but_for_the_name_of_the_client() {
    let server = HttpServer::start();
    let host = server.address.to_string();
    let text = "GET http://bob:secret@HOST/a/../b?c=d\nHTTP 200\n[Asserts]\nurl == \"http://HOST/b?c=d\"\n";
    let folder = Folder::with(&[("one.hurl", &text.replace("HOST", &host))]);
    let ended = folder.load("one.hurl --sequential -n1");
    ended.with(0).prints("1 ok flow");
    let host = format!("Host: {host}");
    let expected = [
        "GET /b?c=d HTTP/1.1",
        &host,
        "accept: */*",
        "authorization: Basic Ym9iOnNlY3JldA==",
        concat!("user-agent: prony/", env!("CARGO_PKG_VERSION")),
    ];
    assert_eq!(sorted_head(&server.first()), expected);
}

#[test]
fn files_are_read_beside_the_hurl_file() {
    let server = HttpServer::start();
    let (url, folder) = (server.url(), Folder::with(&[("secret.txt", "secret")]));
    fs::create_dir(folder.path("flows")).unwrap();
    folder.write("flows/body.bin", b"\0\xffx");
    folder.write("flows/a.hurl", format!("PUT {url}x\nfile,body.bin;\n"));
    folder
        .load("flows/a.hurl -n1 -c1")
        .with(0)
        .prints("  1 request of flows/a.hurl in each flow\n");
    assert_eq!(server.first().body, b"\0\xffx");
    folder.write("flows/b.hurl", format!("PUT {url}x\nfile,../secret.txt;\n"));
    let refused = "flows/b.hurl:2:6: … unauthorized access to file ../secret.txt";
    folder.refuses(2, &format!("flows/b.hurl -n1 -c1 | {refused}"));
    assert_eq!(server.count(), 1);
}

#[test]
fn an_interrupted_load_keeps_its_flows() {
    let server = HttpServer::start();
    let text = "GET http://{{host}}/1\nGET http://{{host}}/2\n[Options]\ndelay: 1h\n";
    let folder = Folder::with(&[("a.hurl", text)]);
    let host = format!("--variable host={}", server.address);
    let running = folder.start(format!("a.hurl -t1 -d1h -c2 {host}"));
    until("both users", || (server.count() == 2).then_some(()));
    // The client takes the responses a little later.
    std::thread::sleep(Duration::from_millis(200));
    running.signal(Signal::SIGINT);
    running
        .end()
        .with(130)
        .prints("  0 ok flows, 0/s, 2 in progress at the end\n");
    folder.holds("ended=interrupted flows.ok=0 flows.failed=0 flows.unfinished=2");
}

#[test]
fn bad_input_is_reported_before_the_load() {
    let folder = Folder::new();
    for [name, text] in rows(
        r#"
        good.hurl | GET http://{{host}}/\n
        wrong.hurl | GET http://{{host}}/\nHTTP 200\n[Asserts]\nstatus equals 200\n
        refused.hurl | GET http://{{host}}/\n[Options]\nproxy: localhost:3128\n
        response.hurl | GET http://{{host}}/\nHTTP 200\n[Asserts]\nbody == {{id}}\n
        undefined.hurl | GET http://{{host}}/\nX-Id: {{id}}\n
        body.hurl | POST http://{{host}}/\n{"id": {{id}}}\n
        empty.hurl | # nothing\n
        two.hurl | GET http://{{host}}/\nGET http://other/\n
        rows.csv | id\n1\n
        names.csv | id,newUuid\n1,2\n
        empty.csv | id,name\n
        short.csv | id,name\n1,ann\n2\n
        bad.jsonl | {"id": 1}\n{id: 2}\n
    "#,
    ) {
        folder.write(name, text);
    }
    fs::create_dir(folder.path("folder.hurl")).unwrap();
    let host = |table: &str| table.replace("HOST", "--variable host=127.0.0.1:1");
    let wrong = r"
        wrong.hurl HOST | --> wrong.hurl:4:8\n … 4 \x7c status equals 200\n   \x7c        ^\x20
        refused.hurl HOST | 3 \x7c proxy: localhost:3128\n   \x7c ^ Prony does not support the option proxy\n
        response.hurl HOST | response.hurl:4:11: the variable `id` is not defined; give it with --variable id=VALUE
        undefined.hurl HOST | undefined.hurl:2:9: the variable `id` is not defined; give it with --variable id=VALUE
        body.hurl HOST | body.hurl:2:10: the variable `id` is not defined
        empty.hurl HOST | empty.hurl has no entries
        two.hurl HOST | two.hurl:2:5: http://other/ is on another server than\x20
        good.hurl HOST --rows empty.csv | empty.csv has no rows
        good.hurl HOST --rows short.csv | short.csv has 1 instead of 2 columns in line 3
        good.hurl HOST --rows bad.jsonl | bad.jsonl has no JSON object in line 2:\x20
        good.hurl HOST --rows rows.csv --variable id=1 | rows.csv sets the variable `id`, which has another source
        good.hurl HOST --rows rows.csv --rows rows.csv | rows.csv sets the variable `id`, which has another source
        good.hurl HOST --variable id=1 --counter id | --counter id sets the variable `id`, which has another source
        good.hurl HOST --variable id | --variable id: write NAME=VALUE
        good.hurl HOST --secret =x | write NAME=VALUE
        good.hurl HOST --variable newDate=x | --variable newDate sets `newDate`, which cannot be the name of a variable:\x20
        good.hurl HOST --counter newUuid | --counter newUuid sets `newUuid`, which cannot be the name of a variable:\x20
        good.hurl HOST --random 'a b=1..5' | --random a b=1..5 sets `a b`, which cannot be the name of a variable:\x20
        good.hurl HOST --rows names.csv | names.csv sets `newUuid`, which cannot be the name of a variable:\x20
        good.hurl HOST --counter id=many | --counter id=many: `many` is not a whole number
        good.hurl HOST --random id=5..1 | --random id=5..1: the smaller number comes first: write 1..5
        good.hurl HOST -X POST | -X does not go with a Hurl file; write it into good.hurl
        good.hurl HOST -H 'A: b' | -H does not go with a Hurl file
        good.hurl HOST -b x | --body does not go with a Hurl file
        good.hurl HOST --order random | --order does not go with a Hurl file
        good.hurl HOST --expect-status 200 | --expect-status does not go with a Hurl file
        good.hurl HOST --pipeline 2 | pipelining cannot be combined with a scenario
        good.hurl HOST URL | good.hurl must be the only target
        good.hurl HOST undefined.hurl | must be the only target
        --rows rows.csv URL | --rows needs a Hurl file
        --variable id=1 URL | --variable needs a Hurl file
        --think-time 1s URL | --think-time needs --users, or a Hurl file
    ";
    folder.refuses(2, &host(wrong));
    // What is not the fault of the command line.
    let unreadable = "
        none.hurl HOST | none.hurl: No such file or directory
        folder.hurl HOST | folder.hurl: it is not a file
        good.hurl HOST --rows none.csv | none.csv cannot be read: No such file or directory
        good.hurl HOST --rows . | . cannot be read: Is a directory
    ";
    folder.refuses(1, &host(unreadable));
}
