"""Compare with `prony compare`, and count its verdicts."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from place import Place
from shares import share

DIFFERENT = ("improved", "worse")
VERDICTS = (*DIFFERENT, "no-change-seen", "inconclusive", "limited")


@dataclass
class Tally:
    """The verdicts on one metric of one pair, over all runs."""

    verdicts: Counter = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    intervals: list[tuple[float, float]] = field(default_factory=list)

    def add(self, comparison: dict) -> None:
        self.verdicts[comparison["verdict"]] += 1
        numbers = [comparison.get(name) for name in ("ratio", "low", "high")]
        if all(number is not None for number in numbers):
            ratio, low, high = numbers
            self.ratios.append(ratio)
            self.intervals.append((low, high))

    @property
    def count(self) -> int:
        return self.verdicts.total()

    def called(self, *verdicts: str) -> int:
        return sum(self.verdicts[verdict] for verdict in verdicts)

    def share_of_intervals_with(self, least: float, most: float) -> str:
        """The share of intervals that hold a value which is known to be between two."""
        hits = sum(low <= most and least <= high for low, high in self.intervals)
        return share(hits, len(self.intervals))


def parts(files: list[Path], rounds: int, scratch: Path) -> list[Path]:
    """Join the rounds of all runs, and write a file for each part of `rounds`.

    Comparisons are of pairs within a round, so it does not matter to which run a round belongs.
    """
    found, row = [], []
    for file in files:
        whole = json.loads(file.read_text())
        by_round = defaultdict(list)
        for one in whole["trials"]:
            by_round[one["trial"]["round"]].append(one)
        row += [by_round[number] for number in sorted(by_round)]
        while len(row) >= rounds:
            part, row = row[:rounds], row[rounds:]
            for number, trials in enumerate(part, start=1):
                for one in trials:
                    one["trial"]["round"] = number
            trials = [one for trials in part for one in trials]
            found.append(scratch / f"{len(found)}.json")
            found[-1].write_text(json.dumps({**whole, "trials": trials}))
    return found


def compare(
    place: Place, file: Path, base: str, new: str, flags: list[str]
) -> list[dict]:
    command = [
        place.prony,
        "compare",
        f"{file}:{base}",
        f"{file}:{new}",
        "--json",
        "-",
    ]
    done = subprocess.run([*command, *flags], capture_output=True, text=True)
    # 0: nothing is worse; 1: something is; 3: inconclusive (`--strict`).
    if done.returncode not in (0, 1, 3):
        sys.exit(f"prony compare of {file} failed:\n{done.stderr}")
    comparisons = comparisons_of(json.loads(done.stdout))
    for comparison in comparisons:
        if comparison["verdict"] not in VERDICTS:
            sys.exit(f"unknown verdict: {comparison['verdict']}")
    return comparisons


def comparisons_of(document: dict) -> list[dict]:
    """One for each metric of each workload."""
    return [
        {
            "workload": case["workload"],
            "metric": row["what"],
            "verdict": row["finding"],
            **(row["change"] or {}),
        }
        for case in document["cases"]
        for row in case["rows"]
    ]
