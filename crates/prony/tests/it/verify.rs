//! `prony verify`: right servers pass, and every kind of wrong server fails.

use std::cell::{Cell, OnceCell};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use nix::sys::signal::Signal;
use prony_testkit::server::{Change, Request, Response, quotes};

use crate::common::project::{Project, manifest, trials};
use crate::common::{Running, leave_out, prony, repository, run, toolchains_are_required};

/// Compilers take minutes on a busy machine.
const LONG_WITH_BUILDS: Duration = Duration::from_secs(1200);

const WORKLOADS: [&str; 7] = [
    "hello", "byte", "page", "page-log", "sse", "sse-20k", "quote",
];
const OVER_TLS: [&str; 3] = ["hello-tls", "page-tls", "hello-h2"];
const CALLS: [&str; 2] = ["grpc-unary", "grpc-stream"];
const SERVERS: [&str; 8] = [
    "bun",
    "ceiling",
    "go-grpc",
    "go-nethttp",
    "python-httpserver",
    "rust-axum",
    "rust-hyper",
    "zig-std",
];

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
        return SERVERS.to_vec();
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
    SERVERS.into_iter().filter(is_here).collect()
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
    let count = servers.len();
    ended.prints(&format!(
        "servers: {count} verified, 0 wrong, 0 failed, 0 skipped"
    ));
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

/// A wrong server: how it differs from a right one, in which workload that shows, and the expected
/// message.
struct Lie {
    id: &'static str,
    change: Change,
    workload: &'static str,
    expected: &'static str,
    came: &'static str,
}

const DRAWN: &str = "a line of quotes.txt drawn uniformly and independently for each request";

const LIES: [Lie; 11] = [
    Lie {
        id: "wrong-status",
        change: |request, response| {
            if request.path == "/hello" {
                response.status = 503;
            }
        },
        workload: "hello",
        expected: "status 200",
        came: "status 503",
    },
    Lie {
        id: "wrong-type",
        change: |request, response| {
            if request.path == "/byte" {
                response.headers = vec![("content-type", "text/html".to_owned())];
            }
        },
        workload: "byte",
        expected: "content-type text/plain",
        came: "content-type text/html",
    },
    Lie {
        id: "one-byte-off",
        change: |request, response| {
            if request.path == "/" {
                response.body[5000] = b'~';
            }
        },
        workload: "page",
        expected: "102400 bytes, at byte 5000: `",
        came: "102400 bytes, at byte 5000: `~",
    },
    Lie {
        id: "obsolete-event",
        change: |request, response| {
            if request.path == "/sse" {
                let data = response
                    .body
                    .split_off("event: datastar-patch-elements".len());
                response.body = [b"event: datastar-merge-fragments", &data[..]].concat();
            }
        },
        workload: "sse",
        expected: "an event named datastar-patch-elements",
        came: "an event named datastar-merge-fragments",
    },
    Lie {
        id: "may-be-cached",
        change: |request, response| {
            if request.path == "/sse-20k" {
                response
                    .headers
                    .retain(|(name, _)| *name != "cache-control");
            }
        },
        workload: "sse-20k",
        expected: "cache-control: no-cache",
        came: "no cache-control",
    },
    Lie {
        id: "same-quote",
        change: |request, response| quote(request, response, |_| 0),
        workload: "quote",
        expected: DRAWN,
        came: "drew only 1 of 8 lines in 400 responses",
    },
    Lie {
        id: "two-quotes",
        change: |request, response| quote(request, response, |drawn| drawn % 2),
        workload: "quote",
        expected: DRAWN,
        came: "drew only 2 of 8 lines in 400 responses",
    },
    Lie {
        id: "quotes-in-turn",
        change: |request, response| {
            thread_local! {
                static NEXT: Cell<usize> = const { Cell::new(0) };
            }
            quote(request, response, |_| NEXT.replace(NEXT.get() + 1));
        },
        workload: "quote",
        expected: DRAWN,
        came: "draws the lines in turn: 392 of 392 followed the line that they usually follow",
    },
    Lie {
        id: "cached-quote",
        change: |request, response| {
            thread_local! {
                static CACHED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
            }
            quote(request, response, |drawn| {
                let cached = match CACHED.get() {
                    (_, 0) => (drawn, 4),
                    (cached, left) => (cached, left - 1),
                };
                CACHED.set(cached);
                cached.0
            });
        },
        workload: "quote",
        expected: DRAWN,
        came: "are expected",
    },
    Lie {
        id: "no-log-line",
        change: |request, response| {
            if request.path == "/log" {
                response.output.clear();
            }
        },
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "0 lines",
    },
    Lie {
        id: "two-log-lines",
        change: |request, response| {
            if request.path == "/log" {
                response.output = response.output.repeat(2);
            }
        },
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "6 lines",
    },
];

/// Another quote, by the number of the drawn one. A connection has a thread of its own.
fn quote(request: &Request, response: &mut Response, other: impl FnOnce(usize) -> usize) {
    if request.path == "/franklin-says" {
        let drawn = quotes().iter().position(|quote| *quote == response.body);
        let other = other(drawn.unwrap()) % quotes().len();
        response.body = quotes()[other].clone();
    }
}

/// What other servers of these tests do.
const OTHERS: [(&str, Change); 6] = [
    ("closing", |_, response| {
        response.headers.push(("connection", "close".to_owned()));
        response.closes = true;
    }),
    ("closing-silently", |_, response| response.closes = true),
    ("shouting", |_, response| {
        response.body = response.body.to_ascii_uppercase();
    }),
    ("drawn-once", |request, response| {
        thread_local! {
            static DRAWN: OnceCell<usize> = const { OnceCell::new() };
        }
        // A connection has a thread of its own.
        quote(request, response, |drawn| {
            DRAWN.with(|once| *once.get_or_init(|| drawn))
        });
    }),
    // Right while it is verified; under load every draw is the first line.
    ("lazy", |request, response| {
        static IS_SECOND_START: LazyLock<bool> = LazyLock::new(|| {
            let is_second = Path::new("started").exists();
            fs::write("started", "").unwrap();
            is_second
        });
        if *IS_SECOND_START || request.number > 450 {
            quote(request, response, |_| 0);
        }
    }),
    ("hello-only", |request, response| {
        if request.path != "/hello" {
            response.status = 404;
        }
    }),
];

pub fn changes() -> Vec<(&'static str, Change)> {
    let lies = LIES.iter().map(|lie| (lie.id, lie.change));
    lies.chain(OTHERS).collect()
}

#[test]
fn every_wrong_server_is_reported_with_what_was_expected_and_received() {
    let project = Project::new().with(&["ceiling"]);
    for lie in &LIES {
        project.server(lie.id, lie.id);
    }
    let ended = project.run(&["verify"]).with(1);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    for lie in &LIES {
        let head = format!("WRONG    {} × {}", lie.id, lie.workload);
        let at = lines.iter().position(|line| *line == head);
        let at = at.unwrap_or_else(|| panic!("no `{head}` in {}", ended.all()));
        let said = |line: &str, what: &str, text: &str| {
            let start = format!("  {what:8} ");
            let is_said = line.starts_with(&start) && line.contains(text);
            assert!(is_said, "{head}: no `{start}` with `{text}` in `{line}`");
        };
        said(lines[at + 1], "expected", lie.expected);
        said(lines[at + 2], "received", lie.came);
        // It is right in every other workload.
        for workload in WORKLOADS.iter().filter(|one| **one != lie.workload) {
            let right = format!("verified {} × {workload}", lie.id);
            assert!(lines.contains(&right.as_str()), "{right}: {}", ended.all());
        }
    }
    assert_eq!(ended.lines("WRONG").len(), LIES.len(), "{}", ended.all());
    ended.prints("servers: 1 verified, 11 wrong, 0 failed, 0 skipped");
}

#[test]
fn a_server_that_closes_its_connections_must_say_so() {
    let project = Project::new();
    project.server("open", "right");
    project.server("closing", "closing");
    project.server_with("declared", "closing", "keep_alive = false\n");
    project.server("unsaid", "closing-silently");
    let ended = project.run(&["verify", "--workloads", "hello,page-log,quote"]);
    let ended = ended.with(1);
    for (id, verdict) in [
        ("open", "verified"),
        ("declared", "verified"),
        ("closing", "WRONG"),
        ("unsaid", "WRONG"),
    ] {
        for workload in ["hello", "page-log", "quote"] {
            let line = format!("{verdict:8} {id} × {workload}");
            assert_eq!(ended.lines(&line).len(), 1, "{line}: {}", ended.all());
        }
    }
    ended
        .prints("  expected a connection kept open for the next request, as in HTTP/1.1")
        .prints("the server closed it after a response; if that is intended, add `keep_alive = false` to its manifest");
}

/// Adds `hello-tls` to the workloads in the manifest of a server.
fn claim_tls(project: &Project, id: &str) {
    project.edit(id, "[\"hello\", ", "[\"hello\", \"hello-tls\", ");
}

#[test]
fn a_server_that_is_wrong_over_tls_too_shows_the_logs_of_both_processes() {
    let project = Project::new();
    project.server("shouting", "shouting");
    claim_tls(&project, "shouting");
    let verify = ["verify", "--workloads", "hello,hello-tls"];
    let ended = project
        .run(&verify)
        .with(1)
        .prints("WRONG    shouting × hello\n")
        .prints("WRONG    shouting × hello-tls\n");
    let logs = ended.lines("logs     ");
    assert_eq!(logs.len(), 2, "{}", ended.all());
    assert!(logs[0].contains("/shouting-verify.log"), "{logs:?}");
    assert!(logs[1].contains("/shouting-verify-tls.log"), "{logs:?}");
}

#[test]
fn a_server_without_tls_fails_only_what_is_over_tls() {
    let project = Project::new();
    let script = "unset TLS_CERT; exec \"$0\" \"$@\"";
    project.wrapped("plain", script, "right", "server");
    claim_tls(&project, "plain");
    let verify = [
        "verify",
        "--workloads",
        "hello,hello-tls",
        "--ready-timeout",
        "2s",
    ];
    let ended = project.run(&verify).with(1);
    ended
        .prints("verified plain × hello\n")
        .prints("FAILED   plain: over TLS: the server sent no complete response within 2s: ");
}

#[test]
fn one_draw_per_connection_is_reported() {
    let project = Project::new();
    project.server("once", "drawn-once");
    project.server("honest", "right");
    let ended = project.run(&["verify", "--workloads", "quote"]).with(1);
    assert_eq!(
        ended.lines("verified honest × quote").len(),
        1,
        "{}",
        ended.all()
    );
    // All eight connections draw the same line once in two million times.
    ended
        .prints("WRONG    once × quote")
        .prints("  received each connection keeps getting the same line");
}

/// One server, one round of some hundred quotes.
const QUOTES: &str = r#"
title = "Quotes"
about = "Quotes."
servers = ["lazy"]
rounds = 1

[[measure]]
workloads = ["quote"]
load = { shape = "closed", connections = 8, requests = 800, warmup = "0s", timeout = "5s" }
"#;

#[test]
fn draws_are_tested_under_load() {
    let project = Project::new();
    project.server("lazy", "lazy");
    project.suite("quotes", QUOTES);
    let ended = project.run(&["run", "quotes"]).with(1);
    ended.says("FAILED   lazy × quote, round 1 (not-drawn): under load: expected a line of quotes.txt drawn");
    let record = project.export();
    assert_eq!(trials(&record, "lazy", "failed").len(), 1);
}

#[test]
fn a_rebuild_runs_the_build_again() {
    let project = Project::new();
    let build = "build = [[\"sh\", \"-c\", \"echo x >> ../../times\"]]\n";
    project.server_with("mine", "right", build);
    let times = || {
        std::fs::read_to_string(project.path().join("times"))
            .unwrap()
            .lines()
            .count()
    };
    let verify = ["verify", "mine", "--workloads", "hello"];
    for _ in 0..2 {
        project.run(&verify).with(0);
        assert_eq!(times(), 1);
    }
    project.run(&[&verify[..], &["--rebuild"]].concat()).with(0);
    assert_eq!(times(), 2);
    let once = ["--rounds", "1", "--rebuild"];
    run(project.measure("mine", "hello", &once[..2])).with(0);
    assert_eq!(times(), 2);
    run(project.measure("mine", "hello", &once)).with(0);
    assert_eq!(times(), 3);
}

#[test]
fn only_servers_with_a_build_are_said_to_be_built() {
    let project = Project::new();
    project.command("plain", &["false"]);
    let built = manifest(&["false"]) + "build = [[\"true\"]]\n";
    project.manifest("built", &built);
    let ended = project.run(&["verify", "plain", "built"]).with(1);
    assert!(!ended.stderr.contains("building plain"), "{}", ended.stderr);
    let line = ended
        .stderr
        .lines()
        .find(|line| line.starts_with("building built"));
    assert!(line.is_some(), "{}", ended.stderr);
}

#[test]
fn a_wrong_server_is_neither_measured_nor_ranked() {
    let project = Project::new().with(&["ceiling"]);
    project.server("one-byte-off", "one-byte-off");
    project.server("honest", "right");
    let servers = "ceiling,one-byte-off,honest";
    let measure = project.measure(servers, "hello,page", &["--rounds", "1"]);
    let ended = run(measure)
        .with(1)
        .says("WRONG    one-byte-off × page: expected 102400 bytes, at byte 5000: `");
    let (tables, not_measured) = ended.stdout.split_once("Not measured").unwrap();
    assert!(
        not_measured.contains("one-byte-off on page: "),
        "{not_measured}"
    );
    assert!(not_measured.contains("at byte 5000"), "{not_measured}");
    let page = tables.split("\npage").nth(1).unwrap();
    assert!(
        page.contains("honest") && !page.contains("one-byte-off"),
        "{page}"
    );

    let record = project.export();
    let of = |server, result| trials(&record, server, result).len();
    assert_eq!(
        (of("honest", "measured"), of("ceiling", "measured")),
        (2, 2)
    );
    // It is right in the other workload, which is measured.
    assert_eq!(of("one-byte-off", "measured"), 1);
    assert_eq!(of("one-byte-off", "failed"), 0);
}

#[test]
fn a_server_need_not_serve_unlisted_workloads() {
    let project = Project::new().with(&["ceiling"]);
    project.server("hello-only", "hello-only");
    project.edit("hello-only", &format!("{WORKLOADS:?}"), "[\"hello\"]");
    let verified = project.run(&["verify", "hello-only"]).with(0);
    assert_eq!(verified.lines("verified"), ["verified hello-only × hello"]);
    let more = ["--rounds", "1"];
    run(project.measure("ceiling,hello-only", "hello,page", &more)).with(0);
    let record = project.export();
    assert_eq!(trials(&record, "hello-only", "measured").len(), 1);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 2);
}

#[test]
fn a_server_in_a_folder_anywhere_can_be_verified() {
    let project = Project::new();
    project.server("mine", "right");
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path().join("mine");
    std::fs::rename(project.path().join("servers/mine"), &folder).unwrap();
    let folder = folder.to_str().unwrap();
    let ended = project.run(&["verify", folder, "--workloads", "hello,quote"]);
    let ended = ended.with(0);
    assert_eq!(
        ended.lines("verified"),
        ["verified mine × hello", "verified mine × quote"]
    );
}

#[test]
fn a_missing_toolchain_is_skipped_or_an_error_if_it_is_required() {
    let project = Project::new().with(&["ceiling"]);
    let future = manifest(&["true"]) + "needs = [\"go >= 999.0\"]\n";
    project.manifest("of-the-future", &future);
    let ended = project.run(&["verify", "--workloads", "hello"]).with(0);
    let skipped = ended.lines("SKIPPED  of-the-future: ");
    assert_eq!(skipped.len(), 1, "{}", ended.all());
    assert!(skipped[0].contains("999"), "{}", skipped[0]);
    assert!(skipped[0].contains("to install it: "), "{}", skipped[0]);
    let required = ["verify", "--workloads", "hello", "--require-toolchains"];
    project.run(&required).with(1);
}

#[test]
fn in_an_empty_folder_it_says_how_many_servers_it_verifies_and_how_to_choose() {
    let folder = tempfile::tempdir().unwrap();
    let mut verify = prony(["verify"]);
    verify.current_dir(&folder);
    let mut running = Running::start(verify);
    running.await_stderr("name the ones to verify, for instance: prony verify go-nethttp");
    running.signal(Signal::SIGINT);
    let ended = running.end().with(130);
    let first = ended.stderr.lines().next().unwrap();
    assert!(first.contains("so Prony verifies all "), "{first}");
}
