#!/usr/bin/env python3
"""Measure what the live screen of `prony load` costs.

Prony loads the reference server in interleaved rounds, with the screen (in a terminal of its own) and with
--quiet. The server runs on one CPU and the load generator, with its screen, on another. The cost of a round is
the CPU time of the whole prony process for each request. The result is the medians and their ratio.

    cargo build --release
    benches/live_view.py                      # 10 rounds of 5 s
    benches/live_view.py --rounds 3 --duration 2 -- -c64 --rate 20k/s
"""

import argparse
import json
import os
import pty
import resource
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

ROOT = Path(__file__).resolve().parent.parent
# The size of the screen: more than the smallest, since a larger one costs more.
ROWS, COLUMNS = 40, 120
# How much longer than planned a load may take, in seconds.
PATIENCE = 30
VIEWS = ("screen", "quiet")


def main() -> None:
    arguments = parse()
    costs = {view: [] for view in VIEWS}
    with tempfile.TemporaryDirectory() as folder, Server(arguments) as server:
        for number in range(arguments.rounds):
            # Another view goes first in each round.
            for view in VIEWS[number % 2 :] + VIEWS[: number % 2]:
                cost = load(arguments, view, server.url, Path(folder))
                costs[view].append(cost)
                print(
                    f"round {number + 1}, {view}: {cost:.3f} µs of CPU per request",
                    flush=True,
                )
    medians = {view: statistics.median(costs[view]) for view in VIEWS}
    for view in VIEWS:
        print(f"{view}: median {medians[view]:.3f} µs")
    ratios = [
        screen / quiet
        for screen, quiet in zip(costs["screen"], costs["quiet"], strict=True)
    ]
    print(
        f"screen / quiet: {medians['screen'] / medians['quiet']:.4f}; "
        f"rounds from {min(ratios):.4f} to {max(ratios):.4f}, median {statistics.median(ratios):.4f}"
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--duration", type=float, default=5, help="seconds of each load"
    )
    parser.add_argument("--server-cpu", default="0")
    parser.add_argument("--load-cpu", default="1")
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    parser.add_argument(
        "load", nargs="*", default=["-c64"], help="flags of the load, after --"
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.duration < 1:
        parser.error("--rounds and --duration must be at least 1")
    if not arguments.prony.is_file():
        sys.exit(f"{arguments.prony} is missing: run `cargo build --release` first")
    if shutil.which("taskset") is None:
        sys.exit("taskset is missing; on Debian: apt-get install util-linux")
    return arguments


class Server:
    """The reference server."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hello"
        environment = {
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "CPUS": "1",
            "ASSETS": str(ROOT / "workloads/assets"),
        }
        self.process = subprocess.Popen(
            ["taskset", "-c", arguments.server_cpu, arguments.prony, "reference"],
            env={**os.environ, **environment},
        )

    def __enter__(self) -> "Server":
        give_up = time.monotonic() + 10
        while time.monotonic() < give_up and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        sys.exit("the reference server did not start")

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


def load(arguments: argparse.Namespace, view: str, url: str, folder: Path) -> float:
    """Run a load; the CPU time for each request, in microseconds."""
    result = folder / "result.json"
    flags = ["--quiet"] if view == "quiet" else []
    flags += [
        "-t1",
        "-d",
        f"{arguments.duration}s",
        "--json",
        str(result),
        *arguments.load,
    ]
    command = [
        "taskset",
        "-c",
        arguments.load_cpu,
        arguments.prony,
        "load",
        *flags,
        url,
    ]
    used, said = in_terminal(command, arguments.duration + PATIENCE)
    drawn = b"\x1b[?1049h" in said
    if drawn != (view == "screen"):
        sys.exit(
            f"the {view} view showed {'a' if drawn else 'no'} screen:\n{said.decode()}"
        )
    outcomes = json.loads(result.read_text())["outcomes"]
    result.unlink()
    return used / outcomes["ok"] * 1e6


def in_terminal(command: list, patience: float) -> tuple[float, bytes]:
    """Run a command in a terminal; its CPU time in seconds, and what it wrote."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    ioctl(terminal, TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
    said, give_up = b"", time.monotonic() + patience
    while time.monotonic() < give_up:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:
            # Linux reports the end of a terminal as an error.
            break
        if not part:
            break
        said += part
    else:
        os.kill(child, 9)
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0:
        sys.exit(f"prony ended with {status}:\n{said.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


if __name__ == "__main__":
    main()
