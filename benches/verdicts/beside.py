"""Run another program beside a measurement."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from place import PLACES, Place

HERE = Path(__file__).resolve().parent


def add_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--other-program",
        nargs="?",
        const="in-turn",
        choices=("in-turn", *PLACES),
        help="run beside another program that uses a CPU in bursts: the server's, the generator's, "
        "any, or each in turn [in turn]",
    )


def place_of(number: int, wanted: str | None) -> str | None:
    return PLACES[number % len(PLACES)] if wanted == "in-turn" else wanted


class OtherProgram:
    """The other program beside a run, if any. It ends with the run, however that ends."""

    def __init__(
        self, place: Place, folder: Path, seed: int, other: str | None
    ) -> None:
        self.file = folder / "other_program.json"
        self.which = other
        self.process = None
        if other is None:
            return
        cpu = place.cpu_of(other)
        pinned = [] if cpu is None else ["--cpu", str(cpu)]
        self.process = subprocess.Popen(
            [sys.executable, HERE / "other_program.py", "--seed", str(seed), *pinned],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self.process is None:
            return
        try:
            # Closes its input, which ends it.
            said, _ = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            said, _ = self.process.communicate()
        found = json.loads(said) if said.strip() else {}
        text = json.dumps({"on": self.which, **found})
        self.file.write_text(text + "\n")
