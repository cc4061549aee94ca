#!/usr/bin/env python3
"""What profiling costs a server: CPU time for each request with and without it, in interleaved rounds.

    measure_cost.py --prony PRONY --profile EXAMPLE --url http://127.0.0.1:8080/hello PID

PRONY is the program `prony`, EXAMPLE the compiled example `profile`, and PID the server that listens at the URL. Prony
loads it in a closed loop. Prints, for profiles on the CPU and for profiles on and off it, by how much the CPU time for
each request grows: the median of the rounds' ratios, and their quartiles.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {"plain": None, "on CPU": [], "on and off CPU": ["--off-cpu"]}


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return []


def cpu_s(pid):
    """The CPU time of a process and its descendants. schedstat counts nanoseconds, stat only ticks."""
    total = 0.0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0]) / 1e9
        except FileNotFoundError:
            pass
    return total + sum(cpu_s(child) for child in children(pid))


def round_of(arguments, options):
    """CPU seconds for each request, with these options of the profiler or without it."""
    pinned = ["taskset", "-c", arguments.cpus]
    profiler = None
    if options is not None:
        command = [
            arguments.profile,
            "--seconds",
            str(arguments.seconds + 1),
            *options,
            str(arguments.pid),
        ]
        profiler = subprocess.Popen(
            pinned + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(0.5)
    path = os.path.join(tempfile.gettempdir(), f"measure-cost-{os.getpid()}.json")
    load = [
        arguments.prony,
        "load",
        "--json",
        path,
        "-q",
        "-c",
        "16",
        "--warmup",
        "0s",
        "-d",
        f"{arguments.seconds}s",
    ]
    before = cpu_s(arguments.pid)
    subprocess.run(
        pinned + load + [arguments.url], stdout=subprocess.DEVNULL, check=True
    )
    used = cpu_s(arguments.pid) - before
    if profiler:
        profiler.wait()
    with open(path) as file:
        result = json.load(file)
    os.remove(path)
    return used / result["outcomes"]["ok"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pid", type=int)
    parser.add_argument("--prony", required=True)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument(
        "--cpus", default="1", help="the CPUs of the load and of the profiler"
    )
    arguments = parser.parse_args()
    ratios = {way: [] for way in WAYS}
    plain = []
    for number in range(arguments.rounds):
        ways = list(WAYS)
        # Each way comes first as often as the others.
        ways = ways[number % len(ways) :] + ways[: number % len(ways)]
        costs = {way: round_of(arguments, WAYS[way]) for way in ways}
        plain.append(costs["plain"])
        for way in WAYS:
            ratios[way].append(costs[way] / costs["plain"] - 1)
    print(f"plain: {statistics.median(plain) * 1e6:.2f} µs of CPU time a request")
    for way in list(WAYS)[1:]:
        low, middle, high = statistics.quantiles(ratios[way], n=4)
        print(f"{way}: {middle:+.1%} (quartiles {low:+.1%} to {high:+.1%})")


if __name__ == "__main__":
    main()
