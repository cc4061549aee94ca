#!/usr/bin/env python3
"""Measure what a TLS handshake costs h2load and `prony load`, in CPU time of the whole process.

A server (nginx, or the reference server) with a self-signed P-256 certificate runs on one CPU, the
generators on another, interleaved: in every round each turn comes once, and a different one begins.
A turn opens connections and sends a request over each. Its CPU time, start and end of the process
included, is divided by the handshakes that it made. The result is a Markdown table of the medians
over the rounds, with ratios taken within each round. Ctrl-C shows the rounds that are complete.

    cargo build --release
    benches/handshakes.py                     # 7 rounds against nginx, about half a minute
    benches/handshakes.py --server reference --rounds 3
"""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUESTS = 2000
# A turn that takes longer than this has failed.
LONGEST_TURN_S = 60
# Without a long queue of new connections, the kernel would drop some and delay them by a second. A single process
# is easy to stop.
NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr error;
worker_rlimit_nofile 8192;
events {{ worker_connections 8000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl http2 backlog=4096;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.3;
        location / {{ return 200 "Hello, World!"; }}
    }}
}}
"""


@dataclass
class Turn:
    tool: str
    protocol: str
    arguments: list[str]
    """Those that choose the load."""

    @property
    def title(self) -> str:
        return f"{self.tool} (`{' '.join(self.arguments)}`)"


MANY = ["-n", f"{REQUESTS}", "-c", f"{REQUESTS}"]
FEW = ["-n", f"{REQUESTS}", "-c", "64", "--no-keepalive"]
TURNS = [
    Turn("h2load", "HTTP/1.1", MANY),
    Turn("Prony", "HTTP/1.1", MANY),
    Turn("Prony", "HTTP/1.1", FEW),
    Turn("Prony", "HTTP/1.1", [*FEW, "--tls-resume"]),
    Turn("h2load", "HTTP/2", MANY),
    Turn("Prony", "HTTP/2", MANY),
]


@dataclass
class Cost:
    cpu_s: float
    full: int
    resumed: int

    @property
    def microseconds(self) -> float:
        """Of a handshake."""
        return self.cpu_s / (self.full + self.resumed) * 1e6


def main() -> None:
    arguments = parse()
    # A supervisor's SIGTERM also stops the server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    raise_limit_of_files()
    rounds: list[list[Cost]] = []
    stopped = False
    with tempfile.TemporaryDirectory(prefix="handshakes-") as folder:
        port = free_port()
        with running_server(arguments, Path(folder), port):
            url = f"https://127.0.0.1:{port}/hello"
            try:
                for number in range(arguments.rounds):
                    rounds.append(one_round(arguments, url, number))
            except KeyboardInterrupt:
                stopped = True
    if rounds:
        print_table(arguments, rounds)
    if stopped:
        print("Stopped by Ctrl-C.", file=sys.stderr)
        sys.exit(130)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--server", choices=("nginx", "reference"), default="nginx")
    arguments = parse_common(parser)
    needed = {"h2load": "nghttp2-client", "openssl": "openssl"}
    if arguments.server == "nginx":
        needed["nginx"] = "nginx-core"
    require(needed)
    return arguments


def parse_common(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Adds the arguments of every comparison of generators."""
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    cpus = os.sched_getaffinity(0)
    for cpu in (arguments.server_cpu, arguments.load_cpu):
        if cpu not in cpus:
            usable = ", ".join(map(str, sorted(cpus)))
            parser.error(f"this process may not use CPU {cpu}, only {usable}")
    if not arguments.prony.is_file():
        sys.exit(f"{arguments.prony} is missing: run `cargo build --release` first")
    return arguments


def require(packages: dict[str, str]) -> None:
    """Ends if a program is missing, and names its package."""
    # Debian keeps nginx where only root's PATH leads.
    os.environ["PATH"] += ":/usr/sbin"
    for program, package in packages.items():
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing; on Debian: apt-get install {package}")


def raise_limit_of_files() -> None:
    """Each side has thousands of sockets; children inherit the limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * REQUESTS
    if most != resource.RLIM_INFINITY and most < needed:
        sys.exit(
            f"a process may open only {most} files; raise `ulimit -Hn` to {needed}"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def running_server(
    arguments: argparse.Namespace, folder: Path, port: int
) -> Iterator[None]:
    make_certificate(folder)
    environment = None
    if arguments.server == "nginx":
        configuration = folder / "nginx.conf"
        configuration.write_text(NGINX.format(folder=folder, port=port))
        command = ["nginx", "-e", "stderr", "-p", folder, "-c", configuration]
    else:
        command = [arguments.prony, "reference"]
        environment = os.environ | {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "CPUS": "1",
            "ASSETS": str(ROOT / "workloads/assets"),
            "TLS_CERT": str(folder / "cert.pem"),
            "TLS_KEY": str(folder / "key.pem"),
        }
    with listening(command, arguments.server_cpu, port, env=environment):
        yield


@contextlib.contextmanager
def listening(command: list, cpu: int, port: int, **how: object) -> Iterator[None]:
    """A server that runs on this CPU and listens on this port."""
    server = start(command, cpu, stdout=sys.stderr, **how)
    try:
        wait_until_it_listens(server, port)
        yield
    finally:
        server.terminate()
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def make_certificate(folder: Path) -> None:
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=localhost",
    ]  # fmt: skip
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"openssl made no certificate:\n{made.stderr}")


def start(command: list, cpu: int, **how: object) -> subprocess.Popen:
    """Starts a process on this CPU, which it inherits: another program that pins it would add to its CPU time."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        return subprocess.Popen(command, **how)
    finally:
        os.sched_setaffinity(0, own)


def wait_until_it_listens(server: subprocess.Popen, port: int) -> None:
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if server.poll() is not None:
                sys.exit(f"the server ended with status {server.returncode}")
            time.sleep(0.01)
    sys.exit("the server did not start listening")


def one_round(arguments: argparse.Namespace, url: str, number: int) -> list[Cost]:
    """The cost of each turn, in the order of `TURNS`."""
    print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    costs: dict[int, Cost] = {}
    for place in range(len(TURNS)):
        turn = (number + place) % len(TURNS)
        costs[turn] = measure(arguments, TURNS[turn], url)
    return [costs[turn] for turn in range(len(TURNS))]


def measure(arguments: argparse.Namespace, turn: Turn, url: str) -> Cost:
    if turn.tool == "h2load":
        protocol = {"HTTP/1.1": "--h1", "HTTP/2": "--npn-list=h2"}[turn.protocol]
        shown, cpu_s = run(
            ["h2load", protocol, *turn.arguments, url], arguments.load_cpu
        )
        succeeded = re.search(r"(\d+) succeeded", shown)
        if not succeeded or int(succeeded[1]) != REQUESTS:
            sys.exit(f"h2load had errors:\n{shown}")
        # As many connections as requests, so each made one handshake.
        return Cost(cpu_s, REQUESTS, 0)
    protocol = {"HTTP/1.1": "--http1.1", "HTTP/2": "--http2"}[turn.protocol]
    command = [arguments.prony, "load", "-t1", "--insecure", protocol, *turn.arguments]
    shown, cpu_s = run([*command, "--json", "-", url], arguments.load_cpu)
    result = json.loads(shown)
    if result["outcomes"]["ok"] != REQUESTS:
        sys.exit(f"prony had errors: {result['outcomes']} {result['first_wrong']}")
    tls = result["tls"]
    return Cost(cpu_s, tls["full"]["count"], tls["resumed"]["count"])


def run(command: list, cpu: int) -> tuple[str, float]:
    """What the program writes to standard output, and its CPU time in seconds."""
    process = start(command, cpu, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    limit = threading.Timer(LONGEST_TURN_S, process.kill)
    limit.start()
    try:
        shown = process.stdout.read().decode()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        limit.cancel()
        # Only if it was interrupted; `Popen` does nothing once the process has ended.
        process.kill()
    if process.returncode != 0:
        said = " ".join(map(str, command))
        sys.exit(f"`{said}` ended with status {process.returncode}:\n{shown}")
    return shown, used.ru_utime + used.ru_stime


def print_table(arguments: argparse.Namespace, rounds: list[list[Cost]]) -> None:
    print(
        f"{arguments.server} on CPU {arguments.server_cpu}, generators on CPU {arguments.load_cpu}, "
        f"{REQUESTS} requests, medians of {len(rounds)} rounds\n"
    )
    print(
        "| generator | over | full handshakes | resumed | CPU/handshake | of h2load |"
    )
    print("|---|---|---:|---:|---:|---:|")
    for place, turn in enumerate(TURNS):
        print(row(turn, [costs[place] for costs in rounds], baseline(turn, rounds)))


def baseline(turn: Turn, rounds: list[list[Cost]]) -> list[Cost]:
    """h2load's turns over the same protocol."""
    place = next(
        place
        for place, other in enumerate(TURNS)
        if other.tool == "h2load" and other.protocol == turn.protocol
    )
    return [costs[place] for costs in rounds]


def row(turn: Turn, costs: list[Cost], of: list[Cost]) -> str:
    full = statistics.median_low(cost.full for cost in costs)
    resumed = statistics.median_low(cost.resumed for cost in costs)
    cpu = statistics.median(cost.microseconds for cost in costs)
    ratio = "1" if turn.tool == "h2load" else ratio_within_rounds(costs, of)
    cells = [turn.title, turn.protocol, f"{full:,}", f"{resumed:,}", f"{cpu:.0f} µs"]
    return f"| {' | '.join(cells)} | {ratio} |"


def ratio_within_rounds(costs: list, of: list) -> str:
    """The median of the ratios, each within a round, and the lowest and the highest."""
    ratios = sorted(
        ours.microseconds / theirs.microseconds
        for ours, theirs in zip(costs, of, strict=True)
    )
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})"


if __name__ == "__main__":
    main()
