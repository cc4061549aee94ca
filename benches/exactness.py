#!/usr/bin/env python3
"""Check whether generators report true latencies, on a server whose every latency is known in advance.

The scripted reference server (`prony reference --freeze`, `--service`) runs on one CPU, the generator
on another. `prony load` and oha send at an even rate. wrk cannot, and sends in a closed loop with the
same number of connections; its figures show how far they are from what users at that rate would have
seen. Each measurement has its own server, because the script begins with the first request. The
result is a Markdown table of the medians over the rounds, each with its distance from the truth.

    cargo build --release
    benches/exactness.py                      # prony, oha and wrk, if installed
    benches/exactness.py --rounds 1 --case freeze --tool prony oha
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RATE = 1000
PERCENTILES = ("p50", "p90", "p99", "p99.9")
# A figure is exact if it is within this share of the truth, or this many microseconds, whichever is more.
SHARE, MICROSECONDS = 0.01, 100
# wrk does not print p99.9 by itself.
WRK_SCRIPT = """
done = function(summary, latency, requests)
  for _, p in ipairs({50, 90, 99, 99.9}) do
    io.write(string.format("p%g %g us\\n", p, latency:percentile(p)))
  end
end
"""


@dataclass
class Case:
    """A script, and the load for it."""

    script: list[str]
    seconds: int
    connections: int
    """The limit, for tools that can open more than they start with."""
    most_connections: int
    what: str


# 25 s, not 30: with two freezes of 1 s no percentile lies at the edge of the frozen share (8 %).
CASES = {
    "freeze": Case(
        ["--freeze", "1s/10s"], 25, 64, 1500, "frozen for 1 s at the end of every 10 s"
    ),
    "queue": Case(
        ["--service", "exponential:500us", "--seed", "1"],
        20,
        64,
        1500,
        "one queue, exponential service times of 0.5 ms on average",
    ),
}


def main() -> None:
    arguments = parse()
    tools = [tool for tool in arguments.tool if is_there(tool, arguments)]
    print(
        f"{RATE} requests/s, {arguments.rounds} rounds; "
        f"server on CPU {arguments.server_cpu}, generator on CPU {arguments.load_cpu}"
    )
    for name in arguments.case:
        compare(arguments, CASES[name], tools)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--tool", nargs="+", choices=TURNS, default=list(TURNS))
    parser.add_argument("--server-cpu", default="0")
    parser.add_argument("--load-cpu", default="1")
    parser.add_argument(
        "--no-spin",
        dest="spin",
        action="store_false",
        help="let the server and prony sleep instead of busy-waiting",
    )
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if not arguments.prony.is_file():
        sys.exit(f"{arguments.prony} is missing: run `cargo build --release` first")
    if shutil.which("taskset") is None:
        sys.exit("taskset is missing; on Debian: apt-get install util-linux")
    return arguments


def is_there(tool: str, arguments: argparse.Namespace) -> bool:
    if tool == "prony" or shutil.which(tool) is not None:
        return True
    how = {"wrk": "apt-get install wrk", "oha": "cargo install oha --locked"}[tool]
    print(f"{tool} is not installed, skipped: {how}", file=sys.stderr)
    return False


def compare(arguments: argparse.Namespace, case: Case, tools: list[str]) -> None:
    truth = true_latencies(arguments, case)
    rows = {tool: [] for tool in tools}
    notes = []
    for number in range(arguments.rounds):
        # A different tool goes first in each round.
        for tool in tools[number % len(tools) :] + tools[: number % len(tools)]:
            with Server(arguments, case) as server:
                reported, said = TURNS[tool](arguments, case, server.url)
            rows[tool].append(reported)
            notes.append(f"{tool}: {'; '.join(filter(None, [said, server.said]))}")
    print(f"\nA server {case.what}, {case.seconds} s:\n")
    print("| | " + " | ".join(PERCENTILES) + " | exact |")
    print("|---|" + "---:|" * len(PERCENTILES) + "---|")
    print("| the truth | " + " | ".join(text(truth[p]) for p in PERCENTILES) + " | |")
    for tool, rounds in rows.items():
        print(row(tool, rounds, truth))
    print("\nWhat the programs reported about themselves, in each round:\n")
    for note in notes:
        print(f"- {note}")


def row(tool: str, rounds: list[dict[str, float]], truth: dict[str, float]) -> str:
    cells, exact = [], []
    for percentile in PERCENTILES:
        value = statistics.median(reported[percentile] for reported in rounds)
        error = value - truth[percentile]
        exact.append(abs(error) <= max(SHARE * truth[percentile], MICROSECONDS))
        cells.append(f"{text(value)} ({'+' if error >= 0 else '−'}{text(abs(error))})")
    verdict = "yes" if all(exact) else f"{sum(exact)} of {len(exact)}"
    name = f"{tool} (closed loop)" if tool == "wrk" else tool
    return f"| {name} | " + " | ".join(cells) + f" | {verdict} |"


def text(microseconds: float) -> str:
    if microseconds >= 1e4:
        return f"{microseconds / 1e3:.1f} ms"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.2f} ms"
    return f"{microseconds:.0f} µs"


def true_latencies(arguments: argparse.Namespace, case: Case) -> dict[str, float]:
    command = [arguments.prony, "reference", *case.script]
    command += ["--truth", f"{RATE}:{case.seconds}s"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return percentiles(shown, r"^(p[\d.]+) ([\d.]+) µs$")


def percentiles(shown: str, pattern: str) -> dict[str, float]:
    return {
        name: float(value) for name, value in re.findall(pattern, shown, re.MULTILINE)
    }


class Server:
    """A scripted server on its own CPU."""

    said = ""

    def __init__(self, arguments: argparse.Namespace, case: Case) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = ("127.0.0.1", port)
        self.url = f"http://127.0.0.1:{port}/hello"
        contract = {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "CPUS": "1",
            "ASSETS": str(ROOT / "workloads/assets"),
        }
        command = ["taskset", "-c", arguments.server_cpu, arguments.prony, "reference"]
        command += case.script + (["--spin"] if arguments.spin else [])
        self.process = subprocess.Popen(
            command,
            env=os.environ | contract,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Server":
        for _ in range(500):
            try:
                # A connection without a request does not start the script.
                socket.create_connection(self.address).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.process.kill()
        sys.exit("the server did not start listening")

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            _, said = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, said = self.process.communicate()
        self.said = f"the server {said.strip()}"


def run(arguments: argparse.Namespace, *command: object) -> str:
    command = ["taskset", "-c", arguments.load_cpu, *map(str, command)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


Turn = tuple[dict[str, float], str]


def prony(arguments: argparse.Namespace, case: Case, url: str) -> Turn:
    command = [arguments.prony, "load", "-t1", f"-c{case.connections}"]
    command += ["--rate", RATE, "--max-connections", case.most_connections]
    command += [f"-d{case.seconds}s", "--json", "-"]
    command += ["--spin"] if arguments.spin else []
    result = json.loads(run(arguments, *command, url))
    outcomes, latency = result["outcomes"], result["latency_ns"]
    if outcomes["ok"] != result["requests"]:
        sys.exit(f"prony had errors: {outcomes}")
    lag = result["open"]["schedule_lag_ns"]
    said = (
        f"{outcomes['ok']} responses; schedule lag p50 {text(lag['p50'] / 1e3)}, "
        f"p99 {text(lag['p99'] / 1e3)}, p99.9 {text(lag['p999'] / 1e3)}"
    )
    keys = zip(PERCENTILES, ("p50", "p90", "p99", "p999"), strict=True)
    return {name: latency[key] / 1e3 for name, key in keys}, said


def oha(arguments: argparse.Namespace, case: Case, url: str) -> Turn:
    # It opens connections only at the start, so it gets all that a freeze may need.
    command = ["oha", "-q", RATE, "--latency-correction", "-c", case.most_connections]
    command += ["-z", f"{case.seconds}s", "-w", "--no-tui", "--output-format", "json"]
    result = json.loads(run(arguments, *command, url))
    if result["summary"]["successRate"] != 1:
        sys.exit(f"oha had errors: {result['errorDistribution']}")
    responses = sum(result["statusCodeDistribution"].values())
    reported = result["latencyPercentiles"]
    return {
        name: reported[name] * 1e6 for name in PERCENTILES
    }, f"{responses} responses"


def wrk(arguments: argparse.Namespace, case: Case, url: str) -> Turn:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK_SCRIPT)
        script.flush()
        command = ["wrk", "-t1", f"-c{case.connections}", f"-d{case.seconds}s"]
        shown = run(arguments, *command, "-s", script.name, url)
    if "Socket errors" in shown or "Non-2xx" in shown:
        sys.exit(f"wrk had errors:\n{shown}")
    responses = re.search(r"(\d+) requests in", shown)[1]
    return percentiles(shown, r"^(p[\d.]+) ([\d.e+]+) us$"), f"{responses} responses"


TURNS = {"prony": prony, "oha": oha, "wrk": wrk}


if __name__ == "__main__":
    main()
