"""Do many short runs with interleaved servers, and keep each."""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

from beside import OtherProgram, add_argument, place_of
from place import Place

# The exit statuses of `prony run` if it measured something.
SOMETHING_MEASURED = (0, 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", type=int, default=100, help="total number of runs [100]"
    )
    parser.add_argument("--rounds", type=int, default=12, help="rounds per run [12]")
    add_argument(parser)
    parser.add_argument("flags", nargs="*", help="more flags for `prony run`")


def run(place: Place, arguments: argparse.Namespace) -> int:
    if not place.prepared.is_file():
        sys.exit("nothing is prepared: run `verdicts.py prepare` first")
    has_other = arguments.other_program is not None
    runs = place.runs(has_other)
    runs.mkdir(parents=True, exist_ok=True)
    numbers = range(1, arguments.runs + 1)
    missing = [n for n in numbers if not (runs / f"{n:03}" / "run.json").is_file()]
    print(f"{len(numbers) - len(missing)} runs exist, {len(missing)} to do")
    begin = time.monotonic()
    for done, number in enumerate(missing):
        other = place_of(number, arguments.other_program)
        one(place, arguments, runs / f"{number:03}", number, other)
        took = time.monotonic() - begin
        left = took / (done + 1) * (len(missing) - done - 1)
        beside = f", other program on: {other}" if other else ""
        print(f"run {number}{beside}; about {left / 60:.0f} min left", flush=True)
    return 0


def one(
    place: Place,
    arguments: argparse.Namespace,
    folder: Path,
    number: int,
    other: str | None,
) -> None:
    # Remains of an interrupted run.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store = folder / "prony.sqlite"
    command = [place.prony, "--project", place.folder, "run", "verdicts"]
    command += ["--rounds", str(arguments.rounds), "--seed", str(number)]
    command += ["--server-cpus", str(place.server_cpu)]
    command += ["--load-cpus", str(place.load_cpu), "--store", store]
    with OtherProgram(place, folder, number, other):
        status = into_files(folder, [*command, *arguments.flags])
    if status == 130:
        raise KeyboardInterrupt
    # A run that was refused exits with 1 too, but leaves no record.
    if status not in SOMETHING_MEASURED or not store.is_file():
        said = (folder / "log.txt").read_text()
        sys.exit(f"prony run exited with {status}:\n{said}")
    # Written last and renamed when complete: this file marks the run as done.
    part = folder / "run.json.part"
    export = [place.prony, "export", "--store", store, "--format", "json", "-o", part]
    subprocess.run(export, check=True)
    run_id = json.loads(part.read_text())["run"]["id"]
    shutil.move(place.folder / ".prony/runs" / run_id, folder / "report")
    part.rename(folder / "run.json")


def into_files(folder: Path, command: list[object]) -> int:
    with (
        open(folder / "report.txt", "w") as shown,
        open(folder / "log.txt", "w") as log,
    ):
        process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=shown,
            stderr=log,
        )
        try:
            return process.wait()
        except KeyboardInterrupt:
            # It got the signal too, and stops its servers.
            process.wait()
            raise
