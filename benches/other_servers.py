#!/usr/bin/env python3
"""Measure what a request costs `prony load` beside wrk and h2load over servers that nobody here wrote.

The tables of `prony generators` are measured over the reference server, which responds to many requests each time it
wakes up. nginx and nghttpd respond to them one by one, so the generator wakes up more often, and the kernel's share is
larger. A server runs on one CPU, the generators on another, interleaved: in every round each turn comes once, and a
different one begins. The CPU time of the whole process, start and end included, is divided by its ok responses. The
result is a Markdown table of the medians over the rounds, with ratios taken within each round. A generator that is
less than 95 % busy was not the bottleneck: its rate is the server's. Ctrl-C shows the rounds that are complete.

    cargo build --release
    benches/other_servers.py                # 7 rounds of 2 s, about 2 minutes
    benches/other_servers.py --rounds 3
"""

import argparse
import contextlib
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from handshakes import (
    free_port,
    listening,
    make_certificate,
    parse_common,
    ratio_within_rounds,
    require,
    run,
)

NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {folder}/cert.pem;
    ssl_certificate_key {folder}/key.pem;
    ssl_protocols TLSv1.3;
    server {{
        listen 127.0.0.1:{plain};
        listen 127.0.0.1:{tls} ssl;
        location / {{ return 200 "Hello, World!"; }}
    }}
}}
"""


@dataclass
class Case:
    title: str
    server: str
    scheme: str
    generators: dict[str, list[str]]
    """The command of each, without the URL; ratios are taken to the last one."""


def cases(prony: Path, seconds: int) -> list[Case]:
    wrk = ["wrk", "-t1", "-c64", f"-d{seconds}s"]
    load = [prony, "load", "-t1", f"-d{seconds}s", "--quiet", "--json", "-"]
    h2load = ["h2load", "-t1", "-c16", "-m32", f"-D{seconds}"]
    one = [*load, "-c64", "--http1.1"]
    streams = [*load, "-c16", "--http2", "--streams-per-connection", "32"]
    return [
        Case("hello, 64", "nginx", "http", {"Prony": one, "wrk": wrk}),
        Case("hello over TLS, 64", "nginx", "https", {"Prony": [*one, "--insecure"], "wrk": wrk}),
        Case("hello over h2c, 16 × 32", "nghttpd", "http", {"Prony": streams, "h2load": h2load}),
    ]  # fmt: skip


@dataclass
class Cost:
    microseconds: float
    """CPU time of a request."""
    busy: float
    """CPU time as a share of the time."""
    rate: float
    """Ok responses per second."""


def main() -> None:
    arguments = parse()
    rounds: list[dict[tuple[str, str], Cost]] = []
    turns = cases(arguments.prony, arguments.seconds)
    with tempfile.TemporaryDirectory(prefix="other-servers-") as folder:
        with running_servers(arguments, Path(folder)) as urls:
            with contextlib.suppress(KeyboardInterrupt):
                for number in range(arguments.rounds):
                    print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
                    rounds.append(one_round(arguments, turns, urls, number))
    if rounds:
        print_table(turns, rounds)
    if len(rounds) < arguments.rounds:
        print("Stopped by Ctrl-C.", file=sys.stderr)
        sys.exit(130)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=2)
    arguments = parse_common(parser)
    if arguments.seconds < 1:
        parser.error("--seconds must be at least 1")
    require(
        {
            "nginx": "nginx-core",
            "nghttpd": "nghttp2-server",
            "wrk": "wrk",
            "h2load": "nghttp2-client",
            "openssl": "openssl",
        }
    )
    return arguments


@contextlib.contextmanager
def running_servers(
    arguments: argparse.Namespace, folder: Path
) -> Iterator[dict[tuple[str, str], str]]:
    """The URL of each server and scheme."""
    make_certificate(folder)
    plain, tls, h2c = free_port(), free_port(), free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, plain=plain, tls=tls))
    (folder / "hello").write_text("Hello, World!")
    commands = {
        plain: ["nginx", "-e", "stderr", "-p", folder, "-c", configuration],
        h2c: ["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", folder, str(h2c)],
    }
    with contextlib.ExitStack() as running:
        for port, command in commands.items():
            running.enter_context(listening(command, arguments.server_cpu, port))
        yield {
            ("nginx", "http"): f"http://127.0.0.1:{plain}/hello",
            ("nginx", "https"): f"https://127.0.0.1:{tls}/hello",
            ("nghttpd", "http"): f"http://127.0.0.1:{h2c}/hello",
        }


def one_round(
    arguments: argparse.Namespace,
    turns: list[Case],
    urls: dict[tuple[str, str], str],
    number: int,
) -> dict[tuple[str, str], Cost]:
    every = [(case, generator) for case in turns for generator in case.generators]
    costs = {}
    for place in range(len(every)):
        case, generator = every[(number + place) % len(every)]
        url = urls[case.server, case.scheme]
        begun = time.monotonic()
        shown, cpu_s = run([*case.generators[generator], url], arguments.load_cpu)
        elapsed_s = time.monotonic() - begun
        requests = ok_responses(generator, shown)
        costs[case.title, generator] = Cost(
            cpu_s / requests * 1e6, cpu_s / elapsed_s, requests / arguments.seconds
        )
    return costs


def ok_responses(generator: str, shown: str) -> int:
    if generator == "Prony":
        return json.loads(shown)["outcomes"]["ok"]
    pattern = {"wrk": r"(\d+) requests in", "h2load": r"(\d+) succeeded"}[generator]
    found = re.search(pattern, shown)
    if not found or "Non-2xx" in shown:
        sys.exit(f"{generator} had errors:\n{shown}")
    return int(found[1])


def print_table(turns: list[Case], rounds: list[dict[tuple[str, str], Cost]]) -> None:
    print("| load | over | generator | CPU/request | ratio | busy | req/s |")
    print("|---|---|---|---:|---:|---:|---:|")
    for case in turns:
        *_, reference = case.generators
        for generator in case.generators:
            costs = [costs[case.title, generator] for costs in rounds]
            of = [costs[case.title, reference] for costs in rounds]
            is_reference = generator == reference
            ratio = "1" if is_reference else ratio_within_rounds(costs, of)
            cpu = statistics.median(cost.microseconds for cost in costs)
            busy = statistics.median(cost.busy for cost in costs)
            rate = statistics.median(cost.rate for cost in costs)
            cells = [case.title, case.server, generator, f"{cpu:.2f} µs", ratio]
            print(f"| {' | '.join(cells)} | {busy:.0%} | {rate:,.0f} |")


if __name__ == "__main__":
    main()
