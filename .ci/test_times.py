#!/usr/bin/env python3
"""Shows which test programs and which tests took longest.

test_times.py FOLDER REASONS

The folder has what timed-test-program wrote. A test that takes more than 5 s needs a reason in the file REASONS. Tests of
a program overlap, and other programs run beside them, so that a test may only have waited for a CPU. That is why one
without a reason makes the status 1 only above 15 s, or up to 60 s if something always waited for a CPU meanwhile.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NEEDS_A_REASON_S = 5
FAILS_S, FAILS_UNDER_PRESSURE_S = 15, 60
SHOWN = 10


@dataclass
class Program:
    name: str
    """That of its package, and its own."""
    seconds: float
    pressure: float
    """The share of this time in which something waited for a CPU."""

    @classmethod
    def read(cls, text: str) -> "Program":
        name, took, waited = text.splitlines()
        name = name.replace(" rust_out", " examples in docs")
        pressure = min(1, int(waited) / max(1, int(took)))
        return cls(name, int(took) / 1e6, pressure)

    def limit_s(self) -> float:
        return FAILS_S + (FAILS_UNDER_PRESSURE_S - FAILS_S) * self.pressure


@dataclass
class Test:
    name: str
    """Its package, its program and its path."""
    seconds: float
    limit_s: float


def read(program: Program, log: str) -> Iterator[Test]:
    """The tests that a program ran."""
    for name, seconds in re.findall(r"^\w+ (\S+) <([\d.]+)s>$", log, re.MULTILINE):
        yield Test(f"{program.name} {name}", float(seconds), program.limit_s())


def reasons(text: str) -> dict[str, str]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pairs = (line.partition(": ") for line in lines)
    return {name: reason.strip() for name, _, reason in pairs}


def faults(tests: list[Test], reasons: dict[str, str]) -> list[str]:
    slow = [it for it in tests if it.seconds > it.limit_s and not reasons.get(it.name)]
    gone = reasons.keys() - {test.name for test in tests}
    return [
        *(
            f"{it.name} took {it.seconds:.1f} s: make it faster, or add its reason to .ci/slow-tests"
            for it in slow
        ),
        *(
            f".ci/slow-tests names a test that did not run: {name}"
            for name in sorted(gone)
        ),
    ]


def main() -> None:
    folder, file = map(Path, sys.argv[1:])
    programs, tests = [], []
    for times in folder.glob("*.times"):
        program = Program.read(times.read_text())
        log = times.with_suffix(".log")
        # Examples in the documentation write none.
        ran = list(read(program, log.read_text())) if log.exists() else []
        programs.append((program, len(ran)))
        tests += ran
    known = reasons(file.read_text())

    print("\nseconds  tests  CPU pressure  test program")
    programs.sort(key=lambda it: -it[0].seconds)
    for it, count in programs:
        print(f"{it.seconds:7.1f}  {count:5}  {it.pressure:12.0%}  {it.name}")
    total = sum(it.seconds for it, _ in programs)
    print(f"{total:7.1f}  {len(tests):5}  {'':12}  in all")

    tests.sort(key=lambda test: -test.seconds)
    slow = [test for test in tests if test.seconds > NEEDS_A_REASON_S]
    print("\nseconds  slowest tests")
    for test in tests[: max(SHOWN, len(slow))]:
        reason = known.get(
            test.name, "NO REASON in .ci/slow-tests" if test in slow else ""
        )
        print(f"{test.seconds:7.1f}  {test.name}{reason and ': '}{reason}")

    found = faults(tests, known)
    for fault in found:
        print(fault)
    if not tests:
        sys.exit("no test has noted its time")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
