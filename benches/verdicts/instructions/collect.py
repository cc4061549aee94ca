"""Compare the revisions with their base, and keep each comparison."""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from beside import OtherProgram, add_argument, place_of
from place import Place

from instructions import collection, languages
from instructions.languages import LANGUAGES

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
        build(place, one)
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
    command = comparison(place, one, store)
    command += ["--seed", str(one.number), "--json", one.folder / "comparison.json"]
    command += arguments.flags
    other = place_of(one.number, arguments.other_program)
    begin = time.monotonic()
    with OtherProgram(place, one.folder, one.number, other):
        status, cpu_seconds = logged(one.folder / "log.txt", command)
    seconds = time.monotonic() - begin
    check(status, one.folder)
    export = [place.prony, "export", "--store", store, "--format", "json"]
    subprocess.run([*export, "-o", one.folder / "run.json"], check=True)
    # Written last: this file marks the comparison as done.
    done = {
        "seconds": round(seconds, 1),
        # A busy machine does not change that.
        "cpu_seconds": round(cpu_seconds, 1),
        "status": status,
        "other_program": other,
    }
    (one.folder / "done.json").write_text(json.dumps(done) + "\n")
    return seconds


def comparison(place: Place, one: Comparison, store: Path) -> list[object]:
    """The command that compares a revision with the base."""
    command = [place.prony, "--project", place.folder, "ab", "base", one.revision]
    command += ["--server", place.folder / "servers" / one.language]
    # The next one uses the builds again.
    command += ["--by", "instructions", "--keep", "--store", store]
    command += ["--server-cpus", str(place.server_cpu)]
    command += ["--load-cpus", str(place.load_cpu)]
    return command


def build(place: Place, one: Comparison) -> None:
    """Compare briefly for the first time, so that no other comparison has to build the servers."""
    folder = place.folder / "first" / one.language / one.revision
    if (folder / "done").is_file():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = comparison(place, one, folder / "prony.sqlite")
    brief = ["--rounds", "1", "--requests", "1", "--warmup-limit", "0s"]
    status, _ = logged(folder / "log.txt", [*command, *brief])
    check(status, folder)
    (folder / "done").touch()


def check(status: int, folder: Path) -> None:
    if status == 130:
        raise KeyboardInterrupt
    if status not in COMPARED:
        said = (folder / "log.txt").read_text()
        sys.exit(f"prony ab exited with {status}:\n{said}")


def logged(log: Path, command: list[object]) -> tuple[int, float]:
    """Run a command; return its exit status, and the CPU time of it and of all that it started."""
    before = cpu_seconds_of_children()
    with open(log, "w") as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            status = process.wait()
        except KeyboardInterrupt:
            # It got the signal too, and stops its servers.
            process.wait()
            raise
    # The other program has not ended yet, so it is not in there.
    return status, cpu_seconds_of_children() - before


def cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
