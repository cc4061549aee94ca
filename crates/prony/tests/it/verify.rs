//! `prony verify`: right servers pass, and every kind of wrong server fails.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use nix::sys::signal::Signal;
use prony_testkit::server::{Change, Request, Response, quotes};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

use crate::common::project::{Project, trials};
use crate::common::{Running, leave_out, prony, repository, run, toolchains_are_required};

/// Compilers take minutes on a busy machine.
const LONG_WITH_BUILDS: Duration = Duration::from_secs(1200);

const WORKLOADS: [&str; 7] = [
    "hello", "byte", "page", "page-log", "sse", "sse-20k", "quote",
];
const OVER_TLS: [&str; 3] = ["hello-tls", "page-tls", "hello-h2"];
const CALLS: [&str; 2] = ["grpc-unary", "grpc-stream"];
const SERVERS: &str =
    "bun ceiling go-grpc go-nethttp python-httpserver rust-axum rust-hyper zig-std";

fn workloads_of(server: &str) -> Vec<&'static str> {
    match server {
        "ceiling" => [&WORKLOADS[..], &OVER_TLS, &CALLS].concat(),
        "go-grpc" => CALLS.to_vec(),
        "python-httpserver" | "zig-std" => WORKLOADS.to_vec(),
        _ => [&WORKLOADS[..], &OVER_TLS].concat(),
    }
}

/// The servers of the repository that can be verified here.
fn here() -> Vec<&'static str> {
    if toolchains_are_required() {
        return SERVERS.split(' ').collect();
    }
    let mut list = prony(["list", "servers"]);
    list.current_dir(repository());
    let listed = run(list).with(0);
    let is_here = |id: &&str| {
        let lines = listed.stdout.lines();
        let mut of_id = lines.filter(|line| line.split_whitespace().next() == Some(id));
        let here = of_id.any(|line| line.ends_with("  installed"));
        if !here {
            leave_out(id, "its toolchain is not here");
        }
        here
    };
    SERVERS.split(' ').filter(is_here).collect()
}

/// The servers of the repository must be right in all of their workloads.
fn respond_correctly(servers: &[&str]) {
    let mut verify = prony(["verify", "--require-toolchains"]);
    verify.args(servers).current_dir(repository());
    let ended = Running::start(verify).end_within(LONG_WITH_BUILDS).with(0);
    let mut right = Vec::new();
    for server in servers {
        for workload in workloads_of(server) {
            right.push(format!("verified {server} × {workload}"));
        }
    }
    let mut came = ended.lines("verified ");
    came.sort_unstable();
    right.sort_unstable();
    assert_eq!(came, right);
    let count = format!(
        "servers: {} verified, 0 wrong, 0 failed, 0 skipped",
        servers.len()
    );
    ended.prints(&count);
}

#[test]
#[ignore = "full check: builds servers in six languages"]
fn the_servers_of_the_repository_respond_correctly() {
    respond_correctly(&here());
}

#[test]
fn servers_of_the_repository_without_a_build_respond_correctly() {
    respond_correctly(&["ceiling", "python-httpserver"]);
}

/// Where the quotes are.
const QUOTE: &str = "/franklin-says";
const DRAWN: &str = "a line of quotes.txt drawn uniformly and independently for each request";

/// The wrong servers: the workload in which each is wrong, and what Prony expected and received.
const LIES: &str = "
    wrong-status | hello | status 200 | 500: hello from prony
    wrong-type | byte | content-type text/plain | content-type text/html
    one-byte-off | page | 102400 bytes, at byte 5000: ` | 102400 bytes, at byte 5000: `~
    obsolete-event | sse | an event named datastar-patch-elements | an event named datastar-merge-fragments
    may-be-cached | sse-20k | cache-control: no-cache | no cache-control
    same-quote | quote | DRAWN | drew only 1 of 8 lines in 400 responses
    two-quotes | quote | DRAWN | drew only 2 of 8 lines in 400 responses
    quotes-in-turn | quote | DRAWN | draws the lines in turn: 392 of 392 followed the line that they usually follow
    cached-quote | quote | DRAWN | are expected
    // All eight connections draw the same line once in two million times.
    once-per-connection | quote | DRAWN | each connection keeps getting the same line
    no-log-line | page-log | 3 lines on standard output for 3 requests | 0 lines
    two-log-lines | page-log | 3 lines on standard output for 3 requests | 6 lines
";

/// Adds the wrong server of that name.
fn add_liar(project: &Project, lie: &str) {
    project.server_with(lie, "lies", &format!("env = {{ LIE = {lie:?} }}\n"));
}

/// It is right in every workload but one.
fn lie(request: &Request, response: &mut Response) {
    let lie = std::env::var("LIE").unwrap();
    match (lie.as_str(), request.path.as_str()) {
        ("wrong-status", "/hello") => response.status = 500,
        ("unavailable", _) => response.status = 503,
        ("wrong-type", "/byte") => response.headers[0].1 = "text/html".to_owned(),
        ("one-byte-off", "/") => response.body[5000] = b'~',
        ("obsolete-event", "/sse") => {
            let data = &response.body["event: datastar-patch-elements".len()..];
            response.body = [b"event: datastar-merge-fragments", data].concat();
        }
        ("may-be-cached", "/sse-20k") => response
            .headers
            .retain(|(name, _)| *name != "cache-control"),
        ("no-log-line", "/log") => response.output.clear(),
        ("two-log-lines", "/log") => response.output = response.output.repeat(2),
        (_, QUOTE) => lie_about_quotes(&lie, response),
        _ => {}
    }
}

/// A connection has a thread of its own.
fn lie_about_quotes(lie: &str, response: &mut Response) {
    thread_local! {
        static DRAWS: Cell<usize> = const { Cell::new(0) };
        static KEPT: Cell<usize> = const { Cell::new(0) };
    }
    let is_drawn = |quote: &Vec<u8>| *quote == response.body;
    let drawn = quotes().iter().position(is_drawn).unwrap();
    let draws = DRAWS.replace(DRAWS.get() + 1);
    let kept_for = |count| {
        if draws.is_multiple_of(count) {
            KEPT.set(drawn);
        }
        KEPT.get()
    };
    let other = match lie {
        "same-quote" => 0,
        "two-quotes" => drawn % 2,
        "quotes-in-turn" => draws % quotes().len(),
        "cached-quote" => kept_for(2),
        "once-per-connection" => kept_for(usize::MAX),
        _ => drawn,
    };
    response.body.clone_from(&quotes()[other]);
}

pub(crate) const CHANGES: [(&str, Change); 7] = [
    ("lies", lie),
    ("closing", |_, response| {
        response.headers.push(("connection", "close".to_owned()));
        response.closes = true;
    }),
    ("closing-silently", |_, response| response.closes = true),
    ("shouting", |_, response| {
        response.body.make_ascii_uppercase()
    }),
    // Right while it is verified; under load every draw is the first line.
    ("lazy", |request, response| {
        static IS_SECOND_START: LazyLock<bool> = LazyLock::new(|| {
            let is_second = Path::new("started").exists();
            fs::write("started", "").unwrap();
            is_second
        });
        if request.path == QUOTE && (*IS_SECOND_START || request.number > 450) {
            response.body.clone_from(&quotes()[0]);
        }
    }),
    ("starting", |request, response| {
        if request.number < 8 {
            response.status = 503;
        }
    }),
    ("hello-only", |request, response| {
        if request.path != "/hello" {
            response.status = 404;
        }
    }),
];

#[test]
fn every_wrong_server_is_reported_with_what_was_expected_and_received() {
    let project = Project::new().with(&["ceiling"]);
    let lies = rows::<4>(LIES);
    lies.iter().for_each(|[id, ..]| add_liar(&project, id));
    let ended = project.run("verify").with(1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    for [id, wrong_in, expected, received] in &lies {
        let head = format!("WRONG    {id} × {wrong_in}");
        let at = lines.iter().position(|line| *line == head);
        let at = at.unwrap_or_else(|| panic!("no `{head}` in {}", ended.all()));
        let expected = expected.replace("DRAWN", DRAWN);
        for (line, start, text) in [
            (lines[at + 1], "  expected ", expected.as_str()),
            (lines[at + 2], "  received ", received),
        ] {
            let is_said = line.starts_with(start) && line.contains(text);
            assert!(is_said, "{head}: no `{start}` with `{text}` in `{line}`");
        }
        // It is right in every other workload.
        for workload in WORKLOADS.iter().filter(|one| *one != wrong_in) {
            let right = format!("verified {id} × {workload}");
            assert!(lines.contains(&right.as_str()), "{right}: {}", ended.all());
        }
    }
    assert_eq!(ended.lines("WRONG").len(), lies.len(), "{}", ended.all());
    ended.prints("servers: 1 verified, 12 wrong, 0 failed, 0 skipped");
}

#[test]
fn a_server_is_ready_when_it_sends_its_first_expected_response() {
    let project = Project::new();
    project.server("starting", "starting");
    let verified = project.run("verify --workloads page-log,hello").with(0);
    let lines = ["page-log", "hello"].map(|id| format!("verified starting × {id}"));
    assert_eq!(verified.lines("verified "), lines);
    run(project.measure("starting", "hello", "--rounds 1")).with(0);
    assert_eq!(trials(&project.export(), "starting", "measured").len(), 1);
    project.check("0 | load starting -n1 | started  starting");
    // Until the time is over.
    project.server_with("unavailable", "lies", "env = { LIE = \"unavailable\" }\n");
    project
        .run("verify unavailable --workloads hello --ready-timeout 5s")
        .with(1)
        .prints("WRONG    unavailable × hello")
        .prints("received 503");
}

#[test]
fn a_server_that_closes_its_connections_must_say_so() {
    let project = Project::new();
    project.server("open", "right");
    project.server("closing", "closing");
    project.server_with("declared", "closing", "keep_alive = false\n");
    project.server("unsaid", "closing-silently");
    let ended = project.run("verify --workloads hello,page-log,quote");
    let ended = ended.with(1);
    for server in [
        "verified open",
        "verified declared",
        "WRONG    closing",
        "WRONG    unsaid",
    ] {
        let lines = ["hello", "page-log", "quote"].map(|workload| format!("{server} × {workload}"));
        assert_eq!(ended.lines(&format!("{server} ")), lines);
    }
    ended
        .prints("  expected a connection kept open for the next request, as in HTTP/1.1")
        .prints("the server closed it after a response; if that is intended, add `keep_alive = false` to its manifest");
}

#[test]
fn over_tls_a_server_is_another_process_with_failures_and_a_log_of_its_own() {
    let project = Project::new();
    project.server("shouting", "shouting");
    let script = "unset TLS_CERT; exec \"$0\" \"$@\"";
    project.wrapped("plain", script, "right", "server");
    for id in ["shouting", "plain"] {
        let manifest = format!("servers/{id}/server.toml");
        project.edit(&manifest, "[\"hello\", ", "[\"hello\", \"hello-tls\", ");
    }
    let ended = project
        .run("verify --workloads hello,hello-tls --ready-timeout 5s")
        .with(1)
        .prints("verified plain × hello\n")
        .prints("FAILED   plain: over TLS: the server sent no complete response within 5s: ")
        .prints("WRONG    shouting × hello\n")
        .prints("WRONG    shouting × hello-tls\n");
    let logs = ended.lines("logs     ").join("\n");
    contains(&logs, "/shouting-verify.log");
    contains(&logs, "/shouting-verify-tls.log");
}

/// One server and one round. However fast the server is, some hundred quotes a second are compared, which is enough.
const QUOTES: &str = r#"
title = "Quotes"
about = "Quotes."
servers = ["lazy"]
rounds = 1

[[measure]]
workloads = ["quote"]
load = { shape = "closed", connections = 8, requests = 4000, warmup = "0s", timeout = "5s" }
"#;

#[test]
fn draws_are_tested_under_load() {
    let project = Project::new();
    project.server("lazy", "lazy");
    project.suite("quotes", QUOTES);
    let ended = project.run("run quotes").with(1);
    ended.says("FAILED   lazy × quote, round 1 (not-drawn): under load: expected a line of quotes.txt drawn");
    assert_eq!(trials(&project.export(), "lazy", "failed").len(), 1);
}

#[test]
fn a_rebuild_runs_the_build_again() {
    let project = Project::new();
    let build = "build = [[\"sh\", \"-c\", \"echo x >> ../../times\"]]\n";
    project.server_with("mine", "right", build);
    let verify = |more: &str| project.prony(&format!("verify mine --workloads hello {more}"));
    let measure = |more: &str| project.measure("mine", "hello", &format!("--rounds 1 {more}"));
    for (command, times) in [
        (verify(""), 1),
        (verify(""), 1),
        (verify("--rebuild"), 2),
        (measure(""), 2),
        (measure("--rebuild"), 3),
    ] {
        let all = format!("{command:?}");
        run(command).with(0);
        assert_eq!(project.read("times").lines().count(), times, "{all}");
    }
}

#[test]
fn a_wrong_server_is_neither_measured_nor_ranked() {
    let project = Project::new().with(&["ceiling"]);
    add_liar(&project, "one-byte-off");
    project.server("honest", "right");
    let servers = "ceiling,one-byte-off,honest";
    let ended = run(project.measure(servers, "hello,page", "--rounds 1"))
        .with(1)
        .says("WRONG    one-byte-off × page: expected 102400 bytes, at byte 5000: `");
    let (tables, not_measured) = ended.stdout.split_once("Not measured").unwrap();
    contains(not_measured, "one-byte-off on page: ");
    contains(not_measured, "at byte 5000");
    let page = tables.split("\npage").nth(1).unwrap();
    contains(page, "honest");
    lacks(page, "one-byte-off");
    // It is right in the other workload, which is measured.
    let record = project.export();
    let measured = |server| trials(&record, server, "measured").len();
    let counts = ["honest", "ceiling", "one-byte-off"].map(measured);
    assert_eq!(counts, [2, 2, 1]);
    assert!(trials(&record, "one-byte-off", "failed").is_empty());
}

#[test]
fn a_server_need_not_serve_unlisted_workloads() {
    let project = Project::new().with(&["ceiling"]);
    project.server("hello-only", "hello-only");
    let all = format!("{WORKLOADS:?}");
    project.edit("servers/hello-only/server.toml", &all, "[\"hello\"]");
    let verified = project.run("verify hello-only").with(0);
    assert_eq!(verified.lines("verified"), ["verified hello-only × hello"]);
    run(project.measure("ceiling,hello-only", "hello,page", "--rounds 1")).with(0);
    let record = project.export();
    let measured = |server| trials(&record, server, "measured").len();
    assert_eq!((measured("hello-only"), measured("ceiling")), (1, 2));
}

#[test]
fn in_an_empty_folder_it_says_how_many_servers_it_verifies_and_how_to_choose() {
    let folder = Project::empty();
    let mut running = Running::start(folder.prony("verify"));
    running.await_stderr("name the ones to verify, for instance: prony verify go-nethttp");
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    let first = ended.stderr.lines().next().unwrap();
    contains(first, "so Prony verifies all ");
}
