//! A project that describes itself in `prony.toml`, from `prony init` to a load.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::common::project::Project;
use crate::common::{run, schema};
use prony_testkit::server::{self, Change, hang};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

/// A server of the standard library that keeps connections open.
const SERVER: &str = "\
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        body = b'hello\\n'
        self.send_response(200 if self.path == '/hello' else 404)
        self.send_header('Content-Type', 'text/plain')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer((os.environ['HOST'], int(os.environ['PORT'])), Handler).serve_forever()
";

/// A folder with this program, away from any project.
fn undescribed() -> Project {
    let folder = Project::empty();
    folder.write("server.py", SERVER);
    folder
}

#[test]
fn from_an_undescribed_program_to_a_measured_one() {
    let folder = undescribed();
    let written = folder.run("init --yes").with(0);
    written.prints("GET /hello with status 200");
    let text = folder.read("prony.toml");
    contains(&text, "body = { text = \"hello\\n\" }");
    lacks(&text, "keep_alive");
    // The server has the name of the folder, which the test does not choose.
    let named = text.lines().find(|line| line.starts_with("[server."));
    let id = &named.unwrap()["[server.".len()..].trim_end_matches(']');
    folder.check(&format!(
        "
        2 | init --yes | exists already; edit it, or replace it with --force
        0 | verify | >verified {id} × hello
        0 | list | >Servers of this project
        0 | run --rounds 2 --duration 50ms --warmup 10ms --json run.json | >{id}
        2 | load {id} -H 'a: b' -n1 | -H needs a URL
        "
    ));
    schema::valid("run", &folder.read("run.json"));
    let loaded = folder.run(&format!("load {id} -c2 -n50 --json -")).with(0);
    assert_eq!(schema::valid("load", &loaded.stdout)["outcomes"]["ok"], 50);
    // An objective that no server meets.
    let unmet = format!("objectives = \"rate > 1000M/s\"\n{text}");
    folder.write("prony.toml", unmet);
    folder.check("5 | run --rounds 2 --duration 50ms --warmup 10ms | >rate > 1000M/s");
    // Another body than the expected one.
    folder.write("prony.toml", text.replace("\"hello\\n\"", "\"Hello\\n\""));
    folder.check(&format!(
        r"
        1 | verify | >expected 6 bytes, at byte 0: `Hello\\n` & >received 6 bytes, at byte 0: `hello\\n`
        1 | load {id} -n1 | Hello
        "
    ));
    // A misspelt field, and an unknown server to compare with.
    let misspelt = text.replacen("run =", "rnu =", 1);
    let unknown = format!("beside = [\"go-nethtp\"]\n{text}");
    let place = "prony.toml:1: field `beside`: there is no server `go-nethtp`";
    for (wrong, place, hint) in [
        (misspelt, "prony.toml:", "did you mean `run`?"),
        (unknown, place, "did you mean `go-nethttp`?"),
    ] {
        folder.write("prony.toml", wrong);
        for command in ["verify", "run", "list"] {
            folder.run(command).with(1).says(place).says(hint);
        }
    }
}

#[test]
fn a_server_that_does_not_respond_is_described_for_the_user_to_correct() {
    let folder = Project::empty();
    let command = server::command("right", "server").join(" ");
    folder.check(&format!(
        "
        1 | init --yes --ready-timeout 5s --run 'env PORT=0 {command}' | does it read PORT? & FAILED & >prony verify
        1 | verify | >it has no workload, so nothing can be requested of it
        1 | run | it has no workload
        "
    ));
}

pub(crate) const CHANGES: [(&str, Change); 3] = [
    ("one-route", |request, response| {
        response.status = match request.path.as_str() {
            "/api/v1/things" => 200,
            _ => 404,
        };
    }),
    // A client that gives up before the first response has to wait for it again.
    ("late-at-first", |request, _| {
        static IS_WARM: AtomicBool = AtomicBool::new(false);
        if !IS_WARM.load(Relaxed) {
            thread::sleep(Duration::from_millis(2200));
            IS_WARM.store(!request.is_abandoned(), Relaxed);
        }
    }),
    ("late-for-ever", |request, _| {
        if request.path == "/late" {
            hang();
        }
    }),
];

#[test]
fn init_waits_for_the_first_response_and_says_how_it_waits_longer_for_others() {
    for [change, code, flags, message] in rows(
        "
        starting | 0 | --path /hello | >GET /hello with status 200
        late-at-first | 0 | --path /hello --timeout 2s | >GET /hello with status 200
        late-for-ever | 1 | --path /late --timeout 300ms | /late: timed out after 300ms & give it longer with --timeout
        ",
    ) {
        let command = server::command(change, "server").join(" ");
        let init = format!("init --yes --run '{command}' {flags}");
        let folder = Project::empty();
        folder.check(&format!("{code} | {init} | {message}"));
        // With a file, the next `prony init` would refuse.
        assert_eq!(folder.path().join("prony.toml").exists(), code == "0");
    }
}

#[test]
fn init_names_a_package_manager_that_is_missing() {
    let folder = Project::empty();
    let package =
        "{ \"dependencies\": { \"a\": \"1\" }, \"scripts\": { \"start\": \"node a.js\" } }";
    folder.write("apps/api/package.json", package);
    folder.write("apps/api/pnpm-lock.yaml", "");
    let mut init = folder.prony("init --yes");
    init.env("PATH", "/usr/sbin");
    let ended = run(init)
        .with(1)
        .says("api: pnpm is missing; to install it: corepack enable pnpm");
    ended.says("prony.toml is not written");
    assert!(!folder.path().join("prony.toml").exists());
}

#[test]
fn init_requests_the_routes_in_the_sources_if_the_server_has_no_usual_path() {
    let folder = Project::empty();
    let command = server::command("one-route", "server").join(" ");
    let init = format!("init --yes --run '{command}'");
    folder
        .run(&init)
        .with(1)
        .says("it has none of the paths that Prony tried (/: 404, /health: 404, ")
        .says("name one with --path")
        .says("prony.toml is not written");
    folder.write(
        "src/routes.ts",
        "router.get('/api/v1/other', a)\nrouter.get('/api/v1/things', b)",
    );
    folder
        .run(&init)
        .with(0)
        .prints("GET /api/v1/things with status 200");
}

#[test]
fn a_folder_without_a_program_is_reported_with_what_to_do() {
    let empty = Project::empty();
    empty.check(
        "
        2 | init --yes | give the command with --run
        2 | init | --run
        ",
    );
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
    empty.check("1 | init --yes --run 'a && b' | without a shell");
    undescribed().check(
        "
        2 | init | use --yes
        2 | init --yes --path hello | a path begins with `/`
        ",
    );
}
