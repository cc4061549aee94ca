#!/usr/bin/env python3
"""What a request costs the generator: `prony load` and wrk on the same server, by turns.

The built-in reference server runs on one CPU, the generator on another, with one thread. Each
round runs both generators; who goes first alternates. Printed are medians over the rounds, and
the ratio of each round to the other generator's figure in the same round.

Where the machine has hardware counters (`perf stat` says so), the cost is in cycles and
instructions, user and kernel together. Where it has none, it is in CPU time as the kernel
accounts it: on one CPU of a steady clock that is the same ratio.

    cargo build --release
    benches/against_wrk.py                     # hello with 64 connections, page with 32
    benches/against_wrk.py --rounds 9 --seconds 3 --case hello:64
"""

import argparse
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATHS = {
    "hello": "/hello",
    "byte": "/byte",
    "page": "/",
    "sse": "/sse",
    "quote": "/franklin-says",
}
COUNTERS = "cycles:u,cycles:k,instructions:u,instructions:k"
GENERATORS = ("wrk", "prony")


def main() -> None:
    arguments = parse()
    for program in ("wrk", "taskset"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing; on Debian: apt-get install wrk util-linux")
    if not arguments.prony.is_file():
        sys.exit(f"{arguments.prony} is missing: run `cargo build --release` first")
    counters = has_counters()
    unit = "cycles" if counters else "ns of CPU time (no hardware counters here)"
    print(f"cost of a request to the generator, in {unit}")
    with Server(arguments) as server:
        for case in arguments.case:
            workload, connections = case.split(":")
            url = f"http://127.0.0.1:{server.port}{PATHS[workload]}"
            compare(arguments, workload, connections, url, counters)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2, help="of each turn")
    parser.add_argument("--case", nargs="+", default=["hello:64", "page:32"])
    parser.add_argument("--server-cpu", default="0")
    parser.add_argument("--load-cpu", default="1")
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    return parser.parse_args()


def has_counters() -> bool:
    if shutil.which("perf") is None:
        return False
    tried = subprocess.run(
        ["perf", "stat", "-x,", "-e", COUNTERS, "true"], capture_output=True, text=True
    )
    return tried.returncode == 0 and "<not" not in tried.stderr


class Server:
    """The reference server on a CPU of its own."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        contract = {
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "CPUS": "1",
            "ASSETS": str(ROOT / "workloads/assets"),
        }
        command = ["taskset", "-c", arguments.server_cpu, arguments.prony, "ceiling"]
        self.process = subprocess.Popen(
            command, env=os.environ | contract, stdout=subprocess.DEVNULL
        )

    def __enter__(self) -> "Server":
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.process.kill()
        sys.exit("the reference server does not listen")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def compare(arguments, workload, connections, url, counters) -> None:
    rounds = []
    for number in range(arguments.rounds):
        order = GENERATORS if number % 2 == 0 else GENERATORS[::-1]
        rounds.append(
            {name: turn(arguments, name, connections, url, counters) for name in order}
        )
    print(
        f"\n{workload}, {connections} connections, 1 thread, {arguments.rounds} rounds"
    )
    for figure in rounds[0]["wrk"]:
        wrk, prony = (
            statistics.median(r[name][figure] for r in rounds) for name in GENERATORS
        )
        ratios = sorted(r["prony"][figure] / r["wrk"][figure] for r in rounds)
        print(
            f"  {figure:26} wrk {wrk:>12,.0f}   prony {prony:>12,.0f}   "
            f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )


def turn(arguments, name, connections, url, counters) -> dict[str, float]:
    """One generator's turn: its rate, and its cost of a request."""
    load = ["-t1", f"-c{connections}", f"-d{arguments.seconds}s"]
    if name == "wrk":
        command = ["wrk", *load, url]
    else:
        command = [str(arguments.prony), "load", *load, "--json", "-", url]
    command = ["taskset", "-c", arguments.load_cpu, *command]
    with tempfile.NamedTemporaryFile("r") as counted:
        if counters:
            command = [
                "perf",
                "stat",
                "-x,",
                "-o",
                counted.name,
                "-e",
                COUNTERS,
                *command,
            ]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user = after.ru_utime - before.ru_utime
        system = after.ru_stime - before.ru_stime
        perf = counted.read()
    requests = wrk_requests(run.stdout) if name == "wrk" else prony_requests(run.stdout)
    figures = {"requests per second": requests / arguments.seconds}
    if counters:
        count = {
            event: int(value)
            for value, event in re.findall(r"^(\d+),,(\w+:[uk]),", perf, re.MULTILINE)
        }
        for event in ("cycles", "instructions"):
            whole, kernel = (
                count[f"{event}:u"] + count[f"{event}:k"],
                count[f"{event}:k"],
            )
            figures[f"{event} per request"] = whole / requests
            figures[f"  of these in the kernel ({event[0]})"] = kernel / requests
    else:
        figures["CPU ns per request"] = (user + system) * 1e9 / requests
        figures["  of these in user mode"] = user * 1e9 / requests
    return figures


def wrk_requests(text: str) -> int:
    if "Socket errors" in text or "Non-2xx" in text:
        sys.exit(f"wrk met errors:\n{text}")
    return int(re.search(r"(\d+) requests in", text)[1])


def prony_requests(text: str) -> int:
    result = json.loads(text)
    outcomes = result["outcomes"]
    if result["requests"] != outcomes["ok"] + outcomes["unfinished"]:
        sys.exit(f"prony met errors: {outcomes}")
    return outcomes["ok"]


if __name__ == "__main__":
    main()
