"""Count how many of the verdicts on the collected runs are right."""

import argparse
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from place import Place, progress

DIFFERENT = ("improved", "worse")
VERDICTS = (*DIFFERENT, "no-change-seen", "too-noisy", "limited")
# The server that is held against the base, and by how much it is truly slower, in percent.
AGAINST_BASE = {"twin": 0, "slower-3": 3, "slower-5": 5}
# What a metric's ratio is where the server is slower: its rate falls, its costs rise.
FALLS = ("rate",)
# What is said of a pair beside its figures. It is false where it is said of the twin, but that it is
# not said is no merit, so it is not counted then.
FAILURES = ("errors", "failure")
# What is promised: the share of false calls at the most, and of true ones at the least, by any metric
# (which is the exit status) or by one.
FALSE_AT_MOST = 0.05
WORSE_AT_LEAST = {"slower-5": (None, 0.90), "slower-3": ("instructions", 0.80)}
# And, beside another, the share of reports that say so.
SAID_AT_LEAST = 0.95


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the tables"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write every comparison"
    )
    parser.add_argument(
        "--noisy",
        metavar="PATTERN",
        default="machine was noisy",
        help="what the report of a noisy machine says [machine was noisy]",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="judge N rounds at a time: those of all runs one after the other, cut into parts of N",
    )
    parser.add_argument("flags", nargs="*", help="further flags for `prony compare`")


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

    def share_of_intervals_with(self, truth: float) -> str:
        hits = sum(low <= truth <= high for low, high in self.intervals)
        return share(hits, len(self.intervals))


@dataclass
class Evidence:
    """All that one kind of runs says."""

    has_other: bool
    runs: int = 0
    # As many, or more where runs are taken apart.
    judged: int = 0
    tallies: dict[str, dict[str, Tally]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Tally))
    )
    # Runs in which a server was called so by any metric.
    twin_different: int = 0
    worse: Counter = field(default_factory=Counter)
    said_noisy: int = 0
    comparisons: list[dict] = field(default_factory=list)


def run(place: Place, arguments: argparse.Namespace) -> int:
    kinds = [has for has in (False, True) if place.collected(has)]
    if not kinds:
        sys.exit("nothing is collected: run `verdicts.py collect` first")
    texts, everything, held = [], [], True
    for has_other in kinds:
        evidence = weigh(place, arguments, has_other)
        lines, kept = promises(evidence)
        held &= kept
        kind = "Beside another in bursts" if has_other else "On its own"
        count = f"{evidence.runs} runs"
        if arguments.rounds:
            count += (
                f", taken apart into {evidence.judged} of {arguments.rounds} rounds"
            )
        texts.append(f"## {kind}: {count}\n\n{table(evidence)}\n{lines}")
        everything += evidence.comparisons
    text = "\n".join(texts)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 0 if held else 1


def weigh(place: Place, arguments: argparse.Namespace, has_other: bool) -> Evidence:
    folders = place.collected(has_other)
    evidence = Evidence(has_other, runs=len(folders))
    evidence.said_noisy = sum(says(folder, arguments.noisy) for folder in folders)
    files = [folder / "run.json" for folder in folders]
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.rounds:
            files = parts(files, arguments.rounds, Path(scratch))
        for number, file in enumerate(files):
            progress(f"run {number + 1} of {len(files)}")
            judge(place, evidence, file, arguments.flags)
    progress("")
    return evidence


def judge(place: Place, evidence: Evidence, file: Path, flags: list[str]) -> None:
    """Adds the verdicts on one run, or on a part of some."""
    evidence.judged += 1
    for server in AGAINST_BASE:
        found = compare(place, file, server, flags)
        for comparison in found:
            evidence.tallies[server][comparison["metric"]].add(comparison)
            about = {
                "other-programs": evidence.has_other,
                "run": evidence.judged,
                "server": server,
            }
            evidence.comparisons.append({**about, **comparison})
        verdicts = {comparison["verdict"] for comparison in found}
        evidence.worse[server] += "worse" in verdicts
        if AGAINST_BASE[server] == 0:
            evidence.twin_different += not verdicts.isdisjoint(DIFFERENT)


def parts(files: list[Path], rounds: int, scratch: Path) -> list[Path]:
    """The rounds of all runs in one row, a file for each part of so many.

    A comparison is of pairs within a round, so it makes no difference to it in which run a round was made.
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


def compare(place: Place, file: Path, server: str, flags: list[str]) -> list[dict]:
    command = [
        place.prony,
        "compare",
        f"{file}:base",
        f"{file}:{server}",
        "--json",
        "-",
    ]
    done = subprocess.run([*command, *flags], capture_output=True, text=True)
    # 0: nothing is worse; 1: something is; 3: too noisy to say, where that is asked for.
    if done.returncode not in (0, 1, 3):
        sys.exit(f"prony compare of {file} failed:\n{done.stderr}")
    comparisons = comparisons_of(json.loads(done.stdout))
    for comparison in comparisons:
        if comparison["verdict"] not in VERDICTS:
            sys.exit(f"a verdict that is not known: {comparison['verdict']}")
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


def says(folder: Path, pattern: str) -> bool:
    texts = [folder / "report.txt", *folder.glob("report/*.md")]
    return any(re.search(pattern, text.read_text(), re.IGNORECASE) for text in texts)


def table(evidence: Evidence) -> str:
    lines = [
        "| against the base | metric | worse | improved | no change seen | too noisy | limited "
        "| called different | median ratio | 95 % intervals that hold the truth |",
        "|---|---|" + "---:|" * 8,
    ]
    for server, metrics in evidence.tallies.items():
        lines += [row(server, metric, tally) for metric, tally in metrics.items()]
    return "\n".join(lines) + "\n"


def row(server: str, metric: str, tally: Tally) -> str:
    counts = [
        str(tally.called(verdict))
        for verdict in ("worse", "improved", "no-change-seen", "too-noisy", "limited")
    ]
    different = share(tally.called(*DIFFERENT), tally.count)
    middle, covered = "", ""
    if tally.ratios:
        middle = f"{statistics.median(tally.ratios):.4f}"
        truth = true_ratio(server, metric)
        covered = "" if truth is None else tally.share_of_intervals_with(truth)
    cells = [server, metric, *counts, different, middle, covered]
    return "| " + " | ".join(cells) + " |"


def true_ratio(server: str, metric: str) -> float | None:
    """Known where nothing differs, and, as well as the steps are counted out, of rate and CPU time."""
    slower = 1 + AGAINST_BASE[server] / 100
    if slower == 1:
        return 1.0
    if metric in FALLS:
        return 1 / slower
    return slower if metric == "cpu" else None


def promises(evidence: Evidence) -> tuple[str, bool]:
    """Whether what is promised holds, line by line."""
    lines, held = [], True

    def line(what: str, hits: int, count: int, kept: bool | None = None) -> None:
        nonlocal held
        held &= kept is not False
        mark = {True: ": holds", False: ": does not hold", None: ""}[kept]
        lines.append(f"- {what}: {share(hits, count)}{mark}")

    twins = evidence.tallies["twin"].items()
    false = sum(tally.called(*DIFFERENT) for _, tally in twins)
    count = sum(tally.count for metric, tally in twins if metric not in FAILURES)
    what = "the twin called different, at most 5 % of all comparisons with it"
    line(what, false, count, false <= FALSE_AT_MOST * count)
    runs = evidence.twin_different
    what = "runs in which the twin was called different by any metric, at most 5 %"
    line(what, runs, evidence.judged, runs <= FALSE_AT_MOST * evidence.judged)
    for server, (wanted, least) in WORSE_AT_LEAST.items():
        by, hits, count = worse_by(evidence, server, wanted)
        what = f"{server} called worse by {by}"
        if evidence.has_other:
            line(what, hits, count)
        else:
            what += f", at least {least:.0%}"
            line(what, hits, count, hits >= least * count > 0)
    what, said = "reports that say that the machine was noisy", evidence.said_noisy
    if evidence.has_other:
        least = SAID_AT_LEAST * evidence.runs
        line(
            f"{what}, at least {SAID_AT_LEAST:.0%}", said, evidence.runs, said >= least
        )
    else:
        line(what, said, evidence.runs)
    return "\n".join(lines) + "\n", held


def worse_by(
    evidence: Evidence, server: str, metric: str | None
) -> tuple[str, int, int]:
    """What a server was called worse by, how often, and of how many."""
    if metric is None:
        return "any metric", evidence.worse[server], evidence.judged
    metrics = evidence.tallies[server]
    by = metric
    if metric not in metrics:
        # Where instructions are not counted, CPU time is the cost that noise blurs least.
        metric, by = "cpu", f"cpu ({metric} are not counted here)"
    tally = metrics.get(metric, Tally())
    return by, tally.called("worse"), tally.count


def share(hits: int, count: int) -> str:
    if count == 0:
        return "–"
    low, high = binomial_interval(hits, count)
    return f"{hits} ({hits / count:.1%}; {low:.1%}–{high:.1%})"


def binomial_interval(hits: int, count: int) -> tuple[float, float]:
    """Of the true share, with 95 % (Clopper and Pearson, 1934)."""
    tail = 0.025
    low = 0.0 if hits == 0 else solve(lambda p: 1 - at_most(hits - 1, count, p), tail)
    high = 1.0 if hits == count else solve(lambda p: -at_most(hits, count, p), -tail)
    return low, high


def at_most(hits: int, count: int, p: float) -> float:
    """The chance of at most so many hits."""
    return sum(
        math.comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(hits + 1)
    )


def solve(rising, value: float) -> float:
    """Where a function that rises from 0 to 1 has a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low
