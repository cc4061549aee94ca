"""Compare the revisions with their base, and keep each comparison."""

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from beside import OtherProgram, add_argument, place_of
from instructions import collection, languages
from instructions.languages import LANGUAGES
from place import Place

# The exit statuses of `prony ab` if it compared something.
COMPARED = (0, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    languages.add_argument(parser)
    parser.add_argument(
        "--runs",
        type=int,
        default=20,
        help="total number of comparisons of each revision [20]",
    )
    parser.add_argument(
        "--minutes", type=float, help="begin no comparison after that many minutes"
    )
    add_argument(parser)
    parser.add_argument("flags", nargs="*", help="more flags for `prony ab`")


@dataclass(frozen=True)
class Comparison:
    """One to do."""

    language: str
    revision: str
    number: int
    folder: Path


def run(place: Place, arguments: argparse.Namespace) -> int:
    missing = todo(place, arguments)
    print(f"{len(missing)} comparisons to do", flush=True)
    begin = time.monotonic()
    for done, one in enumerate(missing):
        minutes = (time.monotonic() - begin) / 60
        if arguments.minutes is not None and minutes >= arguments.minutes:
            print(f"{len(missing) - done} are left")
            break
        seconds = compare(place, arguments, one)
        name = f"{one.language} {one.revision} {one.number}"
        print(f"{name}: {seconds:.0f} s", flush=True)
    return 0


def todo(place: Place, arguments: argparse.Namespace) -> list[Comparison]:
    """The comparisons that are missing: of all languages and revisions in turn."""
    found = []
    for number in range(1, arguments.runs + 1):
        for language in arguments.languages:
            if not (place.folder / f"{language}.json").is_file():
                sys.exit(f"{language} is not prepared: run `prepare` first")
            for revision in LANGUAGES[language].revisions:
                has_other = arguments.other_program is not None
                pair = collection.pair(place, has_other, language, revision)
                folder = pair / f"{number:03}"
                if revision != "base" and not (folder / "done.json").is_file():
                    found.append(Comparison(language, revision, number, folder))
    return found


def compare(place: Place, arguments: argparse.Namespace, one: Comparison) -> float:
    """Run `prony ab`, and return how many seconds it took."""
    # Remains of an interrupted one.
    shutil.rmtree(one.folder, ignore_errors=True)
    one.folder.mkdir(parents=True)
    store = one.folder / "prony.sqlite"
    command = [place.prony, "--project", place.folder, "ab", "base", one.revision]
    command += ["--server", place.folder / "servers" / one.language]
    # The builds are used again.
    command += ["--by", "instructions", "--keep", "--seed", str(one.number)]
    command += ["--json", one.folder / "comparison.json", "--store", store]
    command += ["--server-cpus", str(place.server_cpu)]
    command += ["--load-cpus", str(place.load_cpu), *arguments.flags]
    other = place_of(one.number, arguments.other_program)
    begin = time.monotonic()
    with OtherProgram(place, one.folder, one.number, other):
        status = logged(one.folder / "log.txt", command)
    seconds = time.monotonic() - begin
    if status == 130:
        raise KeyboardInterrupt
    if status not in COMPARED:
        said = (one.folder / "log.txt").read_text()
        sys.exit(f"prony ab exited with {status}:\n{said}")
    export = [place.prony, "export", "--store", store, "--format", "json"]
    subprocess.run([*export, "-o", one.folder / "run.json"], check=True)
    # Written last: this file marks the comparison as done.
    done = {"seconds": round(seconds, 1), "status": status, "other_program": other}
    (one.folder / "done.json").write_text(json.dumps(done) + "\n")
    return seconds


def logged(log: Path, command: list[object]) -> int:
    with open(log, "w") as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            return process.wait()
        except KeyboardInterrupt:
            # It got the signal too, and stops its servers.
            process.wait()
            raise
