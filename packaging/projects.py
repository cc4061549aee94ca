#!/usr/bin/env python3
"""Takes four small projects from nothing to a judged change, with an installed Prony.

projects.py PROGRAM

The projects are in a temporary folder and made by the tools of their languages: Cargo,
Go, npm and Python. In each, Prony describes the server, verifies and measures it, and
judges a commit that is slower by known work and one that is not. It also measures a server
that already runs.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The slower servers are busy for this many microseconds before they respond.
SLOWER_US = 3000
LONGEST_S = 120
TIMES = ["--duration", "300ms", "--warmup", "100ms"]
SHORT = ["--rounds", "3", *TIMES]
# A verdict needs six rounds that are not noisy; the rest is slack for a busy machine.
FOR_A_VERDICT = ["--rounds", "9", "--no-ceiling", *TIMES]

RUST = r"""use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const BURN: Duration = Duration::from_micros(@BURN@);

fn main() -> std::io::Result<()> {
    let variable = |name: &str| std::env::var(name).expect(name);
    let address = format!("{}:{}", variable("HOST"), variable("PORT"));
    for stream in TcpListener::bind(address)?.incoming() {
        let mut stream = stream?;
        std::thread::spawn(move || {
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|read| read > 0) {
                let begun = Instant::now();
                while begun.elapsed() < BURN {}
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n";
                if stream.write_all(format!("{head}hello\n").as_bytes()).is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}
"""

GO = r"""package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

const burn = @BURN@ * time.Microsecond

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		for begun := time.Now(); time.Since(begun) < burn; {
		}
		fmt.Fprintln(w, "hello")
	})
	address := os.Getenv("HOST") + ":" + os.Getenv("PORT")
	log.Fatal(http.ListenAndServe(address, nil))
}
"""

NODE = r"""import { createServer } from "node:http";

const burn = @BURN@ / 1000;

createServer((request, response) => {
  const end = performance.now() + burn;
  while (performance.now() < end);
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ hello: "you", at: Date.now() }));
}).listen(process.env.PORT, process.env.HOST);
"""

PYTHON = r"""import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BURN_S = @BURN@ / 1e6


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        end = time.thread_time() + BURN_S
        while time.thread_time() < end:
            pass
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024


Server((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
"""

# The name, the commands that make the project, the file of the server, and its text.
PROJECTS = [
    ("rust", [["cargo", "init", "--quiet", "--vcs", "none"]], "src/main.rs", RUST),
    ("go", [["go", "mod", "init", "example.com/shop"]], "main.go", GO),
    (
        "node",
        [["npm", "init", "--yes"], ["npm", "pkg", "set", "type=module"]],
        "index.js",
        NODE,
    ),
    ("python", [], "server.py", PYTHON),
]

failures = []


def run(folder, command):
    """The exit status and all output of a command, which is killed if it hangs."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return process.returncode, output


def must(folder, command):
    status, output = run(folder, command)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}\n{output}")


def commit(folder, message):
    who = ["-c", "user.name=Prony", "-c", "user.email=prony@example.com"]
    must(folder, ["git", "add", "--all"])
    must(folder, ["git", *who, "commit", "--quiet", "--message", message])


def check(what, folder, command, status, pattern):
    begun = time.monotonic()
    got, output = run(folder, command)
    took = time.monotonic() - begun
    is_right = got == status and re.search(pattern, output)
    print(f"{'ok' if is_right else 'FAILED':6} {what} ({took:.1f} s)", flush=True)
    if not is_right:
        failures.append(what)
        print(f"expected status {status} and /{pattern}/, got status {got}\n{output}")
    return took


def try_project(prony, root, name, tools, source, text):
    folder = root / f"{name}-shop"
    folder.mkdir()
    for tool in tools:
        must(folder, tool)
    file = folder / source
    file.parent.mkdir(exist_ok=True)
    file.write_text(text.replace("@BURN@", "0"))
    (folder / ".gitignore").write_text("/target\n/node_modules\n__pycache__\n")
    must(folder, ["git", "init", "--quiet"])
    took = check(
        f"{name}: init",
        folder,
        [prony, "init", "--yes"],
        0,
        r"responds \S+: GET / with status 200",
    )
    if not (folder / "prony.toml").exists():
        return
    took += check(
        f"{name}: verify", folder, [prony, "verify"], 0, r"verified \S+ × home"
    )
    print(f"       {name}: from nothing to a verified row in {took:.1f} s")
    project = folder / "prony.toml"
    described = project.read_text()
    project.write_text(described.replace("connections = 64", "connections = 8"))
    commit(folder, "A shop")
    row = rf"(?m)^ +1  {name}-shop|^ +1  shop"
    check(f"{name}: run", folder, [prony, "run", *SHORT], 0, row)
    file.write_text(text.replace("@BURN@", str(SLOWER_US)))
    commit(folder, "The shop is slower")
    slower = [prony, "ab", "HEAD~1", "HEAD", *FOR_A_VERDICT]
    check(f"{name}: ab, slower", folder, slower, 1, "(?m)^worse +cpu")
    # The machine may be noisy, so that only a great difference counts.
    same = [prony, "ab", "HEAD", *FOR_A_VERDICT, "--threshold", "300%"]
    check(f"{name}: ab, the same", folder, same, 0, r" \(base\) → .* \(new\): ")


def try_running(prony, root):
    folder = root / "running"
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", PYTHON.replace("@BURN@", "0")],
        env={**os.environ, "HOST": "127.0.0.1", "PORT": str(port)},
        # It reports connections that a load closes.
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + LONGEST_S
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            if time.monotonic() > end:
                sys.exit("the server that should run does not listen")
            time.sleep(0.05)
        init = [prony, "init", "--url", f"http://localhost:{port}"]
        check("running: init", folder, init, 0, "GET / with status 200")
        check(
            "running: verify", folder, [prony, "verify"], 0, "verified running × home"
        )
        note = "already ran: neither started nor pinned by Prony"
        check("running: run", folder, [prony, "run", *SHORT], 0, note)
        if server.poll() is not None:
            failures.append("running: the server goes on")
    finally:
        server.kill()
        server.wait()
    dead = f"nothing listens on localhost:{port}"
    check("running: no longer", folder, [prony, "verify"], 1, dead)


def try_faults(prony, root):
    empty = root / "empty"
    empty.mkdir()
    check("nothing to measure", empty, [prony, "init", "--yes"], 2, "with --run")
    faulty = root / "faulty"
    faulty.mkdir()
    server = faulty / "server.py"
    init = [prony, "init", "--yes", "--force"]
    # A server that is not ready after this time counts as faulty.
    faulty_init = [*init, "--ready-timeout", "3s"]
    text = PYTHON.replace("@BURN@", "0")
    for what, old, new, pattern in [
        ("PORT is ignored", 'os.environ["PORT"]', "0", r"does it read PORT\?"),
        (
            "HOST is ignored",
            'os.environ["HOST"]',
            '"127.0.0.2"',
            r"does it read HOST\?",
        ),
        ("a file is missing", "class Handler", 'open("data")\nclass Handler', "data"),
    ]:
        server.write_text(text.replace(old, new))
        check(what, faulty, faulty_init, 1, pattern)
    server.write_text(text)
    check("a described server", faulty, init, 0, "written")
    check("described twice", faulty, [prony, "init", "--yes"], 2, "--force")
    project = faulty / "prony.toml"
    described = project.read_text()
    project.write_text(described.replace("hello", "Hello"))
    difference = r"expected .*Hello.*\n +received .*hello"
    check("a wrong response", faulty, [prony, "verify"], 1, difference)
    project.write_text(described.replace("run =", "rnu ="))
    misspelt = r"prony\.toml:\d+: unknown field `rnu`.*did you mean `run`\?"
    check("an unknown key", faulty, [prony, "verify"], 1, misspelt)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    prony = str(Path(sys.argv[1]).resolve())
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="prony-projects-") as root:
        for project in PROJECTS:
            try_project(prony, Path(root), *project)
        try_running(prony, Path(root))
        try_faults(prony, Path(root))
    print(f"{len(failures)} failed, in {time.monotonic() - begun:.0f} s")
    sys.exit(bool(failures))


main()
