"""Write repositories of servers whose revisions cost a known number of instructions more."""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from place import Place, link, progress

from instructions import languages, sources
from instructions.emulated import instructions_per_request
from instructions.languages import LANGUAGES, Language
from instructions.sources import Build

# To know what a step costs, a server with this many times the base's steps is measured beside it.
MANY = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    languages.add_argument(parser)
    parser.add_argument(
        "--starts", type=int, default=3, help="starts of each server [3]"
    )


def run(place: Place, arguments: argparse.Namespace) -> int:
    link(place.root / "workloads", place.folder / "workloads")
    for name in arguments.languages:
        file = place.folder / f"{name}.json"
        if file.is_file():
            print(f"{name}: already prepared, in {file}")
            continue
        known = prepare(place, LANGUAGES[name], arguments.starts)
        file.write_text(json.dumps(known, indent=2) + "\n")
    return 0


def prepare(place: Place, language: Language, starts: int) -> dict:
    base = sources.steps_of_base(language)
    folder = place.folder / "servers" / language.name
    # A first repository, of which Prony builds and verifies a server and installs its toolchain.
    sources.repository(language, folder, {"base": base}, "twin")
    verify(place, folder)
    found = measured(place, language, [base, MANY * base], starts)
    cost = statistics.median(found[base])
    step = (statistics.median(found[MANY * base]) - cost) / ((MANY - 1) * base)
    steps = {
        revision: base + round(cost * percent / 100 / step)
        for revision, percent in language.revisions.items()
    }
    sources.repository(language, folder, steps, "twin")
    true = {
        revision: 1 + (count - base) * step / cost for revision, count in steps.items()
    }
    print(
        f"{language.name}: a request costs {cost:.0f} instructions, a step {step:.2f}"
    )
    check = measured(place, language, sorted(set(steps.values())), starts)
    for revision, count in steps.items():
        show(revision, count, true[revision], check[count], check[base])
    return {
        "instructions": cost,
        "instructions_of_a_step": step,
        "steps": steps,
        "true_ratio": true,
        "starts": {count: values for count, values in (found | check).items()},
    }


def show(
    revision: str, steps: int, true: float, values: list[float], base: list[float]
) -> None:
    measured = statistics.median(values) / statistics.median(base) - 1
    print(
        f"  {revision}: {steps} steps, {true - 1:+.3%}; measured {measured:+.3%}",
        flush=True,
    )


def verify(place: Place, server: Path) -> None:
    command = [place.prony, "--project", place.folder, "verify", server]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"prony verify {server} failed:\n{done.stdout}{done.stderr}")


def measured(
    place: Place, language: Language, all_steps: list[int], starts: int
) -> dict[int, list[float]]:
    """Instructions per request in each start, for each number of steps; interleaved."""
    builds = {steps: Build(place, language, steps) for steps in all_steps}
    found: dict[int, list[float]] = {steps: [] for steps in all_steps}
    for number in range(starts):
        for steps, build in builds.items():
            progress(f"{language.name}: start {number + 1} of {starts}, {steps} steps")
            one = instructions_per_request(build, language.warm_up, language.requests)
            found[steps].append(one)
    progress("")
    return found
