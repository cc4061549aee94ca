"""Runs Hurl files with Hurl and with Prony, and compares what both say of them.

    python crates/scenario/compare_with_hurl.py FOLDER --prony target/debug/prony --hurl hurl

The server of the files must run already. A file is sent as one flow by one user, `prony load FILE --sequential -n 1`.
The variables of a file NAME.hurl are in NAME.variables beside it, if that exists: a line NAME=VALUE for each; --variable
sets those of all files.

Each file is one of these:

- same: both accept every response, or both reject the file at the same line;
- refused: Prony names something in it that it does not support, and sends nothing;
- elsewhere: both reject the file, at different lines;
- different: one accepts what the other rejects.

The exit status is 1 if a file is different. With --strict it is 1 also if a file is elsewhere.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PLACE = re.compile(r"\.hurl:(\d+)(?::\d+)?")
UNSUPPORTED = re.compile(r"Prony does not support (.+)")
SECONDS = 60


@dataclass
class Verdict:
    """What a program says of a file."""

    is_accepted: bool
    message: str = ""
    refused: list[str] = field(default_factory=list)

    @property
    def line(self) -> int | None:
        """The line of the first failure."""
        place = PLACE.search(self.message)
        return int(place.group(1)) if place else None


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def of_hurl(program: str, file: Path, variables: list[str]) -> Verdict:
    finished = run([program, "--test", "--no-color", *flags(variables), str(file)])
    errors = finished.stderr[finished.stderr.find("error:") :]
    return Verdict(finished.returncode == 0, errors)


def of_prony(program: str, file: Path, variables: list[str]) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "load.json")
        command = [program, "load", str(file), "--sequential", "-n", "1"]
        finished = run([*command, "--json", str(result), *flags(variables)])
        if not result.exists() or not result.stat().st_size:
            return Verdict(False, finished.stderr, UNSUPPORTED.findall(finished.stderr))
        load = json.loads(result.read_text())
    flows = load["flows"]
    is_accepted = (flows["ok"], flows["failed"]) == (1, 0)
    wrong = [entry["first_wrong"] for entry in flows["entries"]]
    # A retry that succeeds leaves the reason of the response before it.
    reasons = [flows["first_failure"], *wrong] if not is_accepted else []
    return Verdict(is_accepted, next((str(reason) for reason in reasons if reason), ""))


def flags(variables: list[str]) -> list[str]:
    return [flag for variable in variables for flag in ("--variable", variable)]


def variables_of(file: Path) -> list[str]:
    beside = file.with_suffix(".variables")
    return beside.read_text().splitlines() if beside.exists() else []


def kind(hurl: Verdict, prony: Verdict) -> str:
    if prony.refused:
        return "refused"
    if hurl.is_accepted != prony.is_accepted:
        return "different"
    return "same" if hurl.line == prony.line else "elsewhere"


def described(hurl: Verdict, prony: Verdict) -> str:
    if prony.refused:
        return ", ".join(sorted(set(prony.refused)))
    if kind(hurl, prony) == "same":
        return "accepted" if hurl.is_accepted else f"rejected at line {hurl.line}"
    sides = [("hurl", hurl), ("prony", prony)]
    return "".join(f"\n    {name}: {one_line(verdict)}" for name, verdict in sides)


def one_line(verdict: Verdict) -> str:
    return (
        "accepts it" if verdict.is_accepted else " ".join(verdict.message.split())[:300]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prony", default="prony", metavar="PROGRAM")
    parser.add_argument("--hurl", default="hurl", metavar="PROGRAM")
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.rglob("*.hurl"))
    if not files:
        parser.error(f"{arguments.folder} has no Hurl files")
    counts = dict.fromkeys(["same", "refused", "elsewhere", "different"], 0)
    for file in files:
        variables = arguments.variable + variables_of(file)
        hurl = of_hurl(arguments.hurl, file, variables)
        prony = of_prony(arguments.prony, file, variables)
        found = kind(hurl, prony)
        counts[found] += 1
        name = file.relative_to(arguments.folder)
        print(f"{found:9} {name}: {described(hurl, prony)}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["different"] or (arguments.strict and counts["elsewhere"]) else 0


if __name__ == "__main__":
    sys.exit(main())
