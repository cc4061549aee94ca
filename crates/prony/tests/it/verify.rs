//! `prony verify`: right servers pass, and every kind of wrong server fails.

use nix::sys::signal::Signal;

use crate::common::project::{Project, manifest, trials};
use crate::common::{
    self, LONG_WITH_BUILDS, Running, leave_out, prony, repository, run, toolchains_are_required,
};

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

#[test]
fn the_servers_of_the_repository_respond_correctly() {
    let servers = here();
    let mut verify = prony(["verify", "--require-toolchains"]);
    verify.args(&servers).current_dir(repository());
    let ended = Running::start(verify).end_within(LONG_WITH_BUILDS).with(0);
    let mut right = Vec::new();
    for server in &servers {
        for workload in workloads_of(server) {
            right.push(format!("verified {server} × {workload}"));
        }
    }
    let mut came = ended.lines("verified ");
    came.sort_unstable();
    right.sort_unstable();
    assert_eq!(came, right);
    let all = format!(
        "servers: {} verified, 0 wrong, 0 failed, 0 skipped",
        servers.len()
    );
    ended.prints(&all);
}

/// A wrong server: how it differs from a right one, in which workload that shows, and the expected
/// message.
struct Lie {
    id: &'static str,
    methods: &'static str,
    workload: &'static str,
    expected: &'static str,
    came: &'static str,
}

const LIES: [Lie; 11] = [
    Lie {
        id: "wrong-status",
        methods: "
    def do_GET(self):
        if self.path == '/hello':
            self.send_error(503)
        else:
            super().do_GET()",
        workload: "hello",
        expected: "status 200",
        came: "status 503",
    },
    Lie {
        id: "wrong-type",
        methods: "
    def respond(self, content_type, body, headers=()):
        super().respond('text/html' if self.path == '/byte' else content_type, body, headers)",
        workload: "byte",
        expected: "content-type text/plain",
        came: "content-type text/html",
    },
    Lie {
        id: "one-byte-off",
        methods: "
    def respond(self, content_type, body, headers=()):
        if self.path == '/':
            body = body[:5000] + b'~' + body[5001:]
        super().respond(content_type, body, headers)",
        workload: "page",
        expected: "102400 bytes, at byte 5000: `",
        came: "102400 bytes, at byte 5000: `~",
    },
    Lie {
        id: "obsolete-event",
        methods: "
    def respond(self, content_type, body, headers=()):
        if self.path == '/sse':
            body = body.replace(b'datastar-patch-elements', b'datastar-merge-fragments')
        super().respond(content_type, body, headers)",
        workload: "sse",
        expected: "an event named datastar-patch-elements",
        came: "an event named datastar-merge-fragments",
    },
    Lie {
        id: "may-be-cached",
        methods: "
    def respond(self, content_type, body, headers=()):
        super().respond(content_type, body, () if self.path == '/sse-20k' else headers)",
        workload: "sse-20k",
        expected: "cache-control: no-cache",
        came: "no cache-control",
    },
    Lie {
        id: "same-quote",
        methods: "
    def respond(self, content_type, body, headers=()):
        super().respond(content_type, QUOTES[0] if body in QUOTES else body, headers)",
        workload: "quote",
        expected: "a line of quotes.txt drawn uniformly and independently for each request",
        came: "drew only 1 of 8 lines in 400 responses",
    },
    Lie {
        id: "two-quotes",
        methods: "
    def respond(self, content_type, body, headers=()):
        if body in QUOTES:
            body = QUOTES[QUOTES.index(body) % 2]
        super().respond(content_type, body, headers)",
        workload: "quote",
        expected: "a line of quotes.txt drawn uniformly and independently for each request",
        came: "drew only 2 of 8 lines in 400 responses",
    },
    Lie {
        id: "quotes-in-turn",
        methods: "
    next = 0
    def respond(self, content_type, body, headers=()):
        if body in QUOTES:
            body = QUOTES[Changed.next]
            Changed.next = (Changed.next + 1) % len(QUOTES)
        super().respond(content_type, body, headers)",
        workload: "quote",
        expected: "a line of quotes.txt drawn uniformly and independently for each request",
        came: "draws the lines in turn: 399 of 399 followed the line that they usually follow",
    },
    Lie {
        id: "cached-quote",
        methods: "
    cached, left = None, 0
    def respond(self, content_type, body, headers=()):
        if body in QUOTES:
            if Changed.left == 0:
                Changed.cached, Changed.left = body, 5
            Changed.left -= 1
            body = Changed.cached
        super().respond(content_type, body, headers)",
        workload: "quote",
        expected: "a line of quotes.txt drawn uniformly and independently for each request",
        came: "are expected",
    },
    Lie {
        id: "no-log-line",
        methods: "
    def log_line(self):
        if self.path != '/log':
            super().log_line()",
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "0 lines",
    },
    Lie {
        id: "two-log-lines",
        methods: "
    def log_line(self):
        super().log_line()
        if self.path == '/log':
            super().log_line()",
        workload: "page-log",
        expected: "3 lines on standard output for 3 requests",
        came: "6 lines",
    },
];

#[test]
fn every_wrong_server_is_reported_with_what_was_expected_and_received() {
    let project = Project::new().with(&["ceiling"]);
    for lie in &LIES {
        project.handler(lie.id, lie.methods);
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

/// The repository's `python-httpserver` over HTTP/1.1; with `{close}` in the header of its responses.
fn over_http_1_1(project: &Project, id: &str, manifest_line: &str, methods: &str) {
    let methods = format!("    protocol_version = 'HTTP/1.1'\n{methods}");
    project.handler(id, &methods);
    let file = project.path().join("servers").join(id).join("server.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    let manifest = manifest.replace("keep_alive = false\n", manifest_line);
    std::fs::write(file, manifest).unwrap();
}

/// Closes each connection after its response, and announces that.
const CLOSING: &str = "
    def end_headers(self):
        self.send_header('Connection', 'close')
        super().end_headers()";

#[test]
fn a_server_that_closes_its_connections_must_say_so() {
    let project = Project::new();
    over_http_1_1(&project, "open", "", "");
    over_http_1_1(&project, "closing", "", CLOSING);
    over_http_1_1(&project, "declared", "keep_alive = false\n", CLOSING);
    // Without announcing it.
    let unsaid = "
    def do_GET(self):
        super().do_GET()
        self.close_connection = True";
    over_http_1_1(&project, "unsaid", "", unsaid);
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
    let file = project.path().join("servers").join(id).join("server.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    let claims = manifest.replace("[\"hello\", ", "[\"hello\", \"hello-tls\", ");
    std::fs::write(file, claims).unwrap();
}

/// Wrong over TLS and without it.
const SHOUTING: &str = "
import os
import ssl

class Shouting(right.Handler):
    def respond(self, content_type, body, headers=()):
        super().respond(content_type, body.upper(), headers)
right.Handler = Shouting

class Encrypted(right.Server):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        if 'TLS_CERT' in os.environ:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.environ['TLS_CERT'], os.environ['TLS_KEY'])
            self.socket = context.wrap_socket(self.socket, server_side=True)
right.Server = Encrypted";

#[test]
fn a_server_that_is_wrong_over_tls_too_shows_the_logs_of_both_processes() {
    let project = Project::new();
    project.python("shouting", SHOUTING, "server");
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
    project.handler("plain", "\n    pass");
    claim_tls(&project, "plain");
    let verify = [
        "verify",
        "--workloads",
        "hello,hello-tls",
        "--ready-timeout",
        "1s",
    ];
    let ended = project.run(&verify).with(1);
    ended
        .prints("verified plain × hello\n")
        .prints("FAILED   plain: over TLS: the server sent no complete response within 1s: ");
}

#[test]
fn one_draw_per_connection_is_reported() {
    let project = Project::new();
    let drawn_once = "
    drawn = None
    def respond(self, content_type, body, headers=()):
        if body in QUOTES:
            self.drawn = self.drawn or body
            body = self.drawn
        super().respond(content_type, body, headers)";
    over_http_1_1(&project, "once", "", drawn_once);
    over_http_1_1(&project, "honest", "", "");
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

/// One server, one round of quotes, long enough for some hundred draws even on a very slow machine.
const QUOTES: &str = r#"
title = "Quotes"
about = "Quotes."
servers = ["lazy"]
rounds = 1

[[measure]]
workloads = ["quote"]
load = { shape = "closed", connections = 8, duration = "2s", warmup = "0s", timeout = "5s" }
"#;

#[test]
fn draws_are_tested_under_load() {
    let project = Project::new().with(&["ceiling"]);
    // Right while it is verified; under load every draw is the first line.
    let lazy = "
    asked = 0
    def respond(self, content_type, body, headers=()):
        if body in QUOTES:
            Changed.asked += 1
            if Changed.asked > 450 or SECOND_START:
                body = QUOTES[0]
        super().respond(content_type, body, headers)";
    let changes = format!(
        "import pathlib\nflag = pathlib.Path('started')\nSECOND_START = flag.exists()\nflag.touch()\n\
         class Changed(right.Handler):\n    protocol_version = 'HTTP/1.1'\n{lazy}\nright.Handler = Changed\n"
    );
    project.python("lazy", &changes, "server");
    project.suite("quotes", QUOTES);
    let ended = project.run(&["run", "quotes", "--no-ceiling"]).with(1);
    ended.says("FAILED   lazy × quote, round 1 (not-drawn): under load: expected a line of quotes.txt drawn");
    let record = project.export();
    assert_eq!(trials(&record, "lazy", "failed").len(), 1);
}

#[test]
fn a_rebuild_runs_the_build_again() {
    let project = Project::new();
    project.handler("mine", "    pass");
    let file = project.path().join("servers/mine/server.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    let build = "build = [[\"sh\", \"-c\", \"echo x >> ../../times\"]]\n";
    std::fs::write(file, manifest + build).unwrap();
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
    let run = |more: &[&str]| {
        let more = [more, &["--rounds", "1"]].concat();
        common::run(project.measure("mine", "hello", &more)).with(0);
    };
    run(&[]);
    assert_eq!(times(), 2);
    run(&["--rebuild"]);
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
    for lie in LIES.iter().filter(|lie| lie.workload == "page") {
        project.handler(lie.id, lie.methods);
    }
    project.handler("honest", "    pass");
    let servers = "ceiling,one-byte-off,honest";
    let measure = project.measure(servers, "hello,page", &["--rounds", "1"]);
    let ended = common::run(measure)
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
    project.handler(
        "hello-only",
        "
    def do_GET(self):
        super().do_GET() if self.path == '/hello' else self.send_error(404)",
    );
    let file = project.path().join("servers/hello-only/server.toml");
    let manifest = std::fs::read_to_string(&file).unwrap();
    let list = r#"workloads = ["hello""#;
    let (before, after) = manifest.split_once(list).unwrap();
    let rest = after.split_once(']').unwrap().1;
    std::fs::write(&file, format!("{before}{list}]{rest}")).unwrap();
    let verified = project.run(&["verify", "hello-only"]).with(0);
    assert_eq!(verified.lines("verified"), ["verified hello-only × hello"]);
    let more = ["--rounds", "1"];
    common::run(project.measure("ceiling,hello-only", "hello,page", &more)).with(0);
    let record = project.export();
    assert_eq!(trials(&record, "hello-only", "measured").len(), 1);
    assert_eq!(trials(&record, "ceiling", "measured").len(), 2);
}

#[test]
fn a_server_in_a_folder_anywhere_can_be_verified() {
    let project = Project::new();
    project.handler("mine", "    pass");
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
    let manifest = common::project::manifest(&["true"]) + "needs = [\"go >= 999.0\"]\n";
    project.manifest("of-the-future", &manifest);
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
