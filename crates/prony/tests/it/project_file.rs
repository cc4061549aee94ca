//! A project that describes itself in `prony.toml`, from `prony init` to a load.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::common::{Ended, here};
use prony_testkit::server::{self, Change, hang};
use tempfile::TempDir;

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
fn folder(program: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("server.py"), program).unwrap();
    folder
}

#[test]
fn from_an_undescribed_program_to_a_measured_one() {
    let folder = folder(SERVER);
    let written = here(&folder, &["init", "--yes"]).with(0);
    written.prints("GET /hello with status 200");
    let file = folder.path().join("prony.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("body = { text = \"hello\\n\" }"), "{text}");
    assert!(!text.contains("keep_alive"), "{text}");
    // The server has the name of the folder, which the test does not choose.
    let named = text.lines().find(|line| line.starts_with("[server."));
    let id = &named.unwrap()["[server.".len()..].trim_end_matches(']');
    here(&folder, &["init", "--yes"])
        .with(2)
        .says("exists already; edit it, or replace it with --force");
    here(&folder, &["verify"])
        .with(0)
        .prints(&format!("verified {id} × hello"));
    here(&folder, &["list"])
        .with(0)
        .prints("Servers of this project");
    let short = ["--rounds", "2", "--duration", "50ms", "--warmup", "10ms"];
    let measured = here(&folder, &[&["run"][..], &short].concat()).with(0);
    measured.prints(id);
    let load = ["load", id, "-c2", "-n50", "--json", "-"];
    let loaded = here(&folder, &load).with(0);
    let result: serde_json::Value = serde_json::from_str(&loaded.stdout).unwrap();
    assert_eq!(result["outcomes"]["ok"], 50);
    here(&folder, &["load", id, "-H", "a: b", "-n1"])
        .with(2)
        .says("-H needs a URL");

    // An objective that no server meets.
    fs::write(&file, format!("objectives = \"rate > 1000M/s\"\n{text}")).unwrap();
    here(&folder, &[&["run"][..], &short].concat())
        .with(5)
        .prints("rate > 1000M/s");
    // Another body than the expected one.
    fs::write(&file, text.replace("\"hello\\n\"", "\"Hello\\n\"")).unwrap();
    here(&folder, &["verify"])
        .with(1)
        .prints("expected 6 bytes, at byte 0: `Hello\\n`")
        .prints("received 6 bytes, at byte 0: `hello\\n`");
    here(&folder, &["load", id, "-n1", "--ready-timeout", "3s"])
        .with(1)
        .says("Hello");
    // A misspelt field.
    fs::write(&file, text.replacen("run =", "rnu =", 1)).unwrap();
    for command in ["verify", "run", "list"] {
        here(&folder, &[command])
            .with(1)
            .says("prony.toml:")
            .says("did you mean `run`?");
    }
}

#[test]
fn a_server_that_does_not_respond_is_described_for_the_user_to_correct() {
    let folder = tempfile::tempdir().unwrap();
    let command = server::command("right", "server").join(" ");
    let elsewhere = format!("env PORT=0 {command}");
    let init = ["init", "--yes", "--run", &elsewhere];
    let ended = here(&folder, &[&init[..], &["--ready-timeout", "2s"]].concat()).with(1);
    let ended = ended.says("does it read PORT?").prints("prony verify");
    assert!(ended.stderr.contains("FAILED"), "{}", ended.stderr);
    here(&folder, &["verify"])
        .with(1)
        .prints("it has no workload, so nothing can be requested of it");
    here(&folder, &["run"]).with(1).says("it has no workload");
}

/// An empty folder and how `prony init` describes a server in it.
fn init_in_time(change: &str, path: &str, timeout: &str) -> Ended {
    let command = server::command(change, "server").join(" ");
    let folder = tempfile::tempdir().unwrap();
    let words = ["init", "--yes", "--run", &command];
    let flags = ["--path", path, "--timeout", timeout];
    here(&folder, &[&words[..], &flags].concat())
}

pub const CHANGES: [(&str, Change); 2] = [
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
fn a_first_response_may_take_longer_than_the_others() {
    init_in_time("late-at-first", "/hello", "2s")
        .with(0)
        .prints("GET /hello with status 200");
}

#[test]
fn a_path_without_a_response_in_time_is_reported_with_the_flag() {
    init_in_time("late-for-ever", "/late", "300ms")
        .with(1)
        .says("/late: timed out after 300ms")
        .says("give it longer with --timeout");
}

#[test]
fn a_folder_without_a_program_is_reported_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    here(&folder, &["init", "--yes"])
        .with(2)
        .says("give the command with --run");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    here(&folder, &["init"]).with(2).says("--run");
    here(&folder, &["init", "--yes", "--run", "a && b"])
        .with(1)
        .says("without a shell");
    let program = self::folder(SERVER);
    here(&program, &["init"]).with(2).says("use --yes");
    here(&program, &["init", "--yes", "--path", "hello"])
        .with(2)
        .says("a path begins with `/`");
}

#[test]
fn an_unknown_server_to_compare_with_is_reported_with_the_nearest() {
    let folder = folder("");
    let file = "beside = [\"go-nethtp\"]\n[server.web]\nrun = \"true\"\n";
    fs::write(folder.path().join("prony.toml"), file).unwrap();
    let known =
        "prony.toml:1: field `beside`: there is no server `go-nethtp`; did you mean `go-nethttp`?";
    for command in ["verify", "list"] {
        here(&folder, &[command]).with(1).says(known);
    }
}
