"""Count how many verdicts on the collected runs are right."""

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from comparisons import DIFFERENT, Tally, compare, parts
from place import Place, progress
from shares import share

TWIN = "twin"
# The servers that are compared with the base.
AGAINST_BASE = (TWIN, "slower-3", "slower-5")
# The metrics that fall if a server is slower; all others rise.
FALLS = ("rate",)
# What is reported beside the figures. Reporting it for the twin is false, but not reporting it is no
# merit, so it does not add to the number of comparisons.
FAILURES = ("errors", "failure")
# What is promised: at most this share of false calls, and at least these shares of true ones, by any
# metric (which decides the exit status) or by one.
FALSE_AT_MOST = 0.05
WORSE_AT_LEAST = {"slower-5": (None, 0.90), "slower-3": ("instructions", 0.80)}
# And, beside another program, at least this share of reports that say so.
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
        help="pattern in the report of a noisy machine [machine was noisy]",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="judge N rounds at a time: join the rounds of all runs, and cut them into parts of N",
    )
    parser.add_argument("flags", nargs="*", help="more flags for `prony compare`")


@dataclass
class Evidence:
    """What all runs of one kind show."""

    has_other: bool
    # How much more CPU time a request costs each server than the base: the ends of what is known.
    true_ratios: dict[str, tuple[float, float]]
    runs: int = 0
    # Differs from `runs` if they are cut into parts.
    judged: int = 0
    tallies: dict[str, dict[str, Tally]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Tally))
    )
    # Runs in which any metric called a server different, or worse.
    twin_different: int = 0
    worse: Counter = field(default_factory=Counter)
    said_noisy: int = 0
    comparisons: list[dict] = field(default_factory=list)


def run(place: Place, arguments: argparse.Namespace) -> int:
    kinds = [has for has in (False, True) if place.collected(has)]
    if not kinds:
        sys.exit("there are no runs: run `verdicts.py collect` first")
    texts, everything, held = [], [], True
    for has_other in kinds:
        evidence = weigh(place, arguments, has_other)
        lines, kept = promises(evidence)
        held &= kept
        kind = "Beside another program" if has_other else "On a quiet machine"
        count = f"{evidence.runs} runs"
        if arguments.rounds:
            count += f", cut into {evidence.judged} of {arguments.rounds} rounds"
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
    evidence = Evidence(has_other, true_ratios(place), runs=len(folders))
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
    """Add the verdicts on one run, or on one part."""
    evidence.judged += 1
    for server in AGAINST_BASE:
        found = compare(place, file, "base", server, flags)
        for comparison in found:
            evidence.tallies[server][comparison["metric"]].add(comparison)
            about = {
                "other_program": evidence.has_other,
                "run": evidence.judged,
                "server": server,
            }
            evidence.comparisons.append({**about, **comparison})
        verdicts = {comparison["verdict"] for comparison in found}
        evidence.worse[server] += "worse" in verdicts
        if server == TWIN:
            evidence.twin_different += not verdicts.isdisjoint(DIFFERENT)


def says(folder: Path, pattern: str) -> bool:
    texts = [folder / "report.txt", *folder.glob("report/*.md")]
    return any(re.search(pattern, text.read_text(), re.IGNORECASE) for text in texts)


def table(evidence: Evidence) -> str:
    lines = [
        "| against the base | metric | worse | improved | no change seen | inconclusive | limited "
        "| called different | median ratio | 95 % intervals that contain the truth |",
        "|---|---|" + "---:|" * 8,
    ]
    for server, metrics in evidence.tallies.items():
        slower = evidence.true_ratios[server]
        lines += [
            row(server, metric, tally, truth(server, metric, slower))
            for metric, tally in metrics.items()
        ]
    return "\n".join(lines) + "\n"


def row(
    server: str, metric: str, tally: Tally, true_ratio: tuple[float, float] | None
) -> str:
    counts = [
        str(tally.called(verdict))
        for verdict in (
            "worse",
            "improved",
            "no-change-seen",
            "inconclusive",
            "limited",
        )
    ]
    different = share(tally.called(*DIFFERENT), tally.count)
    middle, covered = "", ""
    if tally.ratios:
        middle = f"{statistics.median(tally.ratios):.4f}"
        if true_ratio is not None:
            covered = tally.share_of_intervals_with(*true_ratio)
    cells = [server, metric, *counts, different, middle, covered]
    return "| " + " | ".join(cells) + " |"


def true_ratios(place: Place) -> dict[str, tuple[float, float]]:
    prepared = json.loads(place.prepared.read_text())
    measured = prepared["true_ratios"].items()
    slower = {f"slower-{percent}": (low, high) for percent, (_, low, high) in measured}
    return {TWIN: (1.0, 1.0), **slower}


def truth(
    server: str, metric: str, slower: tuple[float, float]
) -> tuple[float, float] | None:
    """Known if nothing differs, and for rate and CPU time as precisely as `prepare` measured it."""
    low, high = slower
    if metric in FALLS:
        return 1 / high, 1 / low
    return slower if metric == "cpu" or server == TWIN else None


def promises(evidence: Evidence) -> tuple[str, bool]:
    """The promises, line by line, and whether all are kept."""
    lines, held = [], True

    def line(what: str, hits: int, count: int, kept: bool | None = None) -> None:
        nonlocal held
        held &= kept is not False
        mark = {True: ": kept", False: ": not kept", None: ""}[kept]
        lines.append(f"- {what}: {share(hits, count)}{mark}")

    twins = evidence.tallies[TWIN].items()
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
    """By which metric a server was called worse, how often, and out of how many."""
    if metric is None:
        return "any metric", evidence.worse[server], evidence.judged
    metrics = evidence.tallies[server]
    by = metric
    if metric not in metrics:
        # Without instruction counts, CPU time is the cost that noise affects least.
        metric, by = "cpu", f"cpu ({metric} are not counted here)"
    tally = metrics.get(metric, Tally())
    return by, tally.called("worse"), tally.count
