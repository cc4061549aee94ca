"""Measure what a request costs here, and write servers that cost a known amount more."""

import argparse
import json
import os
import random
import shutil
import socket
import statistics
import string
import subprocess
import sys
import time
from pathlib import Path

from place import Place, link, progress
from shares import at_most

HERE = Path(__file__).resolve().parent
# How much slower the slower servers are, in percent of the whole CPU time of a request.
SLOWER = (3, 5)
# For a first estimate of how long a step takes.
SOME_STEPS = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--work",
        type=float,
        default=25.0,
        metavar="MICROSECONDS",
        help="work per request in the base server [25]; the generator needs 5 to 10",
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--truth-rounds",
        type=int,
        default=60,
        help="rounds that measure how much slower the slower servers truly are [60]",
    )
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="length of each load [0.5]"
    )


def run(place: Place, arguments: argparse.Namespace) -> int:
    if place.collected(False) or place.collected(True):
        sys.exit(
            f"{place.folder} already contains runs, and the servers must not change between runs: "
            "move it away, or use another --folder"
        )
    if shutil.which("taskset") is None:
        sys.exit("taskset is missing; on Debian: apt-get install util-linux")
    print(f"server on CPU {place.server_cpu}, load on CPU {place.load_cpu}", flush=True)
    rounds = arguments.rounds
    first = costs(place, arguments, rounds, [SOME_STEPS, 2 * SOME_STEPS])
    steps = round(arguments.work * 1e3 / step_ns(first, SOME_STEPS), -2)
    base = int(max(steps, 100))
    costs_of_base = costs(place, arguments, rounds, [base, 2 * base])
    step = step_ns(costs_of_base, base)
    cost = statistics.median(costs_of_base[base])
    slower = {percent: base + round(cost * percent / 100 / step) for percent in SLOWER}
    print(
        f"a request costs {cost / 1e3:.2f} µs of CPU time, of which {base * step / 1e3:.2f} µs are "
        f"{base} steps of {step:.3f} ns"
    )
    rounds = arguments.truth_rounds
    found = costs(place, arguments, rounds, [base, *slower.values()])
    true_ratios = {
        percent: ratio(found[steps], found[base]) for percent, steps in slower.items()
    }
    for percent, (middle, low, high) in true_ratios.items():
        print(
            f"{percent} % slower: {slower[percent]} steps; truly {percents(middle)} "
            f"({percents(low)} to {percents(high)}, 95 % interval of {rounds} rounds)"
        )
    write(place, base, slower)
    place.prepared.write_text(
        json.dumps(
            {
                "base_steps": base,
                "slower_steps": slower,
                "request_ns": cost,
                "step_ns": step,
                "true_ratios": true_ratios,
            },
            indent=2,
        )
        + "\n"
    )
    print(f"written to {place.folder}")
    return 0


def percents(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.2f} %"


def ratio(above: list[float], below: list[float]) -> tuple[float, float, float]:
    """The median of the rounds' ratios with its 95 % interval, or all that was seen if there are too few for one."""
    ratios = sorted(a / b for a, b in zip(above, below, strict=True))
    outside = 0
    while at_most(outside, len(ratios), 0.5) <= 0.025:
        outside += 1
    # As many ratios lie below the interval, and as many above it.
    outside = max(outside - 1, 0)
    return statistics.median(ratios), ratios[outside], ratios[-1 - outside]


def step_ns(found: dict[int, list[float]], steps: int) -> float:
    """How long a step takes: the extra cost of twice the steps in each round."""
    once, twice = found[steps], found[2 * steps]
    more = [b - a for a, b in zip(once, twice, strict=True)]
    return statistics.median(more) / steps


def costs(
    place: Place, arguments: argparse.Namespace, rounds: int, all_steps: list[int]
) -> dict[int, list[float]]:
    """CPU time per request in nanoseconds: for each number of steps, a value per round."""
    found: dict[int, list[float]] = {steps: [] for steps in all_steps}
    order = random.Random(len(all_steps))
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for steps in order.sample(all_steps, len(all_steps)):
            with Server(place, steps) as server:
                found[steps].append(server.cost_ns(place, arguments.seconds))
    progress("")
    return found


class Server:
    """A server with this much work, on its CPU."""

    def __init__(self, place: Place, steps: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        contract = {
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "CPUS": "1",
            "ASSETS": str(place.root / "workloads/assets"),
        }
        command = ["taskset", "-c", str(place.server_cpu), place.prony, "reference"]
        self.process = subprocess.Popen(
            [*command, "--work", str(steps)],
            env=os.environ | contract,
            stdout=subprocess.DEVNULL,
        )

    def __enter__(self) -> "Server":
        # A minute, because the machine may be busy.
        for _ in range(6000):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.01)
        self.__exit__()
        sys.exit("the server did not start listening")

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def cost_ns(self, place: Place, seconds: float) -> float:
        command = [place.prony, "load", "-t1", "-c32", f"-d{seconds}s", "--json", "-"]
        command += ["--cpus", str(place.load_cpu), "--warmup", "100ms"]
        before = self.cpu_ns()
        done = subprocess.run(
            [*command, f"http://127.0.0.1:{self.port}/hello"],
            capture_output=True,
            text=True,
        )
        used = self.cpu_ns() - before
        if done.returncode != 0:
            sys.exit(f"prony load failed:\n{done.stderr}")
        result = json.loads(done.stdout)
        if result["generator"]["client_limited"]:
            print("\nnote: the generator was the bottleneck: increase --work")
        return used / (result["outcomes"]["ok"] + result["warmup"]["outcomes"]["ok"])

    def cpu_ns(self) -> int:
        """CPU time of all its threads, which the kernel counts in nanoseconds."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(file.read_text().split()[0]) for file in threads)


def write(place: Place, base: int, slower: dict[int, int]) -> None:
    """Write a project with these servers, this suite and the repository's workloads."""
    servers = place.folder / "servers"
    write_server(
        servers / "base", "Base", base, "The server that the others are compared with."
    )
    write_server(servers / "twin", "Twin", base, "The same as the base.")
    for percent, steps in slower.items():
        title = f"Slower by {percent} %"
        notes = "The same as the base, with more work for each request."
        write_server(servers / f"slower-{percent}", title, steps, notes)
    link(place.root / "servers/ceiling", servers / "ceiling")
    link(place.root / "workloads", place.folder / "workloads")
    (place.folder / "suites").mkdir(exist_ok=True)
    shutil.copy(HERE / "verdicts.toml", place.folder / "suites")


def write_server(folder: Path, title: str, steps: int, notes: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    template = string.Template((HERE / "server.toml.template").read_text())
    text = template.substitute(title=title, steps=steps, notes=notes)
    (folder / "server.toml").write_text(text)
