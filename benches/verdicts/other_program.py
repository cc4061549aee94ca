#!/usr/bin/env python3
"""Another program, which uses one CPU in bursts: random times of work and rest, from a seed.

verdicts.py starts it. It ends when its standard input is closed, so that it cannot outlive its parent,
and then prints how long it worked.
"""

import argparse
import json
import os
import random
import select
import signal
import sys
import time

# How often it checks whether to end, in seconds.
LOOK = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", type=int, help="stay on this CPU")
    parser.add_argument(
        "--mean",
        type=float,
        default=0.2,
        help="mean length of work and of rest, in seconds [0.2]",
    )
    arguments = parser.parse_args()
    # Ctrl-C reaches the whole process group; only the end of the input counts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments.cpu is not None:
        os.sched_setaffinity(0, {arguments.cpu})
    begin = time.monotonic()
    burnt = bursts(random.Random(arguments.seed), arguments.mean)
    took = time.monotonic() - begin
    print(json.dumps({"burnt_s": round(burnt, 3), "seconds": round(took, 3)}))


def bursts(times: random.Random, mean: float) -> float:
    """Work and rest until the input ends; return the CPU time of the work, in seconds."""
    before = time.process_time()
    while True:
        if is_over_after_work(times.expovariate(1 / mean)):
            break
        if is_over(times.expovariate(1 / mean)):
            break
    return time.process_time() - before


def is_over_after_work(seconds: float) -> bool:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if is_over(0):
            return True
        burn(min(left, LOOK))
    return False


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def is_over(patience: float) -> bool:
    """Whether the input ends within that many seconds."""
    readable, _, _ = select.select([sys.stdin], [], [], patience)
    return bool(readable)


if __name__ == "__main__":
    main()
